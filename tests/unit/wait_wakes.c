/* Every way by which a thread that sleeps in a call is woken, one test each:
 * docs/internals/progress-and-wakeups.md lists them. The helper thread has a
 * file of its own, wait_helper.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/config.h"
#include "progress/wait.h"
#include "wait_rig.h"

#include <poll.h>

#include "process/endpoint.h"
#include "process/rank.h"
#include "protocol/helper.h"

/* ---- the leader ---------------------------------------------------------- */

static void the_descriptor_of_any_endpoint_wakes_the_leader(void **state)
{
    for (int i = 0; i < ENDPOINTS; i++) {
        sleepers[0].done = 0;
        start_sleepers(1);
        announce_arrival(&fabrics[i], set_flag, &sleepers[0].done);
        until_woken(0);
        nothing_was_missed();
    }
}

static void an_endpoint_that_has_something_keeps_the_leader_awake(void **state)
{
    fabrics[1].refuses = true;
    fabrics[1].deliver = set_flag;
    fabrics[1].arg = &sleepers[0].done;
    wf_cs_enter(&wf.api);
    sleepers[0].mask = 1; /* not what it polls, so only arm can know */
    pthread_create(&sleepers[0].thread, NULL, sleep_until_flagged,
                   &sleepers[0]);
    until_woken(0);
    assert_true(wf.progress->sleeps == 0);
    nothing_was_missed();
}

static void the_time_that_an_endpoint_wants_ends_the_sleep(void **state)
{
    fabrics[0].deadline_in = 5000000;
    fabrics[0].deliver = set_flag;
    fabrics[0].arg = &sleepers[0].done;
    wf_cs_enter(&wf.api);
    sleepers[0].mask = 1;
    pthread_create(&sleepers[0].thread, NULL, sleep_until_flagged,
                   &sleepers[0]);
    until_woken(0);
    assert_true(wf.progress->sleeps > 0);
    nothing_was_missed();
}

static void an_endpoint_that_wakes_nobody_is_polled_meanwhile(void **state)
{
    start_sleepers(1);
    announce_arrival(&fabrics[0], set_flag, &sleepers[0].done);
    until_woken(0);
    nothing_was_missed();
}

static int rig_without_descriptors(void **state)
{
    return rig_with(&without);
}

static void *wake_leader(void *arg)
{
    wf_progress_wake_leader(arg); /* it needs no section */
    return NULL;
}

static void another_thread_wakes_the_leader(void **state)
{
    pthread_t thread;

    start_sleepers(1);
    fabrics[0].blind = true;
    announce_arrival(&fabrics[0], set_flag, &sleepers[0].done);
    pthread_create(&thread, NULL, wake_leader, &wf);
    until_woken(0);
    pthread_join(thread, NULL);
    nothing_was_missed();
}

/* Another thread says that what they wait for is there. */
static void the_first_are_woken(int n)
{
    for (int i = 0; i < n; i++)
        set_flag(&sleepers[i].done);
    wf_progress_notify(&wf);
    for (int i = 0; i < n; i++)
        until_woken(i);
}

static void a_leader_whose_request_another_thread_completes_is_woken(void **s)
{
    start_sleepers(1);
    the_first_are_woken(1);
    nothing_was_missed();
}

/* ---- followers ----------------------------------------------------------- */

static struct wf_waiter *waiter_of(int i)
{
    struct wf_list *head = &wf.progress->waiters;

    for (struct wf_list *l = head->next; l != head; l = l->next) {
        struct wf_waiter *w = wf_container(l, struct wf_waiter, link);
        if (w->arg == &sleepers[i].done)
            return w;
    }
    return NULL;
}

static void a_follower_is_woken_by_its_own_request_and_no_other(void **state)
{
    struct wf_waiter *other;

    start_sleepers(3);
    other = waiter_of(1);
    assert_non_null(other);
    set_flag(&sleepers[2].done);
    wf_progress_notify(&wf);
    until_woken(2);
    assert_ptr_equal(waiter_of(1), other);
    assert_int_equal(wf_load_relaxed(&other->awake), 0);
    the_first_are_woken(2);
    nothing_was_missed();
}

