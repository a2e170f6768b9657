/* plugins/shm: how two endpoints find, prove and lose each other.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "shm_two_nodes.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

static struct fake_node many[FAKE_PEERS];

static void run_turns(int times)
{
    for (int i = 0; i < times; i++)
        progress_both();
}

static void stop_both(void)
{
    fake_close(&a, &b);
again:
    for (int i = 0; i < 600; i++)
        fake_progress(&b);
    if (b.loc[0].sinking)
        goto again;
    fake_close(&b, NULL);
}

static void cross_calls(int rounds)
{
    unsigned seed = 7;
    for (int round = 0; round < rounds; round++) {
        fake_pair(&a, &b, NULL);
        assert_int_equal(fake_send(&a, 1, 8, 6), WEFT_EAGAIN);
        if (rand_r(&seed) % 4 == 0)
            for (int i = rand_r(&seed) % 40; i > 0; i--)
                fake_progress(rand_r(&seed) % 2 ? &a : &b);
        int rc = fake_send(&b, 0, 8, 6);
        assert_true(rc == WEFT_EAGAIN || rc == WEFT_DONE);
        for (int i = 0; i < 5000 && !(a.loc[1].up && b.loc[0].up); i++)
            fake_progress(rand_r(&seed) % 3 ? &a : &b);
        run_turns(300); /* whatever lost the race must end without a trace */
        assert_int_equal(a.loc[1].up, 1);
        assert_int_equal(b.loc[0].up, 1);
        assert_int_equal(a.loc[1].ready, 1);
        assert_int_equal(a.loc[1].down + b.loc[0].down, 0);
        assert_int_equal(fake_send(&a, 1, 8, 6), WEFT_DONE);
        assert_int_equal(fake_send(&b, 0, 8, 6), WEFT_DONE);
        run_turns(3);
        assert_true(b.loc[0].got == a.loc[1].sent);
        assert_true(a.loc[1].got == b.loc[0].sent);
        stop_both();
        assert_int_equal(a.loc[1].down + b.loc[0].down, 0);
    }
}

static void simultaneous_calls_leave_one_connection(void **state)
{
    (void)state;
    cross_calls(1000);
}

/* As processes of different jobs do, each calls itself by a number that says
 * nothing about the other's. */
static void numbers_do_not_decide_which_call_stands(void **state)
{
    (void)state;
    fake_own_number = 100;
    cross_calls(300);
    fake_own_number = 0;
}

static void no_descriptor_stays_open(void **state)
{
    (void)state;
    int before = fake_open_fds();
    for (int i = 0; i < 20; i++) {
        fake_pair(&a, &b, NULL);
        fake_send(&a, 1, 100000, 2);
        run_turns(600);
        assert_true(fake_send(&a, 1, 100000, 2) >= 0);
        run_turns(10);
        stop_both();
    }
    assert_int_equal(fake_open_fds(), before);
}

static void an_unknown_caller_is_located(void **state)
{
    (void)state;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    assert_int_equal(fake_open(&a, 0, 2, 7, NULL), WEFT_OK);
    assert_int_equal(fake_open(&b, 1, 2, 7, NULL), WEFT_OK);
    fake_introduce(&a, &b);
    assert_int_equal(fake_add(&a, 1), WEFT_OK);
    assert_null(b.loc[0].peer);
    fake_send(&a, 1, 8, 6);
    run_turns(1000);
    assert_non_null(b.loc[0].peer);
    assert_int_equal(b.loc[0].up, 1);
    stop_both();
}

static void a_caller_without_route_is_refused(void **state)
{
    (void)state;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    fake_open(&a, 0, 2, 7, NULL);
    fake_open(&b, 1, 2, 7, NULL);
    fake_introduce(&a, &b);
    fake_add(&a, 1);
    b.stranger = true;
    fake_send(&a, 1, 8, 6);
    run_turns(1000);
    assert_int_equal(a.loc[1].down, 1);
    assert_int_equal(a.loc[1].status, WEFT_ELINK);
    assert_non_null(strstr(a.loc[1].why, "no route"));
    assert_int_equal(fake_send(&a, 1, 8, 6), WEFT_ELINK);
    stop_both();
}

