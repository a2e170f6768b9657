/* Containers over tcp: order, sizes, segments, refusals, backpressure, sleep.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tcp_rig.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>

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

static const uint64_t sizes[] = {
    0,    1,     23,        64,     100,     4096,    8191, 8192,
    8193, 65535, 65536 + 9, 300000, 1 << 20, 4 << 20, 5,    0};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void send_all_sizes(int rounds)
{
    uint64_t n = 0;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < SIZES; i++, n++) {
            rig_send(all, 2, 0, 1, sizes[i]);
            rig_send(all, 2, 1, 0, sizes[SIZES - 1 - i]);
        }
    RIG_UNTIL(all, 2, all[1].peer[0].got == n && all[0].peer[1].got == n);
    RIG_UNTIL(all, 2, !all[0].sinks_open && !all[1].sinks_open);
    assert_int_equal(all[0].peer[1].downs, 0);
    assert_int_equal(all[0].peer[1].ups, 1);
}

static void messages_of_all_sizes_arrive_whole_and_in_order(void **state)
{
    send_all_sizes(3);
}

static void scattered_memory_is_read_and_written_in_place(void **state)
{
    all[0].segments = all[1].segments = true;
    send_all_sizes(2);
}

static void the_rest_of_a_truncated_message_is_discarded(void **state)
{
    all[0].truncate = all[1].truncate = 70;
    send_all_sizes(2);
    all[0].truncate = all[1].truncate = 70000;
    for (int i = 0; i < SIZES; i++)
        rig_send(all, 2, 0, 1, sizes[i]);
    RIG_UNTIL(all, 2, all[1].peer[0].got == all[0].peer[1].sent);
}

static void skipped_messages_leave_the_next_intact(void **state)
{
    all[0].skip_every = 2;
    all[1].skip_every = 3;
    send_all_sizes(3);
}

static void a_refused_message_waits_until_the_core_has_room(void **state)
{
    all[1].refuse = 5;
    for (int i = 0; i < SIZES; i++)
        if (sizes[i] < 100000)
            rig_send(all, 2, 0, 1, sizes[i]);
    RIG_UNTIL(all, 2, all[1].refusing);
    for (int i = 0; i < 100; i++)
        rig_turn(all, 2);
    assert_int_equal(all[1].peer[0].got, 5);
    ops->rx_resume(all[1].peer[0].peer); /* still refusing: nothing is lost */
    rig_turn(all, 2);
    assert_int_equal(all[1].peer[0].got, 5);
    all[1].refusing = false;
    ops->rx_resume(all[1].peer[0].peer);
    RIG_UNTIL(all, 2, all[1].peer[0].got == all[0].peer[1].sent);
}

/* The sender is told when to stop and when to go on; nothing is lost. */
static void a_full_socket_answers_again_and_then_ready(void **state)
{
    enum { N = 4000 };
    struct rig_peer *p;
    weft_hdr hdr;
    uint8_t data[4000];
    uint64_t stopped = 0;

    rig_send(all, 2, 0, 1, 1);
    p = &all[0].peer[1];
    while (p->sent < N) {
        int readies = p->readies, rc;
        memset(&hdr, 0, sizeof hdr);
        hdr.w[0] = 1 | (uint64_t)sizeof data << 32;
        hdr.w[1] = p->sent;
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = rig_byte(p->sent, i);
        rc = ops->send_short(p->peer, &hdr, data, sizeof data, 0);
        if (rc == WEFT_DONE) {
            p->sent++;
            continue;
        }
        assert_int_equal(rc, WEFT_EAGAIN);
        stopped++;
        RIG_UNTIL(all, 2, p->readies > readies);
    }
    assert_true(stopped > 0);
    RIG_UNTIL(all, 2, all[1].peer[0].got == N);
}

static int offer_more(struct rig_peer *p)
{
    weft_hdr hdr = {{1 | (uint64_t)WEFT_HDR_SHORT << 16, p->sent++}};

    return ops->send_short(p->peer, &hdr, NULL, 0, WEFT_TX_MORE);
}

