/* This program measures the matching queues by themselves, without a message
 * moving: nanoseconds of each operation over the depth of the queue, and the
 * four forms of the match function that D. Holmes compares (McMPI, 3.2.8).
 *
 *   core_match [MOST]     depths 0, 16, ... up to MOST (65536)
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "bench.h"

#include "protocol/match.h"

enum { ROUNDS = 9, HOT = 5000, OURS = 1 << 20 };

static struct wf_posted *receives;
static struct wf_arrived *messages;

static uint64_t env0(void)
{
    return wf_env0(0, 7, 0);
}

/* ---- one message among many that do not match ---------------------------- */

/* Post receives for tags that are never sent; every wildcard class in turn if
 * mixed. The wildcards are on another communicator, or they would match. */
static void fill_posted(struct wf_match *m, int depth, int mixed)
{
    for (int i = 0; i < depth; i++) {
        int class = mixed ? i % 4 : 0;
        receives[i].env0 = class ? wf_env0(0, 8, 0) : env0();
        receives[i].env1 = wf_env1(1, (uint32_t)(OURS + 1 + i));
        receives[i].class = (uint8_t)class;
        wf_match_post(m, &receives[i]);
    }
}

static void fill_arrived(struct wf_match *m, int depth)
{
    for (int i = 0; i < depth; i++) {
        messages[i].env0 = env0();
        messages[i].env1 = wf_env1(1, (uint32_t)(OURS + 1 + i));
        wf_match_store(m, &messages[i]);
    }
}

static double hot_posted(struct wf_match *m)
{
    struct wf_posted r;
    double t = now_us();

    for (int i = 0; i < HOT; i++) {
        if (wf_match_find_arrived(m, env0(), wf_env1(1, OURS), UINT64_MAX))
            abort();
        r.env0 = env0();
        r.env1 = wf_env1(1, OURS);
        r.class = 0;
        wf_match_post(m, &r);
        if (wf_match_take_posted(m, env0(), wf_env1(1, OURS)) != &r)
            abort();
    }
    return (now_us() - t) * 1e3 / HOT;
}

static double hot_arrived(struct wf_match *m, uint64_t mask)
{
    struct wf_arrived a;
    double t = now_us();

    for (int i = 0; i < HOT; i++) {
        a.env0 = wf_env0(0, 9, 0);
        a.env1 = wf_env1(1, OURS);
        if (wf_match_take_posted(m, a.env0, a.env1))
            abort();
        wf_match_store(m, &a);
        if (wf_match_find_arrived(m, a.env0, a.env1, mask) != &a)
            abort();
        wf_match_unstore(m, &a);
    }
    return (now_us() - t) * 1e3 / HOT;
}

static void depth_line(const char *name, int depth, int queue)
{
    double v[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        struct wf_match m;
        wf_match_init(&m);
        if (queue < 2)
            fill_posted(&m, depth, queue);
        else
            fill_arrived(&m, depth);
        if (queue >= 2) /* the index of a class is made when first used */
            hot_arrived(&m, queue == 2 ? UINT64_MAX : 0);
        v[i] = queue < 2 ? hot_posted(&m)
                         : hot_arrived(&m, queue == 2 ? UINT64_MAX : 0);
        wf_match_fini(&m);
    }
    print_times(name, depth, v, ROUNDS);
}

/* ---- all of them, in order or the other way round ------------------------ */

static double all_posted(struct wf_match *m, int n, int reverse)
{
    double t = now_us();

    fill_posted(m, n, 0);
    for (int i = 0; i < n; i++) {
        int k = reverse ? n - 1 - i : i;
        if (wf_match_take_posted(m, env0(),
                                 wf_env1(1, (uint32_t)(OURS + 1 + k))) !=
            &receives[k])
            abort();
    }
    return (now_us() - t) * 1e3 / n;
}

/* Measure the window of a message rate test: one tag. */
static double measure_window(struct wf_match *m, int n)
{
    double t = now_us();

    for (int k = 0; k < 100; k++) {
        for (int i = 0; i < n; i++) {
            receives[i].env0 = env0();
            receives[i].env1 = wf_env1(1, OURS);
            receives[i].class = 0;
            wf_match_post(m, &receives[i]);
        }
        for (int i = 0; i < n; i++)
            if (wf_match_take_posted(m, env0(), wf_env1(1, OURS)) !=
                &receives[i])
                abort();
    }
    return (now_us() - t) * 1e3 / n / 100;
}

static double all_arrived(struct wf_match *m, int n, int reverse,
                          uint64_t mask)
{
    double t = now_us();

    fill_arrived(m, n);
    for (int i = 0; i < n; i++) {
        int k = reverse ? n - 1 - i : i;
        if (wf_match_find_arrived(m, env0(),
                                  wf_env1(1, (uint32_t)(OURS + 1 + k)), mask) !=
            &messages[k])
            abort();
        wf_match_unstore(m, &messages[k]);
    }
    return (now_us() - t) * 1e3 / n;
}

static void all_lines(int n)
{
    struct wf_match m;
    double v[6][ROUNDS];
    static const char *const names[] = {"posted_in_order",
                                        "posted_reverse_order",
                                        "unexpected_in_order",
                                        "unexpected_reverse_order",
                                        "unexpected_any_source_any_tag",
                                        "posted_same_tag"};

    wf_match_init(&m);
    for (int i = 0; i < ROUNDS; i++) {
        v[0][i] = all_posted(&m, n, 0);
        v[1][i] = all_posted(&m, n, 1);
        v[2][i] = all_arrived(&m, n, 0, UINT64_MAX);
        v[3][i] = all_arrived(&m, n, 1, UINT64_MAX);
        v[4][i] = all_arrived(&m, n, 0, 0);
        v[5][i] = measure_window(&m, n);
    }
    wf_match_fini(&m);
    for (int k = 0; k < 6; k++)
        print_times(names[k], n, v[k], ROUNDS);
}

