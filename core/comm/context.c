/* Agreement on context ids: see context.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/context.h"

#include <stdlib.h>

#include "engines.h"
#include "env/env.h"

enum {
    WORDS_MAX = (1 << 24) / 64,
    WINDOWS_MAX = WORDS_MAX / WF_CONTEXT_WORDS
};

/* value[0]: every bit must survive the AND of all members. */
enum {
    FLAG_ABLE = 1u << 0,  /* no member failed */
    FLAG_OWNER = 1u << 1, /* all members offered what they have */
    FIRST_SHIFT = 8,      /* the word tried in round 0 … */
    NOT_FIRST_SHIFT = 32, /* … and its complement: equal in all members? */
    ENGINES_SHIFT = 56    /* wf_engines_word of the member */
};

struct wf_contexts {
    uint64_t *free;  /* bit set: id not used here; beyond the array: free */
    uint32_t words;
    struct wf_list offering; /* allocations whose words are on offer */
    struct wf_list waiting;  /* allocations past round 0, by key */
    struct wf_context_alloc *owner; /* of waiting: offers a window */
};

#define FROM_OFFERING(l) wf_container(l, struct wf_context_alloc, offering)
#define FROM_WAITING(l) wf_container(l, struct wf_context_alloc, waiting)

static void go_on(struct wf_context_alloc *c);

/* ---- the bitmap ---------------------------------------------------------- */

static bool reserve(struct wf_contexts *all, uint32_t words)
{
    if (words <= all->words)
        return true;
    words = (words + WF_CONTEXT_WORDS - 1) / WF_CONTEXT_WORDS *
            WF_CONTEXT_WORDS;
    uint64_t *bits = realloc(all->free, words * sizeof *bits);
    if (!bits)
        return false;
    memset(bits + all->words, 0xff, (words - all->words) * sizeof *bits);
    all->free = bits;
    all->words = words;
    return true;
}

static void take(struct wf_contexts *all, uint32_t id)
{
    all->free[id / 64] &= ~(UINT64_C(1) << id % 64);
}

/* Ids of a word that are neither used nor on offer. */
static uint64_t available(const struct wf_contexts *all, uint32_t word)
{
    for (struct wf_list *l = all->offering.next; l != &all->offering;
         l = l->next) {
        struct wf_context_alloc *c = FROM_OFFERING(l);
        if (word - c->first < c->words)
            return 0;
    }
    return word < all->words ? all->free[word] : ~UINT64_C(0);
}

struct wf_contexts *wf_contexts_create(void)
{
    struct wf_contexts *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    wf_list_init(&all->offering);
    wf_list_init(&all->waiting);
    if (!reserve(all, 1)) {
        free(all);
        return NULL;
    }
    take(all, WF_CONTEXT_WORLD);
    take(all, WF_CONTEXT_SELF);
    return all;
}

void wf_contexts_destroy(struct wf_contexts *all)
{
    if (all)
        free(all->free);
    free(all);
}

void wf_context_release(struct wf_instance *wf, uint32_t id)
{
    WF_SECTION(objects, wf->env)
        wf->env->contexts->free[id / 64] |= UINT64_C(1) << id % 64;
}

/* Spread, so that allocations of different parents seldom meet in a word. */
uint32_t wf_context_hint(uint32_t context)
{
    return context * 37 % WF_CONTEXT_WORDS;
}

/* ---- one allocation ------------------------------------------------------ */

static struct wf_env *env_of(const struct wf_context_alloc *c)
{
    return c->scope.comm->wf->env;
}

static struct wf_contexts *contexts_of(const struct wf_context_alloc *c)
{
    return env_of(c)->contexts;
}

/* Take the lowest ids that all members offered; false: too few. */
static bool take_common(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);
    unsigned n = 0;
    for (uint32_t i = 0; i < c->words && n < c->count; i++)
        for (uint64_t bits = c->value[1 + i]; bits && n < c->count;
             bits &= bits - 1)
            c->id[n++] = (c->first + i) * 64 + (uint32_t)__builtin_ctzll(bits);
    if (n < c->count)
        return false;
    for (unsigned i = 0; i < n; i++)
        take(all, c->id[i]);
    return true;
}

static void withdraw(struct wf_context_alloc *c)
{
    wf_list_remove(&c->offering);
    if (contexts_of(c)->owner == c)
        contexts_of(c)->owner = NULL;
}

/* Fill value with what this member offers of the words first, first + 1, … */
static void offer(struct wf_context_alloc *c, uint32_t first, uint32_t words,
                  uint64_t flags)
{
    struct wf_contexts *all = contexts_of(c);
    c->first = first;
    c->words = words;
    c->value[0] = reserve(all, first + words) ? flags : 0;
    c->value[0] |= wf_engines_word(c->engines) << ENGINES_SHIFT;
    for (uint32_t i = 0; i < words; i++)
        c->value[1 + i] = c->value[0] & FLAG_ABLE ? available(all, first + i)
                                                  : 0;
    c->agree.n = 1 + (int)words;
}

static void offer_word(struct wf_context_alloc *c)
{
    uint32_t word = *c->hint % WORDS_MAX;
    uint64_t flags = (c->failed ? 0 : FLAG_ABLE) |
                     (uint64_t)word << FIRST_SHIFT |
                     (uint64_t)(~word & (WORDS_MAX - 1)) << NOT_FIRST_SHIFT;
    WF_SECTION(objects, env_of(c)) {
        offer(c, word, 1, flags);
        wf_list_append(&contexts_of(c)->offering, &c->offering);
    }
}