static void another_job_key_is_refused(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    b.key = 1;
    fake_send(&a, 1, 8, 6);
    run_turns(1000);
    assert_int_equal(a.loc[1].down, 1);
    assert_non_null(strstr(a.loc[1].why, "job keys differ"));
    assert_int_equal(b.loc[0].up, 0);
    assert_int_equal(b.logs, 1); /* and nothing of garbage */
    stop_both();
}

static void another_node_is_unreachable(void **state)
{
    (void)state;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    fake_open(&a, 0, 2, 7, NULL);
    fake_open(&b, 1, 2, 8, NULL); /* mpirun --nodes */
    weft_cost cost = {.size = sizeof cost};
    assert_int_equal(OPS->reach(a.ep, b.address[1], b.address_len, &cost),
                     WEFT_EUNREACH);
    assert_int_equal(OPS->reach(a.ep, a.address[0], a.address_len, &cost),
                     WEFT_EUNREACH); /* oneself */
    assert_int_equal(OPS->reach(a.ep, "x", 1, &cost), WEFT_EUNREACH);
    OPS->close(a.ep);
    OPS->close(b.ep);
}

static void a_closed_endpoint_does_not_answer(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    OPS->close(b.ep);
    int rc = fake_send(&a, 1, 8, 6);
    assert_true(rc == WEFT_EAGAIN || rc == WEFT_ELINK);
    fake_progress(&a);
    assert_int_equal(a.loc[1].down, 1);
    assert_int_equal(a.loc[1].status, WEFT_ELINK);
    assert_non_null(strstr(a.loc[1].why, "does not answer"));
    OPS->close(a.ep);
}

static void a_call_left_in_the_backlog_ends_with_the_listener(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    assert_int_equal(fake_send(&a, 1, 8, 6), WEFT_EAGAIN);
    OPS->close(b.ep);
    for (int i = 0; i < 600; i++, fake_later += 1000000)
        fake_progress(&a);
    assert_int_equal(a.loc[1].down, 1); /* the next call is refused */
    OPS->close(a.ep);
}

static void goodbye_lets_the_last_messages_through(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    fake_send(&a, 1, 8, 6);
    run_turns(600);
    for (int i = 0; i < 10; i++)
        assert_int_equal(fake_send(&a, 1, 1000, 6), WEFT_DONE);
    assert_int_equal(OPS->drain(a.ep), WEFT_OK);
    OPS->close(a.ep);
    for (int i = 0; i < 600; i++)
        fake_progress(&b);
    assert_true(b.loc[0].got == a.loc[1].sent);
    assert_int_equal(b.loc[0].down, 0);
    OPS->close(b.ep);
}

static void close_without_goodbye_is_a_dead_peer(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    fake_send(&a, 1, 8, 6);
    run_turns(600);
    assert_int_equal(fake_send(&a, 1, 2000000, 2), WEFT_OK);
    OPS->close(b.ep);
    for (int i = 0; i < 600; i++)
        fake_progress(&a);
    assert_int_equal(a.loc[1].down, 1);
    assert_int_equal(a.loc[1].status, WEFT_EPEER);
    assert_int_equal(a.loc[1].tx_bad, 1);
    OPS->close(a.ep);
}

static void a_peer_may_come_back_after_goodbye(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    fake_send(&a, 1, 8, 6);
    run_turns(600);
    assert_int_equal(OPS->peer_del(a.loc[1].peer, 0), WEFT_OK);
    run_turns(600);
    assert_int_equal(b.loc[0].down, 0);
    memset(&a.loc[1], 0, sizeof a.loc[1]);
    memset(&b.loc[0].got, 0, sizeof b.loc[0].got);
    assert_int_equal(fake_add(&a, 1), WEFT_OK);
    assert_int_equal(fake_send(&a, 1, 8, 6), WEFT_EAGAIN);
    run_turns(600);
    assert_int_equal(fake_send(&a, 1, 8, 6), WEFT_DONE);
    run_turns(2);
    assert_true(b.loc[0].got == 1);
    assert_int_equal(b.loc[0].up, 2);
    stop_both();
}