/* ---- the four forms ------------------------------------------------------ */

enum { ANY_SOURCE = 1, ANY_TAG = 2 };

struct fields {
    uint32_t target;
    uint16_t context;
    uint8_t kind, wildcard;
    uint32_t source, tag;
};

/* Form 1 tests one condition after the other. */
static int by_statements(const struct fields *m, const struct fields *r)
{
    if (m->target != r->target)
        return 0;
    if (m->context != r->context)
        return 0;
    if (m->kind != r->kind)
        return 0;
    if ((r->wildcard & ANY_SOURCE) != ANY_SOURCE)
        if (m->source != r->source)
            return 0;
    if ((r->wildcard & ANY_TAG) != ANY_TAG)
        if (m->tag != r->tag)
            return 0;
    return 1;
}

/* Form 2 has all conditions in one expression. */
static int by_expression(const struct fields *m, const struct fields *r)
{
    return !(m->target != r->target || m->context != r->context ||
             m->kind != r->kind ||
             ((r->wildcard & ANY_SOURCE) != ANY_SOURCE &&
              m->source != r->source) ||
             ((r->wildcard & ANY_TAG) != ANY_TAG && m->tag != r->tag));
}

/* Form 3 is the same, with wildcards compared with zero. */
static int by_zero(const struct fields *m, const struct fields *r)
{
    return !(m->target != r->target || m->context != r->context ||
             m->kind != r->kind ||
             (!(r->wildcard & ANY_SOURCE) && m->source != r->source) ||
             (!(r->wildcard & ANY_TAG) && m->tag != r->tag));
}

struct words {
    uint64_t env0, env1, mask;
};

/* Form 4 compares two words under a mask. */
static int by_words(const struct words *m, const struct words *r)
{
    if (m->env0 != r->env0 || (m->env1 & r->mask) != r->env1)
        return 0;
    return 1;
}

/* Weft's form is the same without a branch. */
static int branch_free(const struct words *m, const struct words *r)
{
    return (int)wf_match_is_equal(r->env0, r->env1, r->mask, m->env0, m->env1);
}

enum { RECEIVES = 256, CALLS = 4000 };
static struct fields as_fields[RECEIVES], fields_message;
static struct words as_words[RECEIVES], words_message;

/* Make receives of which none matches: they differ in the target, in the
 * source, in the tag, or in turn in each of them, which no branch predictor
 * guesses. */
static void fill_forms(int what)
{
    unsigned seed = 1;

    fields_message = (struct fields){.target = 1, .source = 2, .tag = 3};
    words_message = (struct words){1, wf_env1(2, 3), UINT64_MAX};
    for (int i = 0; i < RECEIVES; i++) {
        int k = what == 3 ? rand_r(&seed) / 64 % 3 : what;
        struct fields f = fields_message;
        f.target += k == 0;
        f.source += k == 1;
        f.tag += k == 2;
        if (what == 3 && k == 1)
            f.wildcard = ANY_TAG;
        as_fields[i] = f;
        as_words[i].mask = f.wildcard ? WF_MASK_SOURCE : UINT64_MAX;
        as_words[i].env0 = f.target;
        as_words[i].env1 = wf_env1(f.source, f.tag) & as_words[i].mask;
    }
}

#define FORM(name, match, list, message)                                       \
    static __attribute__((noinline)) int name(void)                            \
    {                                                                          \
        int n = 0;                                                             \
        for (int i = 0; i < RECEIVES; i++) {                                   \
            __asm__ volatile("" ::: "memory");                                 \
            n += match(&message, &list[i]);                                    \
        }                                                                      \
        return n;                                                              \
    }
FORM(form1, by_statements, as_fields, fields_message)
FORM(form2, by_expression, as_fields, fields_message)
FORM(form3, by_zero, as_fields, fields_message)
FORM(form4, by_words, as_words, words_message)
FORM(form5, branch_free, as_words, words_message)

static void form_line(const char *name, int (*form)(void), int what)
{
    double v[ROUNDS];

    fill_forms(what);
    for (int i = 0; i < ROUNDS; i++) {
        int found = 0;
        double t = now_us();
        for (int k = 0; k < CALLS; k++)
            found += form();
        v[i] = (now_us() - t) * 1e3 / CALLS / RECEIVES;
        if (found)
            abort();
    }
    print_times(name, what, v, ROUNDS);
}

static void form_lines(void)
{
    static const char *const names[] = {"match_statements", "match_expression",
                                        "match_zero", "match_words",
                                        "match_branch_free"};
    static int (*const forms[])(void) = {form1, form2, form3, form4, form5};

    for (int what = 0; what < 4; what++)
        for (int k = 0; k < 5; k++)
            form_line(names[k], forms[k], what);
}

int main(int argc, char **argv)
{
    int most = argc > 1 ? atoi(argv[1]) : 65536;

    receives = calloc((size_t)most, sizeof *receives);
    messages = calloc((size_t)most, sizeof *messages);
    if (!receives || !messages)
        return 1;
    bind_rank(0);
    for (int depth = 0; depth <= most; depth = depth ? 16 * depth : 16) {
        depth_line("posted_depth", depth, 0);
        depth_line("posted_depth_wildcards", depth, 1);
        depth_line("unexpected_depth", depth, 2);
        depth_line("unexpected_depth_wildcard", depth, 3);
    }
    for (int n = 64; n <= most; n *= 32)
        all_lines(n);
    form_lines();
    return 0;
}
