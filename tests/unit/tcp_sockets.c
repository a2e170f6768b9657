/* The descriptors of tcp, and what the kernel is asked to do with them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tcp_rig.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

static struct rig_side all[RIG_SIDES];

static void open_two(uint64_t detect)
{
    struct wf_tcp_cfg cfg = rig_defaults();

    cfg.detect = detect;
    memset(all, 0, sizeof all);
    rig_open_with(all, 0, "key", &cfg);
    rig_open_with(all, 1, "key", &cfg);
    rig_send(all, 2, 0, 1, 100);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
}

static void close_two(void)
{
    rig_close_sides(all);
}

static int read_option(int level, int name)
{
    int value = -1;
    socklen_t n = sizeof value;

    assert_int_equal(getsockopt(all[0].peer[1].peer->conn->fd, level, name,
                                &value, &n), 0);
    return value;
}

/* One question that is lost is no death. */
static void keepalive_asks_more_than_once_within_the_time(void **state)
{
    for (int s = 2; s <= 30; s++) {
        open_two(s * UINT64_C(1000000000));
        int idle = read_option(IPPROTO_TCP, TCP_KEEPIDLE);
        int every = read_option(IPPROTO_TCP, TCP_KEEPINTVL);
        int tries = read_option(IPPROTO_TCP, TCP_KEEPCNT);
        assert_int_equal(read_option(SOL_SOCKET, SO_KEEPALIVE), 1);
        assert_true(tries >= 2);
        assert_true(idle + every * tries <= (s > 2 ? s : 3)); /* 1 + 1 * 2 */
        assert_true(idle + every * (tries + 1) >= s);
        close_two();
    }
}

static void without_a_time_there_is_no_keepalive(void **state)
{
    open_two(0);
    assert_int_equal(read_option(SOL_SOCKET, SO_KEEPALIVE), 0);
    close_two();
}

/* A program may have closed its standard input: 0 is a descriptor as others. */
static void the_first_descriptor_is_as_good_as_others(void **state)
{
    int input = fcntl(0, F_DUPFD_CLOEXEC, 100);

    close(0);
    open_two(10000000000u);
    assert_true(fcntl(0, F_GETFD) >= 0); /* somebody has it */
    rig_send(all, 2, 1, 0, 100);
    RIG_UNTIL(all, 2, all[0].peer[1].got == 1);
    close_two();
    if (input >= 0) {
        dup2(input, 0);
        close(input);
    }
}

/* It makes waiters look again. */
static void the_end_of_a_link_is_an_event(void **state)
{
    weft_peer *p;

    open_two(0);
    p = all[0].peer[1].peer;
    RIG_PLUGIN.ops->peer_del(all[1].peer[0].peer, 1);
    all[1].peer[0].peer = NULL;
    while (wf_tcp_recv(p) == 0)
        assert_int_equal(p->ip.state, PEER_OPEN);
    assert_int_not_equal(p->ip.state, PEER_OPEN);
    RIG_UNTIL(all, 1, all[0].peer[1].downs == 1);
    close_two();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keepalive_asks_more_than_once_within_the_time),
        cmocka_unit_test(without_a_time_there_is_no_keepalive),
        cmocka_unit_test(the_first_descriptor_is_as_good_as_others),
        cmocka_unit_test(the_end_of_a_link_is_an_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
