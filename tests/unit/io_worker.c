/* I/O threads (core/io/worker.c): tasks that run while the program does
 * something else, and whoever waits for them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "wait_rig.h"

#include <signal.h>

#include "io/worker.h"
#include "os/atomic.h"
#include "progress/progress.h"

enum { JOBS = 2000, THREADS = 4 };

struct task {
    struct wf_io_task task;
    int number;
    wf_atomic_u32 ran, finished;
    pthread_t by;
};

static struct task tasks[JOBS];
static int last_run, last_done;
static pthread_barrier_t meeting;
static sigset_t blocked;

static struct task *job_of(struct wf_io_task *j)
{
    return (struct task *)j;
}

static void run_task(struct wf_io_task *j)
{
    job_of(j)->by = pthread_self();
    assert_int_equal(wf_load_relaxed(&job_of(j)->ran), 0);
    assert_int_equal(job_of(j)->number, last_run);
    last_run++;
    wf_store_release(&job_of(j)->ran, 1);
}

static void end_task(struct wf_io_task *j)
{
    assert_int_equal(wf_load_acquire(&job_of(j)->ran), 1);
    assert_int_equal(job_of(j)->number, last_done);
    last_done++;
    wf_store_release(&job_of(j)->finished, 1);
}

static struct task *make_task(int i)
{
    tasks[i] = (struct task){{.wf = &wf, .run = run_task, .done = end_task},
                           .number = i};
    return &tasks[i];
}

static int open_io(void **state)
{
    open_rig(state);
    options.io_threads = 1;
    last_run = last_done = 0;
    return 0;
}

static int close_io(void **state)
{
    wf_cs_enter(&wf.api);
    wf_io_end(&wf);
    wf_cs_leave(&wf.api);
    assert_int_equal(wf_io_count_threads(), 0);
    return close_rig(state);
}

/* Section held. */
static void submit_task(struct task *j)
{
    assert_int_equal(wf_io_submit(&j->task), MPI_SUCCESS);
}

/* The program polls, and leaves the section between. */
static void until_finished(struct task *j)
{
    while (!is_flagged(&j->finished)) {
        wf_progress_poll(&wf, UINT32_MAX);
        wf_cs_leave(&wf.api);
        sched_yield();
        wf_cs_enter(&wf.api);
    }
}

static void there_is_no_thread_before_the_first_task(void **state)
{
    assert_int_equal(wf_io_count_threads(), 0);
    assert_int_equal(wf_io_source_mask(&wf), 0);
    wf_cs_enter(&wf.api);
    wf_io_end(&wf); /* there is nothing to end */
    submit_task(make_task(0));
    assert_int_equal(wf_io_count_threads(), 1);
    assert_true(wf_io_source_mask(&wf) != 0);
    until_finished(&tasks[0]);
    assert_false(pthread_equal(tasks[0].by, pthread_self()));
    wf_io_end(&wf);
    assert_int_equal(wf_io_count_threads(), 0);
    assert_int_equal(wf_io_source_mask(&wf), 0);
    submit_task(make_task(1)); /* again */
    until_finished(&tasks[1]);
    nothing_was_missed();
}

static void jobs_run_in_their_order(void **state)
{
    wf_cs_enter(&wf.api);
    for (int i = 0; i < JOBS; i++)
        submit_task(make_task(i));
    until_finished(&tasks[JOBS - 1]);
    assert_int_equal(last_run, JOBS);
    assert_int_equal(last_done, JOBS);
    assert_int_equal(wf_io_count_threads(), 1);
    nothing_was_missed();
}

/* The thread sleeps in the kernel when its task is submitted, or before, or
 * after. */
static void sleepers_are_woken(void **state)
{
    for (int i = 0; i < 300; i++) {
        wf_cs_enter(&wf.api);
        submit_task(make_task(i));
        wf_progress_wait(&wf, wf_io_source_mask(&wf), is_flagged,
                         &tasks[i].finished, NULL);
        wf_cs_leave(&wf.api);
    }
    wf_cs_enter(&wf.api);
    nothing_was_missed();
}

static void flag_sleeper(struct wf_io_task *j)
{
    set_flag(&sleepers[0].done);
}

static void a_leader_that_sleeps_is_woken(void **state)
{
    start_sleepers(1); /* it has armed other sources, not this one */
    make_task(0)->task.done = flag_sleeper;
    submit_task(&tasks[0]);
    wf_progress_end_polling(&wf);
    until_woken(0);
    nothing_was_missed();
}