/* Long before it has spun as long as it may. */
static void two_threads_lie_down(uint32_t cpus, uint32_t own_cpus)
{
    options.spin = 3600 * UINT64_C(1000000000);
    wf.rank->local_count = 1;
    wf.rank->cpus = cpus;
    wf.rank->own_cpus = own_cpus;
    wf_cs_enter(&wf.api);
    for (int i = 0; i < 2; i++) {
        sleepers[i].mask = 1;
        assert_int_equal(pthread_create(&sleepers[i].thread, NULL,
                                        sleep_until_flagged, &sleepers[i]),
                         0);
    }
    until_asleep(2); /* comes and goes */
    the_first_are_woken(2);
    nothing_was_missed();
}

static void who_polls_lies_down_where_threads_outnumber_cpus(void **state)
{
    two_threads_lie_down(1, 1);
}

static void so_where_they_are_bound_to_one_of_many(void **state)
{
    two_threads_lie_down(8, 1);
}

/* It has polled, and what the leader had armed is not any more. */
static void who_lies_down_beside_a_leader_lets_it_sleep(void **state)
{
    start_sleepers(3);
    assert_true(waiter_of(0)->leads && wf.progress->sleeps == 3);
    assert_true(fabrics[0].armed && fabrics[1].armed);
    the_first_are_woken(3);
    nothing_was_missed();
}

/* Not the next in the list: that one is woken when the leader passes on. */
static void what_the_leader_receives_for_a_follower_wakes_it(void **state)
{
    start_sleepers(3);
    announce_arrival(&fabrics[0], set_flag, &sleepers[2].done);
    until_woken(2);
    the_first_are_woken(2);
    nothing_was_missed();
}

static void a_leader_that_leaves_hands_its_place_to_a_follower(void **state)
{
    start_sleepers(2);
    announce_arrival(&fabrics[0], set_flag, &sleepers[0].done);
    until_woken(0);
    until_asleep(1); /* led again */
    announce_arrival(&fabrics[1], set_flag, &sleepers[1].done);
    until_woken(1);
    nothing_was_missed();
}

static void who_polls_completes_for_those_who_sleep(void **state)
{
    start_sleepers(3);
    fabrics[0].blind = true; /* so that the leader learns nothing of it */
    announce_arrival(&fabrics[0], set_flag, &sleepers[2].done);
    wf_progress_poll(&wf, 1);
    until_woken(2);
    assert_true(wf.progress->sleeps == 3); /* no other has got up */
    the_first_are_woken(2);
    nothing_was_missed();
}

/* A poll disarms: what comes after it rings no bell. */
static void who_polls_last_makes_the_leader_arm_again(void **state)
{
    start_sleepers(1);
    assert_int_equal(wf_progress_poll(&wf, 1), 0);
    announce_arrival(&fabrics[0], set_flag, &sleepers[0].done);
    until_woken(0);
    nothing_was_missed();
}

static bool bell_rings(void)
{
    struct pollfd bell = {.fd = wf.progress->bell, .events = POLLIN};

    return poll(&bell, 1, 0) == 1;
}

/* It sleeps on while that is not too long for the endpoint. */
static void who_polls_calls_the_leader_for_an_earlier_time(void **state)
{
    fabrics[0].deadline_in = 30000000000u;
    start_sleepers(1);
    fabrics[0].deadline_in = 40000000000u;
    assert_int_equal(wf_progress_poll(&wf, 1), 0);
    assert_false(bell_rings());
    fabrics[0].deadline_in = 5000000;
    fabrics[0].deliver = set_flag;
    fabrics[0].arg = &sleepers[0].done;
    assert_int_equal(wf_progress_poll(&wf, 1), 0);
    assert_true(bell_rings());
    until_woken(0);
    nothing_was_missed();
}

/* A leader that would get up for nothing each time stays up. */
static void who_polls_much_keeps_the_leader_awake(void **state)
{
    fabrics[0].deadline_in = 40000000000u;
    start_sleepers(1);
    wf_store_relaxed(&lost, 1000000); /* between two readings of the clock */
    for (int i = 0; i < 100; i++)
        assert_int_equal(wf_progress_poll(&wf, 1), 0);
    assert_false(bell_rings());
    wf_store_relaxed(&lost, 0);
    for (int i = 0; i < 100000 && !bell_rings(); i++)
        assert_int_equal(wf_progress_poll(&wf, 1), 0);
    assert_true(bell_rings());
    announce_arrival(&fabrics[0], set_flag, &sleepers[0].done);
    until_woken(0);
    nothing_was_missed();
}

/* ---- other things that are waited for ------------------------------------ */

