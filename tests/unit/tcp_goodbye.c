/* The end of a link over tcp: the goodbye, and what was sent before it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tcp_rig.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

static const weft_ops *ops;

static struct rig_side all[RIG_SIDES];

static int open_sides(void **state)
{
    ops = weft_plugin_2_tcp.ops;
    rig_open_sides(all, 2, "key");
    return 0;
}

static int close_sides(void **state)
{
    rig_close_sides(all);
    return 0;
}

static void goodbye_makes_the_end_silent(void **state)
{
    rig_send(all, 2, 0, 1, 100000);
    rig_send(all, 2, 1, 0, 100000);
    RIG_UNTIL(all, 2, ops->drain(all[0].ep) == WEFT_OK);
    assert_int_equal(ops->peer_del(all[0].peer[1].peer, 0), WEFT_OK);
    ops->close(all[0].ep);
    all[0].ep = NULL;
    for (int i = 0; i < 100; i++)
        rig_progress(&all[1]);
    assert_int_equal(all[1].peer[0].got, 1);
    assert_int_equal(all[1].peer[0].downs, 0);
}

static bool is_goodbye_acknowledged_soon(void)
{
    enum { SOON_NS = 20000000 }; /* half of what the kernel may wait */
    struct rig_peer *p = &all[0].peer[1];
    uint64_t end;
    int unacked = 1;

    for (int i = 0; i < 30; i++) { /* so the kernel expects answers */
        rig_send(all, 2, 0, 1, 1);
        RIG_UNTIL(all, 2, all[1].peer[0].got == p->sent);
        rig_send(all, 2, 1, 0, 1);
        RIG_UNTIL(all, 2, p->got == all[1].peer[0].sent);
    }
    ops->drain(all[0].ep);
    end = rig_now((weft_core *)&all[0]) + SOON_NS;
    while (rig_now((weft_core *)&all[0]) < end && unacked > 0) {
        rig_progress(&all[1]);
        if (all[1].peer[0].peer->ip.leaving)
            assert_int_equal(ioctl(p->peer->conn->fd, SIOCOUTQ, &unacked), 0);
    }
    return unacked == 0;
}

/* Else the kernel would wait for data that goes back with it. One quick answer
 * is enough: the machine may be busy. */
static void a_goodbye_is_acknowledged_at_once(void **state)
{
    int tries = 20;

    while (!is_goodbye_acknowledged_soon()) {
        assert_true(--tries > 0);
        close_sides(NULL);
        open_sides(NULL);
    }
}

/* Everything given to a process that drains and leaves still arrives. */
static void data_before_goodbye_arrives_when_the_sender_is_gone(void **state)
{
    enum { N = 12 }; /* fits the receive window of a reader that sleeps */
    rig_send(all, 2, 0, 1, 1);
    for (int i = 0; i < N; i++)
        rig_send(all, 2, 0, 1, 3000);
    RIG_UNTIL(all, 1, ops->drain(all[0].ep) == WEFT_OK);
    ops->close(all[0].ep);
    all[0].ep = NULL;
    RIG_UNTIL(all, 2, all[1].peer[0].got == N + 1);
    for (int i = 0; i < 100; i++)
        rig_progress(&all[1]);
    assert_int_equal(all[1].peer[0].downs, 0);
}

/* Closing with unread data resets the connection; what was sent before, and
 * the goodbye, must still be read by the other side. */
static void a_reset_after_goodbye_takes_nothing_away(void **state)
{
    weft_hdr hdr = {.w = {1, 0}};
    rig_send(all, 2, 0, 1, 1);
    rig_send(all, 2, 0, 1, 3000);
    for (int i = 0; i < 3; i++) /* these nobody will read */
        assert_int_equal(ops->send_short(all[1].peer[0].peer, &hdr, NULL, 0, 0),
                         WEFT_DONE);
    for (uint64_t end = rig_seconds() + 30; ops->drain(all[0].ep) != WEFT_OK;)
        assert_true(rig_seconds() < end);
    ops->close(all[0].ep);
    all[0].ep = NULL;
    assert_int_equal(ops->send_short(all[1].peer[0].peer, &hdr, NULL, 0, 0),
                     WEFT_DONE);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 2);
    for (int i = 0; i < 100; i++)
        rig_progress(&all[1]);
    assert_int_equal(all[1].peer[0].downs, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_sides, close_sides)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(goodbye_makes_the_end_silent),
        T(a_goodbye_is_acknowledged_at_once),
        T(data_before_goodbye_arrives_when_the_sender_is_gone),
        T(a_reset_after_goodbye_takes_nothing_away)};

    return cmocka_run_group_tests_name("tcp goodbye", tests, NULL, NULL);
}