static void
a_window_leaves_at_each_doubling_and_at_the_next_progress(void **state)
{
    struct rig_peer *p;
    bool out[] = {true, true, false, true, false, false, false, true, false};

    rig_send(all, 2, 0, 1, 1);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    p = &all[0].peer[1];
    for (int i = 0; i < 9; i++)
        assert_int_equal(offer_more(p), out[i] ? WEFT_DONE : WEFT_OK);
    while (all[1].peer[0].got < 9)
        rig_progress(&all[1]);
    assert_int_equal(rig_progress(&all[1]), 0);
    rig_progress(&all[0]);
    while (all[1].peer[0].got < 10)
        rig_progress(&all[1]);
    assert_int_equal(offer_more(p), WEFT_DONE); /* a new window begins */
}

/* The largest ones that may wait for each other do, as well. */
static void a_window_of_large_messages_leaves_as_one_of_small_ones(void **state)
{
    static uint8_t data[TCP_SHORT_MAX];
    bool out[] = {true, true, false, true, false, false, false, true};
    struct rig_peer *p;

    rig_send(all, 2, 0, 1, 1);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    p = &all[0].peer[1];
    for (int k = 0; k < 8; k++, p->sent++) {
        weft_hdr hdr = {{1 | (uint64_t)sizeof data << 32, p->sent}};
        for (size_t i = 0; i < sizeof data; i++)
            data[i] = rig_byte(p->sent, i);
        int rc = ops->send_short(p->peer, &hdr, data, sizeof data,
                                 WEFT_TX_MORE);
        assert_int_equal(rc, out[k] ? WEFT_DONE : WEFT_OK);
    }
    RIG_UNTIL(all, 2, all[1].peer[0].got == 9);
}

static void an_urgent_send_flushes_held_messages(void **state)
{
    struct rig_peer *p;
    weft_hdr hdr = {{1 | (uint64_t)WEFT_HDR_SHORT << 16, 4}};

    rig_send(all, 2, 0, 1, 1);
    p = &all[0].peer[1];
    rig_progress(&all[0]);
    for (int i = 0; i < 3; i++)
        offer_more(p);
    assert_int_equal(ops->send_short(p->peer, &hdr, NULL, 0, 0), WEFT_DONE);
    p->sent++;
    for (uint64_t end = rig_seconds() + 30;
         all[1].peer[0].got < 5 && rig_seconds() < end;)
        rig_progress(&all[1]);
    assert_int_equal(all[1].peer[0].got, 5);
}

static void cross_calls(int rounds)
{
    unsigned seed = 1;
    for (int round = 0; round < rounds; round++) {
        struct rig_tx *t[2];
        struct rig_peer *p[2];
        rig_know(&all[0], 1);
        rig_know(&all[1], 0);
        for (int i = 0; i < 2; i++) {
            p[i] = &all[i].peer[1 - i];
            t[i] = rig_make(0, 1000, false);
            t[i]->done = false;
        }
        bool sent[2] = {false, false};
        for (uint64_t end = rig_seconds() + 30;
             !sent[0] || !sent[1] || p[0]->got < 1 || p[1]->got < 1;) {
            int i = rand_r(&seed) % 2;
            if (!sent[i]) {
                int rc = ops->send(p[i]->peer, &t[i]->tx);
                if (rc != WEFT_EAGAIN && rc != WEFT_DONE)
                    fail_msg("round %d: send gives %d: %s", round, rc,
                             p[i]->why);
                sent[i] = rc == WEFT_DONE;
            }
            rig_progress(&all[rand_r(&seed) % 2]);
            if (rig_seconds() > end)
                fail_msg("round %d hangs", round);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(p[i]->ups, 1);
            assert_int_equal(p[i]->downs, 0);
            assert_int_equal(p[i]->got, 1);
            rig_free(t[i]);
        }
        close_sides(NULL);
        open_sides(NULL);
    }
}

static void simultaneous_calls_leave_one_connection(void **state)
{
    cross_calls(300);
}

/* As processes of different jobs do, each calls itself by a number that says
 * nothing about the other's. */
