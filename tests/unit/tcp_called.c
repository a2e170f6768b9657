/* The silence of a peer that tcp calls for the first time.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tcp_rig.h"

static const weft_ops *ops;
static struct rig_side all[RIG_SIDES];

static int open_two(void **state)
{
    ops = weft_plugin_2_tcp.ops;
    memset(all, 0, sizeof all);
    rig_open(all, 0, "key");
    rig_open(all, 1, "key");
    return 0;
}

static int close_two(void **state)
{
    for (int i = 0; i < RIG_SIDES; i++)
        rig_close(&all[i]);
    return 0;
}

/* Its kernel has taken the call, and the process computes: that is a sign, once
 * the call has stood for a while. */
static void a_call_that_is_taken_is_a_sign(void **state)
{
    const uint64_t s = 1000000000u, within = 8 * s;
    struct rig_tx *t = rig_make(0, 10, false);
    struct rig_peer *p;

    rig_know(&all[0], 1);
    p = &all[0].peer[1];
    assert_true(ops->silent(p->peer, within) == UINT64_MAX);
    assert_int_equal(ops->send(p->peer, &t->tx), WEFT_EAGAIN);
    for (int i = 0; i < 100; i++)
        rig_progress(&all[0]); /* the other side does not */
    assert_true(ops->silent(p->peer, within) == UINT64_MAX);
    all[0].skew += 2 * s;
    assert_in_range(ops->silent(p->peer, within), 0, within / 2);
    all[0].skew += 100 * s;
    assert_in_range(ops->silent(p->peer, within), 0, within / 2);
    RIG_UNTIL(all, 2, p->readies == 1);
    rig_free(t);
}

static void a_call_that_nobody_takes_is_none(void **state)
{
    const uint64_t s = 1000000000u;
    struct rig_tx *t = rig_make(0, 10, false);
    struct rig_peer *p;

    rig_know(&all[0], 1);
    p = &all[0].peer[1];
    rig_close(&all[1]);
    assert_int_equal(ops->send(p->peer, &t->tx), WEFT_EAGAIN);
    all[0].skew += 2 * s;
    assert_true(ops->silent(p->peer, 8 * s) == UINT64_MAX);
    RIG_UNTIL(all, 1, p->downs == 1);
    rig_free(t);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, open_two, close_two)
    static const struct CMUnitTest tests[] = {
        T(a_call_that_is_taken_is_a_sign),
        T(a_call_that_nobody_takes_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
