/* The matching queues against the plainest model: two lists walked from the
 * oldest end. Whatever the wildcards and the depth, both must agree.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "os/tuning.h"
#include "protocol/match.h"

enum { ENTRIES = 3000, SEEDS = 30 };

struct receive {
    struct wf_posted posted;
    int order;
    bool live;
    uint64_t env0, env1, mask;
};

struct message {
    struct wf_arrived arrived;
    int order;
    bool live;
};

static struct receive receives[ENTRIES];
static struct message messages[ENTRIES];
static int receive_count, message_count;

static bool does_match(const struct receive *r, uint64_t env0, uint64_t env1)
{
    return r->env0 == env0 && ((r->env1 ^ env1) & r->mask) == 0;
}

static struct receive *model_take(uint64_t env0, uint64_t env1)
{
    for (int i = 0; i < receive_count; i++)
        if (receives[i].live && does_match(&receives[i], env0, env1)) {
            receives[i].live = false;
            return &receives[i];
        }
    return NULL;
}

static struct message *model_find(const struct receive *r)
{
    for (int i = 0; i < message_count; i++)
        if (messages[i].live &&
            does_match(r, messages[i].arrived.env0, messages[i].arrived.env1))
            return &messages[i];
    return NULL;
}

static void post_receive(struct wf_match *m, unsigned *seed, int tags)
{
    struct receive *r = &receives[receive_count];
    int source = rand_r(seed) % 4 ? rand_r(seed) % 3 : MPI_ANY_SOURCE;
    int tag = rand_r(seed) % 4 ? rand_r(seed) % tags : MPI_ANY_TAG;
    struct wf_arrived *a;

    r->order = receive_count++;
    r->env0 = wf_env0(0, (uint32_t)rand_r(seed) % 2, 0);
    r->mask = wf_match_mask(source, tag);
    r->env1 = wf_env1((uint32_t)source, (uint32_t)tag) & r->mask;
    a = wf_match_find_arrived(m, r->env0, r->env1, r->mask);
    assert_ptr_equal(a ? wf_container(a, struct message, arrived) : NULL,
                     model_find(r));
    r->live = a == NULL;
    if (a) {
        wf_container(a, struct message, arrived)->live = false;
        wf_match_unstore(m, a);
        return;
    }
    r->posted.env0 = r->env0;
    r->posted.env1 = r->env1;
    r->posted.class = wf_match_class(source, tag);
    wf_match_post(m, &r->posted);
}

static void let_arrive(struct wf_match *m, unsigned *seed, int tags)
{
    uint64_t env0 = wf_env0(0, (uint32_t)rand_r(seed) % 2, 0);
    uint64_t env1 = wf_env1((uint32_t)rand_r(seed) % 3,
                            (uint32_t)(rand_r(seed) % tags));
    bool may = wf_match_may_take(m, env0, env1, wf_match_mask(0, 0));
    struct wf_posted *p = wf_match_take_posted(m, env0, env1);
    struct message *a = &messages[message_count];

    assert_ptr_equal(p ? wf_container(p, struct receive, posted) : NULL,
                     model_take(env0, env1));
    assert_true(may || !p);
    if (p)
        return;
    a->order = message_count++;
    a->live = true;
    a->arrived.env0 = env0;
    a->arrived.env1 = env1;
    wf_match_store(m, &a->arrived);
}

static void run_case(unsigned seed, int tags, int bias)
{
    struct wf_match m;
    unsigned s = seed;

    wf_match_init(&m);
    print_message("seed %u, %d tags, bias %d\n", seed, tags, bias);
    receive_count = message_count = 0;
    for (int i = 0; i < ENTRIES; i++)
        if (rand_r(&s) % 10 < bias)
            post_receive(&m, &s, tags);
        else
            let_arrive(&m, &s, tags);
    wf_match_fini(&m);
}

/* MPI-5.0 s3.5, "non-overtaking"; type=test */
static void any_mix_of_wildcards_matches_in_order(void **state)
{
    for (unsigned seed = 1; seed <= SEEDS; seed++)
        run_case(seed, 5, 5);
}

static void deep_posted_queues_keep_order_while_they_grow(void **state)
{
    for (unsigned seed = 1; seed <= 5; seed++)
        run_case(100 + seed, 400, 8);
}

static void deep_unexpected_queues_keep_order_while_they_grow(void **state)
{
    for (unsigned seed = 1; seed <= 5; seed++)
        run_case(200 + seed, 400, 2);
}

/* ---- depth --------------------------------------------------------------- */