static void out_of_descriptors_is_a_clear_failure(void **state)
{
    (void)state;
    struct rlimit was, low;
    fake_pair(&a, &b, NULL);
    getrlimit(RLIMIT_NOFILE, &was);
    low = was;
    low.rlim_cur = 64;
    setrlimit(RLIMIT_NOFILE, &low);
    int taken[64], n = 0;
    while (n < 64 && (taken[n] = dup(0)) >= 0)
        n++;
    fake_send(&a, 1, 8, 6);
    for (int i = 0; i < 600; i++)
        fake_progress(&a);
    assert_int_equal(a.loc[1].down, 0); /* there may be some again */
    for (int i = 0; i < 600; i++, fake_later += 100000000)
        fake_progress(&a);
    while (n > 0)
        close(taken[--n]);
    setrlimit(RLIMIT_NOFILE, &was);
    assert_int_equal(a.loc[1].down, 1);
    assert_non_null(strstr(a.loc[1].why, strerror(EMFILE)));
    stop_both();
}

/* No descriptor beyond those that are open. */
static void forbid_descriptors(struct rlimit *was)
{
    int next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, was);
    struct rlimit none = {(rlim_t)next, was->rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
}

/* Until a's call is given up; every turn takes 50 ms of the clock. */
static void call_in_vain(void)
{
    for (int i = 0; i < 2000 && !a.loc[1].down; i++, fake_later += 50000000)
        run_turns(1);
    assert_int_equal(a.loc[1].down, 1);
}

static void a_listener_without_descriptors_tells_its_callers(void **state)
{
    struct rlimit was;
    (void)state;
    fake_pair(&a, &b, NULL);
    fake_send(&a, 1, 8, 6); /* a has its socket */
    forbid_descriptors(&was);
    call_in_vain();
    setrlimit(RLIMIT_NOFILE, &was);
    assert_int_equal(a.loc[1].status, WEFT_ESYS);
    assert_non_null(strstr(a.loc[1].why, "refused the call: "));
    assert_non_null(strstr(a.loc[1].why, strerror(EMFILE)));
    assert_true(b.ep->spare >= 0);
    stop_both();
}

/* Callers are hung up on when even the spare descriptor is of no use. */
static void without_a_spare_descriptor_callers_are_closed(void **state)
{
    struct rlimit was;
    (void)state;
    fake_pair(&a, &b, NULL);
    close(b.ep->spare);
    b.ep->spare = -1;
    fake_send(&a, 1, 8, 6);
    int place = dup(0);
    forbid_descriptors(&was);
    call_in_vain();
    setrlimit(RLIMIT_NOFILE, &was);
    close(place);
    assert_int_equal(a.loc[1].status, WEFT_ELINK);
    stop_both();
}

static void a_listener_without_memory_tells_its_callers(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    b.no_memory = true;
    fake_send(&a, 1, 8, 6);
    run_turns(100);
    assert_int_equal(a.loc[1].down, 0); /* there may be some again */
    call_in_vain();
    assert_int_equal(a.loc[1].status, WEFT_ENOMEM);
    assert_non_null(strstr(a.loc[1].why, strerror(ENOMEM)));
    stop_both();
}

static void a_listener_that_has_memory_again_is_reached(void **state)
{
    (void)state;
    fake_pair(&a, &b, NULL);
    b.no_memory = true;
    fake_send(&a, 1, 8, 6);
    run_turns(100);
    b.no_memory = false;
    for (int i = 0; i < 2000 && !a.loc[1].up; i++, fake_later += 1000000)
        run_turns(1);
    assert_int_equal(a.loc[1].up, 1);
    stop_both();
}

