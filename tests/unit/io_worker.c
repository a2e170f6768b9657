/* I/O threads (core/io/worker.c): jobs that run while the program does
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

struct job {
    struct wf_io_job job;
    int number;
    wf_atomic_u32 ran, finished;
    pthread_t by;
};

static struct job jobs[JOBS];
static int last_run, last_done;
static pthread_barrier_t meeting;
static sigset_t blocked;

static struct job *job_of(struct wf_io_job *j)
{
    return (struct job *)j;
}

static void run_job(struct wf_io_job *j)
{
    job_of(j)->by = pthread_self();
    assert_int_equal(wf_load_relaxed(&job_of(j)->ran), 0);
    assert_int_equal(job_of(j)->number, last_run);
    last_run++;
    wf_store_release(&job_of(j)->ran, 1);
}

static void end_job(struct wf_io_job *j)
{
    assert_int_equal(wf_load_acquire(&job_of(j)->ran), 1);
    assert_int_equal(job_of(j)->number, last_done);
    last_done++;
    wf_store_release(&job_of(j)->finished, 1);
}

static struct job *make_job(int i)
{
    jobs[i] = (struct job){{.wf = &wf, .run = run_job, .done = end_job},
                           .number = i};
    return &jobs[i];
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
static void submit_job(struct job *j)
{
    assert_int_equal(wf_io_submit(&j->job), MPI_SUCCESS);
}

/* The program polls, and leaves the section between. */
static void until_finished(struct job *j)
{
    while (!is_flagged(&j->finished)) {
        wf_progress_poll(&wf, UINT32_MAX);
        wf_cs_leave(&wf.api);
        sched_yield();
        wf_cs_enter(&wf.api);
    }
}

static void there_is_no_thread_before_the_first_job(void **state)
{
    assert_int_equal(wf_io_count_threads(), 0);
    assert_int_equal(wf_io_source_mask(&wf), 0);
    wf_cs_enter(&wf.api);
    wf_io_end(&wf); /* there is nothing to end */
    submit_job(make_job(0));
    assert_int_equal(wf_io_count_threads(), 1);
    assert_true(wf_io_source_mask(&wf) != 0);
    until_finished(&jobs[0]);
    assert_false(pthread_equal(jobs[0].by, pthread_self()));
    wf_io_end(&wf);
    assert_int_equal(wf_io_count_threads(), 0);
    assert_int_equal(wf_io_source_mask(&wf), 0);
    submit_job(make_job(1)); /* again */
    until_finished(&jobs[1]);
    nothing_was_missed();
}

static void jobs_run_in_their_order(void **state)
{
    wf_cs_enter(&wf.api);
    for (int i = 0; i < JOBS; i++)
        submit_job(make_job(i));
    until_finished(&jobs[JOBS - 1]);
    assert_int_equal(last_run, JOBS);
    assert_int_equal(last_done, JOBS);
    assert_int_equal(wf_io_count_threads(), 1);
    nothing_was_missed();
}

/* The thread sleeps in the kernel when its job is submitted, or before, or
 * after. */
static void sleepers_are_woken(void **state)
{
    for (int i = 0; i < 300; i++) {
        wf_cs_enter(&wf.api);
        submit_job(make_job(i));
        wf_progress_wait(&wf, wf_io_source_mask(&wf), is_flagged,
                         &jobs[i].finished, NULL);
        wf_cs_leave(&wf.api);
    }
    wf_cs_enter(&wf.api);
    nothing_was_missed();
}

static void flag_sleeper(struct wf_io_job *j)
{
    set_flag(&sleepers[0].done);
}

static void a_leader_that_sleeps_is_woken(void **state)
{
    start_sleepers(1); /* it has armed other sources, not this one */
    make_job(0)->job.done = flag_sleeper;
    submit_job(&jobs[0]);
    wf_progress_end_polling(&wf);
    until_woken(0);
    nothing_was_missed();
}

/* ---- what a job may do --------------------------------------------------- */

static void submit_next(struct wf_io_job *j)
{
    int i = job_of(j)->number;

    end_job(j);
    if (i + 1 < 100) {
        make_job(i + 1)->job.done = submit_next;
        submit_job(&jobs[i + 1]);
    }
}

static void the_end_of_a_job_may_begin_another(void **state)
{
    wf_cs_enter(&wf.api);
    make_job(0)->job.done = submit_next;
    submit_job(&jobs[0]);
    while (last_done < 100)
        wf_progress_poll(&wf, UINT32_MAX);
    nothing_was_missed();
}

static void note_signals(struct wf_io_job *j)
{
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    run_job(j);
}

static void signals_are_for_the_program(void **state)
{
    wf_cs_enter(&wf.api);
    make_job(0)->job.run = note_signals;
    submit_job(&jobs[0]);
    until_finished(&jobs[0]);
    assert_true(sigismember(&blocked, SIGINT) &&
                sigismember(&blocked, SIGXFSZ));
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGINT));
    nothing_was_missed();
}

/* ---- how many threads ---------------------------------------------------- */

static void meet_others(struct wf_io_job *j)
{
    pthread_barrier_wait(&meeting);
    wf_store_release(&job_of(j)->ran, 1);
}

static void count_job(struct wf_io_job *j)
{
    last_done++;
}

static void several_threads_run_jobs_at_once(void **state)
{
    options.io_threads = THREADS;
    pthread_barrier_init(&meeting, NULL, THREADS);
    wf_cs_enter(&wf.api);
    for (int i = 0; i < 20 * THREADS; i++) {
        make_job(i)->job.run = meet_others;
        jobs[i].job.done = count_job;
        submit_job(&jobs[i]);
    }
    while (last_done < 20 * THREADS)
        wf_progress_poll(&wf, UINT32_MAX);
    assert_int_equal(wf_io_count_threads(), THREADS);
    pthread_barrier_destroy(&meeting);
    nothing_was_missed();
}

/* The caller performs the job where no thread can be started. */
static void without_a_thread_the_caller_runs_it(void **state)
{
    options.io_threads = 0;
    wf_cs_enter(&wf.api);
    submit_job(make_job(0));
    assert_true(is_flagged(&jobs[0].ran));
    assert_true(pthread_equal(jobs[0].by, pthread_self()));
    assert_false(is_flagged(&jobs[0].finished)); /* a poll tells */
    wf_progress_wait(&wf, UINT32_MAX, is_flagged, &jobs[0].finished, NULL);
    nothing_was_missed();
}

/* ---- several engines ----------------------------------------------------- */

static struct wf_instance other;

static void in_other(struct job *j)
{
    j->job.wf = &other;
    j->job.done = count_job;
    assert_int_equal(wf_io_submit(&j->job), MPI_SUCCESS);
}

/* Two engines have one thread, each gets its own jobs back, and the end of one
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
        submit_job(make_job(0));
        last_done = 0;
        until_finished(&jobs[0]);
        wf_cs_leave(&wf.api);
        wf_cs_enter(&other.api);
        last_run = 1;
        last_done = 0;
        in_other(make_job(1));
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
        CASE(there_is_no_thread_before_the_first_job),
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