enum { DEEP = 65536, CONTEXT = 7 };

static struct wf_posted deep_posted[DEEP];
static struct wf_arrived deep_arrived[DEEP];

static int in_order(int i)
{
    return i;
}

static int reverse_order(int i)
{
    return DEEP - 1 - i;
}

/* Every tag once, in an order without pattern. */
static int check_scattered(int i)
{
    return (int)((uint32_t)i * 40503u % DEEP);
}

static uint64_t tag_of(int i)
{
    return wf_env1((uint32_t)(i & 3), (uint32_t)i);
}

static void post_all(struct wf_match *m)
{
    for (int i = 0; i < DEEP; i++) {
        deep_posted[i].env0 = wf_env0(0, CONTEXT, 0);
        deep_posted[i].env1 = tag_of(i);
        wf_match_post(m, &deep_posted[i]);
    }
    assert_int_equal(wf_match_posted_count(m), DEEP);
}

static void store_all(struct wf_match *m)
{
    for (int i = 0; i < DEEP; i++) {
        deep_arrived[i].env0 = wf_env0(0, CONTEXT, 0);
        deep_arrived[i].env1 = tag_of(i);
        wf_match_store(m, &deep_arrived[i]);
    }
    assert_int_equal(wf_match_arrived_count(m), DEEP);
}

static void each_posted_one_is_found(int (*order)(int))
{
    struct wf_match m;

    wf_match_init(&m);
    post_all(&m);
    for (int i = 0; i < DEEP; i++)
        assert_ptr_equal(
            wf_match_take_posted(&m, wf_env0(0, CONTEXT, 0), tag_of(order(i))),
            &deep_posted[order(i)]);
    assert_int_equal(wf_match_posted_count(&m), 0);
    wf_match_fini(&m);
}

static void each_stored_one_is_found(int (*order)(int))
{
    struct wf_match m;

    wf_match_init(&m);
    store_all(&m);
    for (int i = 0; i < DEEP; i++) {
        struct wf_arrived *a = wf_match_find_arrived(
            &m, wf_env0(0, CONTEXT, 0), tag_of(order(i)), UINT64_MAX);
        assert_ptr_equal(a, &deep_arrived[order(i)]);
        wf_match_unstore(&m, a);
    }
    assert_int_equal(wf_match_arrived_count(&m), 0);
    wf_match_fini(&m);
}

static void receives_of_65536_tags_match_in_any_order(void **state)
{
    each_posted_one_is_found(in_order);
    each_posted_one_is_found(reverse_order);
    each_posted_one_is_found(check_scattered);
}

static void messages_of_65536_tags_match_in_any_order(void **state)
{
    each_stored_one_is_found(in_order);
    each_stored_one_is_found(reverse_order);
    each_stored_one_is_found(check_scattered);
}

/* Each class of receive in turn takes the oldest message that fits: of all, of
 * the source, with the tag. Every tag is there four times, once per source. */
static void a_storm_of_wildcards_takes_the_oldest_first(void **state)
{
    struct wf_match m;
    int next_of[4] = {0, 1, 2, 3};

    wf_match_init(&m);
    for (int i = 0; i < DEEP; i++) {
        deep_arrived[i].env0 = wf_env0(0, CONTEXT, 0);
        deep_arrived[i].env1 = wf_env1((uint32_t)(i & 3), (uint32_t)(i >> 2));
        wf_match_store(&m, &deep_arrived[i]);
    }
    for (int i = 0; i < DEEP; i++) {
        int source = i & 1 ? MPI_ANY_SOURCE : 3 - (i >> 1 & 1);
        struct wf_arrived *a = wf_match_find_arrived(
            &m, wf_env0(0, CONTEXT, 0), wf_env1((uint32_t)source, 0),
            wf_match_mask(source, MPI_ANY_TAG));
        int from, expected = DEEP;
        for (int s = 0; s < 4; s++)
            if ((source == MPI_ANY_SOURCE || source == s) &&
                next_of[s] < expected)
                expected = next_of[s];
        if (expected >= DEEP) {
            assert_null(a);
            continue;
        }
        assert_ptr_equal(a, &deep_arrived[expected]);
        from = wf_env_source(a->env1);
        next_of[from] += 4;
        wf_match_unstore(&m, a);
    }
    wf_match_fini(&m);
}

/* ---- few ----------------------------------------------------------------- */

static struct wf_posted receive_for(uint32_t tag)
{
    return (struct wf_posted){
        .env0 = 1, .env1 = wf_env1(2, tag)};
}