static void numbers_do_not_decide_which_call_stands(void **state)
{
    rig_own_number = 100;
    close_sides(NULL);
    open_sides(NULL);
    cross_calls(100);
    rig_own_number = 0;
}

static void sudden_death_returns_what_was_lent_and_is_reported(void **state)
{
    struct rig_tx *t;
    struct rig_peer *p;
    int rc;
    rig_send(all, 2, 0, 1, 1);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    p = &all[0].peer[1];
    t = rig_make(p->sent++, 64 << 20, false);
    rc = ops->send(p->peer, &t->tx);
    assert_int_equal(rc, WEFT_OK);
    RIG_UNTIL(all, 2, all[1].sinks_open == 1);
    ops->close(all[1].ep); /* no drain */
    all[1].ep = NULL;
    assert_int_equal(all[1].sinks_failed, 1);
    RIG_UNTIL(all, 2, p->downs == 1);
    assert_true(t->done);
    assert_int_equal(t->status, WEFT_ELINK);
    assert_int_equal(p->down_status, WEFT_ELINK);
    assert_non_null(strstr(p->why, "closed by peer"));
    assert_int_equal(ops->send(p->peer, &t->tx), WEFT_ELINK);
    rig_free(t);
}

static void an_open_sink_comes_back_when_the_sender_dies(void **state)
{
    struct rig_tx *t;
    rig_send(all, 2, 0, 1, 1);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    t = rig_make(all[0].peer[1].sent++, 64 << 20, false);
    assert_int_equal(ops->send(all[0].peer[1].peer, &t->tx), WEFT_OK);
    RIG_UNTIL(all, 2, all[1].sinks_open == 1);
    ops->close(all[0].ep);
    all[0].ep = NULL;
    assert_int_equal(t->status, WEFT_ECANCEL);
    RIG_UNTIL(all, 2, all[1].peer[0].downs == 1);
    assert_int_equal(all[1].sinks_open, 0);
    assert_int_equal(all[1].sinks_failed, 1);
    rig_free(t);
}

struct pingpong {
    struct rig_side *me;
    uint32_t other;
    uint64_t rounds;
    bool lost;
};

/* Sleep as the core does: arm, poll, progress. */
static void sleep_once(struct pingpong *g)
{
    struct pollfd fd = {.events = POLLIN};
    uint64_t deadline = 0;
    ops->event(g->me->ep, &fd.fd);
    if (ops->arm(g->me->ep, &deadline) == WEFT_OK) {
        uint64_t now = rig_now((weft_core *)g->me);
        int ms = 30000;
        if (deadline)
            ms = deadline > now ? (int)((deadline - now) / 1000000 + 1) : 0;
        if (poll(&fd, 1, ms) == 0 && ms == 30000)
            g->lost = true;
    }
    rig_progress(g->me);
}

static void *play_part(void *arg)
{
    struct pingpong *g = arg;
    struct rig_peer *p = &g->me->peer[g->other];
    for (uint64_t i = 0; i < g->rounds && !g->lost; i++) {
        struct rig_tx *t = rig_make(p->sent++, i % 7 ? 8 : 200000, false);
        int rc;
        while ((rc = ops->send(p->peer, &t->tx)) == WEFT_EAGAIN && !g->lost)
            sleep_once(g);
        while (rc == WEFT_OK && !t->done && !g->lost)
            sleep_once(g);
        while ((p->got <= i || g->me->sinks_open) && !g->lost)
            sleep_once(g);
        rig_free(t);
    }
    return NULL;
}

static void a_socket_polled_without_epoll_still_wakes_a_sleeper(void **state)
{
    struct pollfd fd = {.events = POLLIN};
    uint64_t deadline = 0;

    for (uint64_t i = 0; i < 64; i++) {
        rig_send(all, 2, 0, 1, 8);
        RIG_UNTIL(all, 2, all[1].peer[0].got == i + 1);
    }
    assert_true(all[1].peer[0].peer->polled);
    assert_int_equal(ops->event(all[1].ep, &fd.fd), WEFT_OK);
    assert_int_equal(ops->arm(all[1].ep, &deadline), WEFT_OK);
    assert_int_equal(poll(&fd, 1, 0), 0);
    rig_send(all, 1, 0, 1, 8);
    assert_int_equal(poll(&fd, 1, 30000), 1);
    assert_true(rig_progress(&all[1]) > 0);
    assert_int_equal(all[1].peer[0].got, 65);
}