static void a_limit_of_file_sizes_ends_the_link_and_not_the_process(
    void **state)
{
    struct rlimit was, small;
    (void)state;
    fake_pair(&a, &b, NULL);
    getrlimit(RLIMIT_FSIZE, &was);
    small = (struct rlimit){65536, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    fake_send(&a, 1, 8, 6);
    for (int i = 0; i < 600; i++)
        progress_both();
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(a.loc[1].down, 1);
    assert_non_null(strstr(a.loc[1].why, "File too large"));
    stop_both();
}

static void all_turn(uint32_t n, int times)
{
    for (int i = 0; i < times; i++)
        for (uint32_t k = 0; k < n; k++)
            fake_progress(&many[k]);
}

static void close_all(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        OPS->drain(many[i].ep);
    for (uint32_t i = 0; i < n; i++)
        OPS->close(many[i].ep);
}

/* One progress call looks at a few rings; every peer has its turn. */
static void a_silent_peer_is_heard_beside_a_busy_one(void **state)
{
    enum { N = 21, TURNS = 4 };
    (void)state;
    memset(many, 0, sizeof many);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(fake_open(&many[i], i, N, 7, NULL), WEFT_OK);
    for (uint32_t i = 1; i < N; i++) {
        fake_introduce(&many[i], &many[0]);
        fake_add(&many[i], 0);
        fake_send(&many[i], 0, 8, 6);
    }
    all_turn(N, 600);
    for (uint32_t i = 1; i < N; i++) {
        uint64_t before = many[0].loc[i].got;
        assert_true(fake_send(&many[i], 0, 8, 6) >= 0);
        for (int turn = 0; turn < TURNS; turn++) {
            fake_send(&many[1], 0, 8, 6);
            fake_progress(&many[0]);
        }
        assert_true(many[0].loc[i].got > before);
    }
    close_all(N);
}

/* Enough peers that endpoints stop looking at every ring. */
static void many_peers_are_heard_through_their_bytes(void **state)
{
    (void)state;
    const uint32_t n = 40;
    memset(many, 0, sizeof many);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(fake_open(&many[i], i, n, 7, NULL), WEFT_OK);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            if (i != k) {
                fake_introduce(&many[i], &many[k]);
                fake_add(&many[i], k);
            }
    for (uint32_t i = 1; i < n; i++)
        fake_send(&many[i], 0, 8, 6);
    all_turn(n, 600);
    for (int round = 0; round < 200; round++) {
        for (uint32_t i = 1; i < n; i++) {
            assert_true(fake_send(&many[i], 0, 8 + i * 10, 2) >= 0);
            assert_true(fake_send(&many[0], i, 8 + i * 10, 2) >= 0);
        }
        all_turn(n, 4);
    }
    for (uint32_t i = 1; i < n; i++) {
        assert_true(many[0].loc[i].got == many[i].loc[0].sent);
        assert_true(many[i].loc[0].got == many[0].loc[i].sent);
    }
    close_all(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simultaneous_calls_leave_one_connection),
        cmocka_unit_test(numbers_do_not_decide_which_call_stands),
        cmocka_unit_test(no_descriptor_stays_open),
        cmocka_unit_test(an_unknown_caller_is_located),
        cmocka_unit_test(a_caller_without_route_is_refused),
        cmocka_unit_test(another_job_key_is_refused),
        cmocka_unit_test(another_node_is_unreachable),
        cmocka_unit_test(a_closed_endpoint_does_not_answer),
        cmocka_unit_test(a_call_left_in_the_backlog_ends_with_the_listener),
        cmocka_unit_test(goodbye_lets_the_last_messages_through),
        cmocka_unit_test(close_without_goodbye_is_a_dead_peer),
        cmocka_unit_test(a_peer_may_come_back_after_goodbye),
        cmocka_unit_test(out_of_descriptors_is_a_clear_failure),
        cmocka_unit_test(a_listener_without_descriptors_tells_its_callers),
        cmocka_unit_test(without_a_spare_descriptor_callers_are_closed),
        cmocka_unit_test(a_listener_without_memory_tells_its_callers),
        cmocka_unit_test(a_listener_that_has_memory_again_is_reached),
        cmocka_unit_test(
            a_limit_of_file_sizes_ends_the_link_and_not_the_process),
        cmocka_unit_test(a_silent_peer_is_heard_beside_a_busy_one),
        cmocka_unit_test(many_peers_are_heard_through_their_bytes)};
    return cmocka_run_group_tests_name("shm connect", tests, NULL, NULL);
}