/* The place of one that was taken back is used again, and the others stay in
 * order: hundreds of times more posts than there are places. */
static void receives_that_stay_do_not_lose_their_order(void **state)
{
    struct wf_posted stays[5], goes;
    struct wf_match m;

    wf_match_init(&m);
    for (int i = 0; i < 5; i++) {
        stays[i] = receive_for(1);
        wf_match_post(&m, &stays[i]);
        for (int k = 0; k < 1000; k++) {
            goes = receive_for(2);
            wf_match_post(&m, &goes);
            if (k % 3)
                assert_ptr_equal(wf_match_take_posted(&m, 1, wf_env1(2, 2)),
                                 &goes);
            else
                wf_match_unpost(&m, &goes);
        }
    }
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(wf_match_take_posted(&m, 1, wf_env1(2, 1)), &stays[i]);
    wf_match_fini(&m);
}

static bool may_take(const struct wf_match *m, int source, int tag)
{
    return wf_match_may_take(m, 1, wf_env1((uint32_t)source, (uint32_t)tag),
                             wf_match_mask(source, tag));
}

/* So many receives of tag 1 are posted, and one that takes a message with tag 3
 * from anybody; messages have come for others, behind them. */
static void another_receive_is_told(int posted)
{
    struct wf_posted *p = calloc((size_t)posted, sizeof *p), any, own;
    struct wf_match m;

    wf_match_init(&m);
    for (int i = 0; i < posted; i++) {
        p[i] = receive_for(1);
        wf_match_post(&m, &p[i]);
    }
    any = (struct wf_posted){.env0 = 1, .env1 = wf_env1(0, 3),
                             .class = wf_match_class(MPI_ANY_SOURCE, 3)};
    wf_match_post(&m, &any);
    own = receive_for(2);
    wf_match_post(&m, &own);
    assert_ptr_equal(wf_match_take_posted(&m, 1, wf_env1(2, 2)), &own);
    assert_false(may_take(&m, 2, 2));
    assert_true(may_take(&m, 2, 1));
    assert_true(may_take(&m, 2, 3));
    assert_true(may_take(&m, 7, 3));
    assert_true(may_take(&m, MPI_ANY_SOURCE, 2)); /* perhaps */
    wf_match_unpost(&m, &any);
    assert_false(may_take(&m, 7, 3));
    wf_match_fini(&m);
    free(p);
}

static void a_receive_without_older_ones_is_told_so(void **state)
{
    another_receive_is_told(1);
    another_receive_is_told(WF_SCANNED - 2);
    another_receive_is_told(WF_RECENT);
    another_receive_is_told(8192);
}

static void unpost_visited(struct wf_posted *p, void *arg)
{
    if (wf_env_tag(p->env1) % 2)
        wf_match_unpost(arg, p);
}

static void count_visited(struct wf_posted *p, void *arg)
{
    ++*(int *)arg;
}

static void a_visit_may_take_the_receive_away(void **state)
{
    struct wf_match m;
    int left = 0;

    wf_match_init(&m);
    post_all(&m);
    wf_match_each_posted(&m, unpost_visited, &m);
    assert_int_equal(wf_match_posted_count(&m), DEEP / 2);
    wf_match_each_posted(&m, count_visited, &left);
    assert_int_equal(left, DEEP / 2);
    wf_match_fini(&m);
}

static void an_unposted_receive_matches_no_more(void **state)
{
    struct wf_match m;
    struct wf_posted p = {.env0 = 1, .env1 = 2};

    wf_match_init(&m);
    wf_match_post(&m, &p);
    wf_match_unpost(&m, &p);
    assert_null(wf_match_take_posted(&m, 1, 2));
    assert_int_equal(wf_match_posted_count(&m), 0);
    wf_match_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_mix_of_wildcards_matches_in_order),
        cmocka_unit_test(deep_posted_queues_keep_order_while_they_grow),
        cmocka_unit_test(deep_unexpected_queues_keep_order_while_they_grow),
        cmocka_unit_test(
            receives_of_65536_tags_match_in_any_order),
        cmocka_unit_test(
            messages_of_65536_tags_match_in_any_order),
        cmocka_unit_test(a_storm_of_wildcards_takes_the_oldest_first),
        cmocka_unit_test(receives_that_stay_do_not_lose_their_order),
        cmocka_unit_test(a_receive_without_older_ones_is_told_so),
        cmocka_unit_test(a_visit_may_take_the_receive_away),
        cmocka_unit_test(an_unposted_receive_matches_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