static void end_peer(struct weft_loc *loc)
{
    wf_host.peer_down(&links.eps[0], loc, WEFT_EPEER, "the test ends it");
}

static bool is_gone(void *arg)
{
    return ((struct weft_loc *)arg)->failed;
}

static struct weft_loc *add_peer(struct weft_loc *loc)
{
    *loc = (struct weft_loc){.wf = &wf, .id = 1, .lanes = 1};
    loc->lane[0].core = &links.eps[0];
    loc->peers[0] = (weft_peer *)loc;
    loc->lane[0].fifo_tail = &loc->lane[0].fifo_head;
    return loc;
}

static void *wait_for_the_end(void *loc)
{
    wf_cs_enter(&wf.api);
    wf_progress_wait(&wf, UINT32_MAX, is_gone, loc, NULL); /* as a probe does */
    wf_cs_leave(&wf.api);
    return NULL;
}

static void the_death_of_a_peer_wakes_who_waits_for_it(void **state)
{
    struct weft_loc loc, *peer = add_peer(&loc);
    pthread_t thread;

    start_sleepers(2);
    pthread_create(&thread, NULL, wait_for_the_end, peer);
    until_asleep(3);
    end_peer(peer); /* this thread hears of it */
    wf_cs_leave(&wf.api);
    pthread_join(thread, NULL);
    wf_cs_enter(&wf.api);
    assert_true(wf.progress->sleeps == 3);
    the_first_are_woken(2);
    free(loc.down_reason);
    nothing_was_missed();
}

static bool never_holds(void *arg)
{
    return false;
}

static void who_serves_peers_is_called_by_the_launchers_descriptor(void **state)
{
    uint64_t one = 1;
    int fd = eventfd(1, EFD_CLOEXEC);

    wf_cs_enter(&wf.api);
    assert_true(wf_progress_poll_until(&wf, fd, never_holds, NULL, 0));
    assert_int_equal(read(fd, &one, sizeof one), sizeof one);
    assert_false(
        wf_progress_poll_until(&wf, fd, never_holds, NULL, wf_now(&wf) + 1));
    close(fd);
    nothing_was_missed();
}

static bool count_looks(void *count)
{
    ++*(int *)count;
    return false;
}

/* Many ranks that wait for the end of their job must not fill the CPUs, nor
 * must a bell that rang for a condition that does not hold. */
static void who_serves_peers_in_vain_sleeps_longer_and_longer(void **state)
{
    enum { WAIT_NS = 1000000000, LOOKS = 80 };
    int looks = 0;

    wf_cs_enter(&wf.api);
    assert_int_equal(wf_progress_open_sleeper(wf.progress), 0);
    wf_progress_wake_leader(&wf);
    assert_false(wf_progress_poll_until(&wf, -1, count_looks, &looks,
                                        wf_now(&wf) + WAIT_NS));
    assert_in_range(looks, 1, LOOKS);
    nothing_was_missed();
}

#define WITH(name, begin)                                                      \
    cmocka_unit_test_setup_teardown(name, begin, close_rig)
#define RULE(name) WITH(name, open_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(the_descriptor_of_any_endpoint_wakes_the_leader),
        RULE(an_endpoint_that_has_something_keeps_the_leader_awake),
        RULE(the_time_that_an_endpoint_wants_ends_the_sleep),
        WITH(an_endpoint_that_wakes_nobody_is_polled_meanwhile,
             rig_without_descriptors),
        RULE(another_thread_wakes_the_leader),
        RULE(a_leader_whose_request_another_thread_completes_is_woken),
        RULE(a_follower_is_woken_by_its_own_request_and_no_other),
        RULE(who_polls_lies_down_where_threads_outnumber_cpus),
        RULE(so_where_they_are_bound_to_one_of_many),
        RULE(who_lies_down_beside_a_leader_lets_it_sleep),
        RULE(what_the_leader_receives_for_a_follower_wakes_it),
        RULE(a_leader_that_leaves_hands_its_place_to_a_follower),
        RULE(who_polls_completes_for_those_who_sleep),
        RULE(who_polls_last_makes_the_leader_arm_again),
        RULE(who_polls_calls_the_leader_for_an_earlier_time),
        RULE(who_polls_much_keeps_the_leader_awake),
        RULE(the_death_of_a_peer_wakes_who_waits_for_it),
        RULE(who_serves_peers_is_called_by_the_launchers_descriptor),
        RULE(who_serves_peers_in_vain_sleeps_longer_and_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
