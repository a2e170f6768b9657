/* The matching queues against the plainest model: two lists walked from the
 * oldest end. Whatever the wildcards and the depth, both must agree.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

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

static bool matches(const struct receive *r, uint64_t env0, uint64_t env1)
{
    return r->env0 == env0 && ((r->env1 ^ env1) & r->mask) == 0;
}

static struct receive *model_take(uint64_t env0, uint64_t env1)
{
    for (int i = 0; i < receive_count; i++)
        if (receives[i].live && matches(&receives[i], env0, env1)) {
            receives[i].live = false;
            return &receives[i];
        }
    return NULL;
}

static struct message *model_find(const struct receive *r)
{
    for (int i = 0; i < message_count; i++)
        if (messages[i].live &&
            matches(r, messages[i].arrived.env0, messages[i].arrived.env1))
            return &messages[i];
    return NULL;
}

static void post(struct wf_match *m, unsigned *seed, int tags)
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
    r->posted.mask = r->mask;
    assert_int_equal(wf_match_post(m, &r->posted), 0);
}

static void arrive(struct wf_match *m, unsigned *seed, int tags)
{
    uint64_t env0 = wf_env0(0, (uint32_t)rand_r(seed) % 2, 0);
    uint64_t env1 = wf_env1((uint32_t)rand_r(seed) % 3,
                            (uint32_t)(rand_r(seed) % tags));
    struct wf_posted *p = wf_match_take_posted(m, env0, env1);
    struct message *a = &messages[message_count];

    assert_ptr_equal(p ? wf_container(p, struct receive, posted) : NULL,
                     model_take(env0, env1));
    if (p)
        return;
    a->order = message_count++;
    a->live = true;
    a->arrived.env0 = env0;
    a->arrived.env1 = env1;
    assert_int_equal(wf_match_store(m, &a->arrived), 0);
}

static void run(unsigned seed, int tags, int bias)
{
    struct wf_match m = {0};
    unsigned s = seed;

    print_message("seed %u, %d tags, bias %d\n", seed, tags, bias);
    receive_count = message_count = 0;
    for (int i = 0; i < ENTRIES; i++)
        if (rand_r(&s) % 10 < bias)
            post(&m, &s, tags);
        else
            arrive(&m, &s, tags);
    wf_match_fini(&m);
}

/* MPI-5.0 s3.5, "non-overtaking"; type=test */
static void any_mix_of_wildcards_matches_in_order(void **state)
{
    for (unsigned seed = 1; seed <= SEEDS; seed++)
        run(seed, 5, 5);
}

static void deep_posted_queues_keep_order_while_they_grow(void **state)
{
    for (unsigned seed = 1; seed <= 5; seed++)
        run(100 + seed, 400, 8);
}

static void deep_unexpected_queues_keep_order_while_they_grow(void **state)
{
    for (unsigned seed = 1; seed <= 5; seed++)
        run(200 + seed, 400, 2);
}

static void an_unposted_receive_matches_no_more(void **state)
{
    struct wf_match m = {0};
    struct wf_posted p = {.env0 = 1, .env1 = 2, .mask = UINT64_MAX};

    assert_int_equal(wf_match_post(&m, &p), 0);
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
        cmocka_unit_test(an_unposted_receive_matches_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
