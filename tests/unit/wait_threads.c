/* A thread that is blocked in an MPI call is woken by what another thread of
 * its process does: MPI-5.0 s11.6, at MPI_THREAD_MULTIPLE, in a job of one.
 * Each rule holds for the leader among the sleepers and for a follower.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "progress/engines.h"
#include "process/instance.h"
#include "os/membarrier.h"
#include "os/tuning.h"
#include "progress/wait.h"

enum { HANG_S = 200, LOST_MS = 60000, TAG = 7, OTHER_TAG = 8 };

static MPI_Request request;
static int word;

/* ---- who is blocked ------------------------------------------------------ */

static void wait_for_request(void)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_for_one_of_two(void)
{
    MPI_Request both[2] = {MPI_REQUEST_NULL, request};
    int index;

    MPI_Waitany(2, both, &index, MPI_STATUS_IGNORE);
}

static void receive_message(void)
{
    MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void probe_message(void)
{
    MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_synchronously(void)
{
    MPI_Ssend(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
}

static void flush_messages(void)
{
    MPI_Comm_flush_buffer(MPI_COMM_WORLD);
}

/* ---- who wakes ----------------------------------------------------------- */

static void send_message(void)
{
    MPI_Send(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
}

static void complete_request(void)
{
    MPI_Grequest_complete(request);
}

static void cancel_request(void)
{
    MPI_Cancel(&request);
}

static void ready_the_second_half(void)
{
    MPI_Pready(1, request);
}

/* ---- the rig ------------------------------------------------------------- */

static void *run_case(void *call)
{
    ((void (*)(void))(uintptr_t)call)();
    return NULL;
}

static void *follow_pieces(void *unused)
{
    MPI_Recv(&word, 0, MPI_INT, 0, OTHER_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return NULL;
}

/* Until n threads sleep, a leader among them. */
static void until_asleep(int n)
{
    struct wf_instance *wf = wf_current();
    int asleep;

    do {
        struct wf_list *head = &wf->progress->waiters;
        sched_yield();
        wf_cs_enter(&wf->api);
        asleep = 0;
        for (struct wf_list *l = head->next; l != head; l = l->next)
            asleep++;
        if (!wf->progress->led)
            asleep = -1;
        wf_cs_leave(&wf->api);
    } while (asleep != n);
}

static pthread_t begin_thread(void *(*fn)(void *), void *arg)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
    return thread;
}

static void check_waker(void (*waker)(void), void (*blocked)(void))
{
    pthread_t t = begin_thread(run_case, (void *)(uintptr_t)blocked);

    until_asleep(1);
    waker();
    pthread_join(t, NULL);
}

static void wakes_a_follower(void (*waker)(void), void (*blocked)(void))
{
    pthread_t leader = begin_thread(follow_pieces, NULL), t;

    until_asleep(1);
    t = begin_thread(run_case, (void *)(uintptr_t)blocked);
    until_asleep(2);
    waker();
    pthread_join(t, NULL);
    MPI_Send(&word, 0, MPI_INT, 0, OTHER_TAG, MPI_COMM_WORLD);
    pthread_join(leader, NULL);
}

/* Poll time and again, as if messages came, until the leader naps. Returns
 * inside the section, so that it goes on. */
static struct wf_progress *until_it_naps(void)
{
    struct wf_instance *wf = wf_current();

    for (;;) {
        wf_cs_enter(&wf->api);
        if (wf->progress->leader_on_bell)
            return wf->progress;
        wf_progress_poll(wf, UINT32_MAX);
        wf_cs_leave(&wf->api);
    }
}

/* Until the leader sleeps on the endpoints; nobody else polls. */
static void until_it_sleeps(void)
{
    struct wf_instance *wf = wf_current();
    bool sleeps;

    do {
        sched_yield();
        wf_cs_enter(&wf->api);
        sleeps = wf->progress->led && !wf->progress->leader_on_bell;
        wf_cs_leave(&wf->api);
    } while (!sleeps);
}

static bool leaders_nap(void)
{
    if (!wf_engines(wf_current()))
        return true;
    print_message("this build has several engines: their leader naps as "
                  "other_engines.c has it\n");
    return false;
}

static void nothing_was_missed(void)
{
    assert_true(wf_current()->progress->missed == 0);
}

/* ---- the rules ----------------------------------------------------------- */

static void a_message_wakes_its_receiver(void **state)
{
    check_waker(send_message, receive_message);
    wakes_a_follower(send_message, receive_message);
    nothing_was_missed();
}

static void a_message_wakes_a_thread_that_probes_for_it(void **state)
{
    check_waker(send_message, probe_message);
    receive_message();
    wakes_a_follower(send_message, probe_message);
    receive_message();
    nothing_was_missed();
}

static void a_receive_wakes_a_synchronous_sender(void **state)
{
    check_waker(receive_message, send_synchronously);
    wakes_a_follower(receive_message, send_synchronously);
    nothing_was_missed();
}

static int query_object(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int free_nothing(void *state)
{
    return MPI_SUCCESS;
}

static int cancel_nothing(void *state, int complete)
{
    return MPI_SUCCESS;
}

static void start_generalized(void)
{
    MPI_Grequest_start(query_object, free_nothing, cancel_nothing, NULL,
                       &request);
}

static void the_end_of_a_generalized_request_wakes_its_waiter(void **state)
{
    start_generalized();
    check_waker(complete_request, wait_for_request);
    start_generalized();
    wakes_a_follower(complete_request, wait_for_request);
    start_generalized();
    wakes_a_follower(complete_request, wait_for_one_of_two);
    nothing_was_missed();
}

static void post_receive(void)
{
    MPI_Irecv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
}

/* By the short way (protocol/fastpath.h): the section is biased towards us. */
static void post_at_once(void)
{
    struct wf_cs *cs = &wf_current()->api;
    bool may = wf_membarrier_register_own(); /* or else it never is */

    while (may && !wf_mutex_is_own_bias(wf_load_relaxed(&cs->mutex.owner))) {
        wf_cs_enter(cs);
        wf_cs_leave(cs);
    }
    post_receive();
}

static void a_message_wakes_the_waiter_of_a_posted_receive(void **state)
{
    void (*const posts[])(void) = {post_receive, post_at_once};

    for (int i = 0; i < 2; i++) {
        posts[i]();
        check_waker(send_message, wait_for_request);
        posts[i]();
        wakes_a_follower(send_message, wait_for_request);
    }
    nothing_was_missed();
}

/* The handle is the waiting call's own by then: cancelled through a copy. */
static void a_cancelled_receive_wakes_its_waiter(void **state)
{
    post_receive();
    check_waker(cancel_request, wait_for_one_of_two);
    post_receive();
    wakes_a_follower(cancel_request, wait_for_one_of_two);
    nothing_was_missed();
}

static MPI_Request partitioned;

static void wait_for_partitions(void)
{
    MPI_Wait(&partitioned, MPI_STATUS_IGNORE);
}

static void the_last_partition_wakes_its_receiver(void **state)
{
    int out[2] = {1, 2}, in[2];

    MPI_Psend_init(out, 2, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
    MPI_Precv_init(in, 2, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &partitioned);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Start(&partitioned);
        MPI_Pready(0, request);
        (i ? check_waker : wakes_a_follower)(ready_the_second_half,
                                             wait_for_partitions);
        wait_for_request();
        assert_int_equal(in[1], 2);
    }
    MPI_Request_free(&request);
    MPI_Request_free(&partitioned);
    nothing_was_missed();
}

static void receive_large(void)
{
    static char in[1 << 20];

    MPI_Recv(in, sizeof in, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void send_buffered(void)
{
    static char out[1 << 20];

    MPI_Bsend(out, sizeof out, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

static void the_last_buffered_message_wakes_a_flush(void **state)
{
    MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0);
    send_buffered();
    check_waker(receive_large, flush_messages);
    send_buffered();
    wakes_a_follower(receive_large, flush_messages);
    nothing_was_missed();
}

static void beside_a_thread_that_polls_often_nobody_arms_for_the_leader(
    void **state)
{
    struct wf_instance *wf = wf_current();
    struct wf_progress *p;
    pthread_t t;

    if (!leaders_nap())
        skip();
    t = begin_thread(run_case, (void *)(uintptr_t)receive_message);
    until_asleep(1);
    p = until_it_naps();
    wf_progress_poll(wf, UINT32_MAX);
    assert_true(p->disarmed && p->led);
    wf_cs_leave(&wf->api);
    until_it_sleeps();
    send_message();
    pthread_join(t, NULL);
    nothing_was_missed();
}

static void a_message_wakes_a_receiver_that_naps(void **state)
{
    struct wf_instance *wf = wf_current();
    pthread_t t;

    if (!leaders_nap())
        skip();
    wf->progress->bell_sleep_ms = LOST_MS;
    t = begin_thread(run_case, (void *)(uintptr_t)receive_message);
    until_asleep(1);
    until_it_naps();
    wf_cs_leave(&wf->api);
    send_message();
    pthread_join(t, NULL);
    wf->progress->bell_sleep_ms = WF_BELL_SLEEP_MS;
}

static void a_new_sleeper_sends_a_napping_leader_to_the_endpoints(
    void **state)
{
    struct wf_instance *wf = wf_current();
    pthread_t leader, t;

    if (!leaders_nap())
        skip();
    wf->progress->bell_sleep_ms = LOST_MS;
    leader = begin_thread(follow_pieces, NULL);
    until_asleep(1);
    until_it_naps();
    wf_cs_leave(&wf->api);
    t = begin_thread(run_case, (void *)(uintptr_t)receive_message);
    until_asleep(2);
    until_it_sleeps();
    wf->progress->bell_sleep_ms = WF_BELL_SLEEP_MS;
    send_message();
    pthread_join(t, NULL);
    MPI_Send(&word, 0, MPI_INT, 0, OTHER_TAG, MPI_COMM_WORLD);
    pthread_join(leader, NULL);
}

static int begin_case(void **state)
{
    int level;

    alarm(HANG_S);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    wf_current()->progress->watch_ms = LOST_MS;
    return level != MPI_THREAD_MULTIPLE;
}

static int end_case(void **state)
{
    return MPI_Finalize();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_wakes_its_receiver),
        cmocka_unit_test(a_message_wakes_a_thread_that_probes_for_it),
        cmocka_unit_test(a_receive_wakes_a_synchronous_sender),
        cmocka_unit_test(the_end_of_a_generalized_request_wakes_its_waiter),
        cmocka_unit_test(a_message_wakes_the_waiter_of_a_posted_receive),
        cmocka_unit_test(a_cancelled_receive_wakes_its_waiter),
        cmocka_unit_test(the_last_partition_wakes_its_receiver),
        cmocka_unit_test(the_last_buffered_message_wakes_a_flush),
        cmocka_unit_test(
            beside_a_thread_that_polls_often_nobody_arms_for_the_leader),
        cmocka_unit_test(a_message_wakes_a_receiver_that_naps),
        cmocka_unit_test(
            a_new_sleeper_sends_a_napping_leader_to_the_endpoints),
    };

    return cmocka_run_group_tests(tests, begin_case, end_case);
}