/* Only the first in line offers ids, and only one allocation at a time. */
static void offer_window(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);
    uint32_t window = (c->window + c->tried) % WINDOWS_MAX;
    bool own = !all->owner && all->waiting.next == &c->waiting;
    offer(c, window * WF_CONTEXT_WORDS, WF_CONTEXT_WORDS,
          own ? FLAG_ABLE | FLAG_OWNER : FLAG_ABLE);
    if (!own) {
        memset(c->value + 1, 0, sizeof c->value - sizeof c->value[0]);
        return;
    }
    all->owner = c;
    wf_list_append(&all->offering, &c->offering);
}

static void stand_in_line(struct wf_context_alloc *c)
{
    struct wf_list *l = contexts_of(c)->waiting.next;
    while (l != &contexts_of(c)->waiting && FROM_WAITING(l)->key <= c->key)
        l = l->next;
    wf_list_append(l, &c->waiting); /* before l */
}

/* All members named the same word in round 0. */
static bool same_word(uint64_t flags)
{
    uint32_t first = (uint32_t)(flags >> FIRST_SHIFT) & (WORDS_MAX - 1);
    uint32_t other = (uint32_t)(flags >> NOT_FIRST_SHIFT) & (WORDS_MAX - 1);
    return first == (~other & (WORDS_MAX - 1));
}

/* Of those that all members have. */
static void choose_engine(struct wf_context_alloc *c)
{
    unsigned common = wf_engines_common(c->value[0] >> ENGINES_SHIFT);
    c->engine = wf_engine_for(c->id[0], common);
}

/* Another member may have ended with one of these ids, and use it: they are not
 * offered again. */
static void give_up_offered(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);

    for (uint32_t i = 0; i < c->words; i++)
        if (c->first + i < all->words)
            all->free[c->first + i] = 0;
}

/* Look at the result of a round. True: the allocation is over. */
static bool settle(struct wf_context_alloc *c, int *error)
{
    uint64_t flags = c->value[0];
    bool usable = c->round > 0 || same_word(flags);
    *error = c->agree.error;
    if (*error == MPI_ERR_PROC_ABORTED && !wf_list_empty(&c->offering))
        give_up_offered(c);
    withdraw(c);
    if (!*error && !(flags & FLAG_ABLE))
        *error = MPI_ERR_NOT_SAME;
    if (*error || (usable && take_common(c)))
        return true;
    if (c->round++ == 0) {
        /* what is left of the word's number is the same in all members */
        c->window = ((uint32_t)(flags >> FIRST_SHIFT) & (WORDS_MAX - 1)) /
                    WF_CONTEXT_WORDS;
        stand_in_line(c);
    } else if ((flags & FLAG_OWNER) && ++c->tried == WINDOWS_MAX) {
        c->exhausted = true;
        *error = MPI_ERR_NO_MEM;
        return true;
    }
    return false;
}

/* The same; when it is not over, the next round is on offer. */
static bool conclude(struct wf_context_alloc *c, int *error)
{
    bool over = false;
    WF_SECTION(objects, env_of(c)) {
        over = settle(c, error);
        if (over)
            wf_list_remove(&c->waiting);
        else
            offer_window(c);
    }
    return over;
}

static void finish(struct wf_context_alloc *c, int error)
{
    if (!error) {
        *c->hint = c->id[0] / 64;
        choose_engine(c);
    }
    c->done(c, error);
}

/* A round is over. */
static void go_on(struct wf_context_alloc *c)
{
    int error;
    do {
        if (conclude(c, &error)) {
            finish(c, error);
            return;
        }
    } while (wf_agree_start(&c->agree));
}

static void resume(struct wf_agree *a)
{
    go_on(a->arg);
}

/* A process alone needs nobody's consent. */
static int take_first(struct wf_context_alloc *c)
{
    struct wf_contexts *all = contexts_of(c);
    uint32_t word = 0;
    for (unsigned i = 0; i < c->count; i++) {
        while (word < WORDS_MAX && !available(all, word))
            word++;
        c->exhausted = word == WORDS_MAX;
        if (c->exhausted || !reserve(all, word + 1))
            return MPI_ERR_NO_MEM;
        c->id[i] = word * 64 +
                   (uint32_t)__builtin_ctzll(available(all, word));
        take(all, c->id[i]);
    }
    return MPI_SUCCESS;
}

static void take_alone(struct wf_context_alloc *c)
{
    int error = MPI_ERR_NOT_SAME;
    c->value[0] = wf_engines_word(c->engines) << ENGINES_SHIFT;
    if (!c->failed)
        WF_SECTION(objects, env_of(c))
            error = take_first(c);
    finish(c, error);
}

void wf_context_start(struct wf_context_alloc *c)
{
    wf_list_init(&c->waiting);
    wf_list_init(&c->offering);
    c->round = c->tried = c->window = 0;
    if (c->scope.size == 1 && !c->scope.bridged) {
        take_alone(c);
        return;
    }
    if (wf_agree_dead(&c->scope)) {
        finish(c, MPI_ERR_PROC_ABORTED);
        return;
    }
    c->began = true;
    c->agree = (struct wf_agree){.scope = &c->scope, .value = c->value,
                                 .input = c->input, .resume = resume,
                                 .arg = c};
    offer_word(c);
    if (wf_agree_start(&c->agree))
        go_on(c);
}