/* While one socket is read at every poll, another must not starve. */
static void a_second_peer_is_heard_beside_a_busy_one(void **state)
{
    rig_open(all, 2, "key");
    rig_send(all, 3, 2, 1, 8);
    RIG_UNTIL(all, 3, all[1].peer[2].got == 1);
    for (uint64_t i = 0; i < 64; i++) {
        rig_send(all, 3, 0, 1, 8);
        RIG_UNTIL(all, 3, all[1].peer[0].got == i + 1);
    }
    assert_true(all[1].peer[0].peer->polled);
    rig_send(all, 3, 2, 1, 8);
    for (int i = 0; i < 64; i++) {
        rig_send(all, 2, 0, 1, 8);
        rig_progress(&all[1]);
    }
    assert_int_equal(all[1].peer[2].got, 2);
}

static void sleepers_are_always_woken(void **state)
{
    struct pingpong g[2] = {{&all[0], 1, 1500, false},
                            {&all[1], 0, 1500, false}};
    pthread_t thread;
    rig_know(&all[0], 1);
    rig_know(&all[1], 0);
    assert_int_equal(pthread_create(&thread, NULL, play_part, &g[1]), 0);
    play_part(&g[0]);
    pthread_join(thread, NULL);
    assert_false(g[0].lost || g[1].lost);
    assert_int_equal(all[0].peer[1].got, 1500);
}

static void an_idle_endpoint_may_sleep_for_ever(void **state)
{
    uint64_t deadline = 1;
    struct pollfd fd = {.events = POLLIN};
    rig_send(all, 2, 0, 1, 8);
    RIG_UNTIL(all, 2, all[1].peer[0].got == 1);
    /* acknowledgements are looked at once more, then never again */
    RIG_UNTIL(all, 2,
              (all[0].skew += 100000000u, all[1].skew = all[0].skew,
               !all[0].ep->watching && !all[1].ep->watching));
    for (int i = 0; i < 2; i++) {
        ops->event(all[i].ep, &fd.fd);
        assert_int_equal(ops->arm(all[i].ep, &deadline), WEFT_OK);
        assert_int_equal(deadline, 0);
        assert_int_equal(poll(&fd, 1, 0), 0);
        assert_int_equal(rig_progress(&all[i]), 0);
    }
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void no_descriptor_is_left_behind(void **state)
{
    int before = open_descriptors();
    for (int i = 0; i < 20; i++) {
        open_sides(NULL);
        rig_send(all, 2, 0, 1, 100);
        rig_send(all, 2, 1, 0, 100);
        close_sides(NULL);
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, open_sides, close_sides)
        T(messages_of_all_sizes_arrive_whole_and_in_order),
        T(scattered_memory_is_read_and_written_in_place),
        T(the_rest_of_a_truncated_message_is_discarded),
        T(skipped_messages_leave_the_next_intact),
        T(a_refused_message_waits_until_the_core_has_room),
        T(a_full_socket_answers_again_and_then_ready),
        T(a_window_leaves_at_each_doubling_and_at_the_next_progress),
        T(a_window_of_large_messages_leaves_as_one_of_small_ones),
        T(an_urgent_send_flushes_held_messages),
        T(simultaneous_calls_leave_one_connection),
        T(numbers_do_not_decide_which_call_stands),
        T(sudden_death_returns_what_was_lent_and_is_reported),
        T(an_open_sink_comes_back_when_the_sender_dies),
        T(a_socket_polled_without_epoll_still_wakes_a_sleeper),
        T(a_second_peer_is_heard_beside_a_busy_one),
        T(sleepers_are_always_woken),
        T(an_idle_endpoint_may_sleep_for_ever),
        cmocka_unit_test(no_descriptor_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