/* ---- what a task may do -------------------------------------------------- */

static void submit_next(struct wf_io_task *j)
{
    int i = job_of(j)->number;

    end_task(j);
    if (i + 1 < 100) {
        make_task(i + 1)->task.done = submit_next;
        submit_task(&tasks[i + 1]);
    }
}

static void the_end_of_a_job_may_begin_another(void **state)
{
    wf_cs_enter(&wf.api);
    make_task(0)->task.done = submit_next;
    submit_task(&tasks[0]);
    while (last_done < 100)
        wf_progress_poll(&wf, UINT32_MAX);
    nothing_was_missed();
}

static void note_signals(struct wf_io_task *j)
{
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    run_task(j);
}

static void signals_are_for_the_program(void **state)
{
    wf_cs_enter(&wf.api);
    make_task(0)->task.run = note_signals;
    submit_task(&tasks[0]);
    until_finished(&tasks[0]);
    assert_true(sigismember(&blocked, SIGINT) &&
                sigismember(&blocked, SIGXFSZ));
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGINT));
    nothing_was_missed();
}

/* ---- how many threads ---------------------------------------------------- */

static void meet_others(struct wf_io_task *j)
{
    pthread_barrier_wait(&meeting);
    wf_store_release(&job_of(j)->ran, 1);
}

static void count_task(struct wf_io_task *j)
{
    last_done++;
}

static void several_threads_run_jobs_at_once(void **state)
{
    options.io_threads = THREADS;
    pthread_barrier_init(&meeting, NULL, THREADS);
    wf_cs_enter(&wf.api);
    for (int i = 0; i < 20 * THREADS; i++) {
        make_task(i)->task.run = meet_others;
        tasks[i].task.done = count_task;
        submit_task(&tasks[i]);
    }
    while (last_done < 20 * THREADS)
        wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(wf_io_count_threads(), THREADS);
    pthread_barrier_destroy(&meeting);
    nothing_was_missed();
}

/* The caller performs the task where no thread can be started. */
static void without_a_thread_the_caller_runs_it(void **state)
{
    options.io_threads = 0;
    wf_cs_enter(&wf.api);
    submit_task(make_task(0));
    assert_true(is_flagged(&tasks[0].ran));
    assert_true(pthread_equal(tasks[0].by, pthread_self()));
    assert_false(is_flagged(&tasks[0].finished)); /* a poll tells */
    wf_progress_wait(&wf, UINT32_MAX, is_flagged, &tasks[0].finished, NULL);
    nothing_was_missed();
}

/* ---- several engines ----------------------------------------------------- */

static struct wf_instance other;

static void in_other(struct task *j)
{
    j->task.wf = &other;
    j->task.done = count_task;
    assert_int_equal(wf_io_submit(&j->task), MPI_SUCCESS);
}

/* Two engines have one thread, each gets its own tasks back, and the end of one
 * leaves the other's alone. */
static void engines_share_the_thread(void **state)
{
    other = (struct wf_instance){
        .rank = &wf_rank, .links = &links, .now_ns = clock_now, .number = 1};
    wf_cs_allow_threads(&other.api);
    assert_int_equal(wf_progress_init(&other), 0);
    assert_int_equal(wf_engine_init(&other), 0);
    for (int round = 0; round < 50; round++) {
        wf_cs_enter(&wf.api);
        last_run = 0;
        submit_task(make_task(0));
        last_done = 0;
        until_finished(&tasks[0]);
        wf_cs_leave(&wf.api);
        wf_cs_enter(&other.api);
        last_run = 1;
        last_done = 0;
        in_other(make_task(1));
        assert_int_equal(wf_io_count_threads(), 1);
        while (last_done == 0)
            wf_progress_poll(&other, UINT32_MAX);
        wf_io_end(&other);
        assert_int_equal(wf_io_count_threads(), 1);
        wf_cs_leave(&other.api);
    }
    wf_progress_fini(&other);
    wf_engine_fini(&other);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_io, close_io)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(there_is_no_thread_before_the_first_task),
        CASE(jobs_run_in_their_order),
        CASE(sleepers_are_woken),
        CASE(a_leader_that_sleeps_is_woken),
        CASE(the_end_of_a_job_may_begin_another),
        CASE(signals_are_for_the_program),
        CASE(several_threads_run_jobs_at_once),
        CASE(without_a_thread_the_caller_runs_it),
        CASE(engines_share_the_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
