/* Calls on a window whose memory is mapped need no critical section: a thread
 * makes all of them while another one is inside the section and stays there.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <time.h>

#include "process/instance.h"
#include "rma/handle.h"

enum { WORDS = 64, LIMIT_S = 300 };

static MPI_Win win;
static int target;

static void operate_once(void)
{
    long one = 1, old = 0, in[2] = {0}, out[2] = {7, 9}, seven = 7, eight = 8;
    double x = 2.5, y = 0;

    MPI_Put(out, 2, MPI_LONG, target, 0, 2, MPI_LONG, win);
    MPI_Win_flush(target, win);
    MPI_Get(in, 2, MPI_LONG, target, 0, 2, MPI_LONG, win);
    MPI_Win_flush_local(target, win);
    CHECK(in[0] == 7 && in[1] == 9);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 1, MPI_SUM, win);
    CHECK(old == 9);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, target, 1, MPI_MAX, win);
    CHECK(old == 10);
    MPI_Compare_and_swap(&eight, &seven, &old, MPI_LONG, target, 0, win);
    CHECK(old == 7);
    MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Accumulate(&x, 1, MPI_DOUBLE, target, 2, 1, MPI_DOUBLE, MPI_REPLACE,
                   win);
    MPI_Get_accumulate(&x, 1, MPI_DOUBLE, &y, 1, MPI_DOUBLE, target, 2, 1,
                       MPI_DOUBLE, MPI_SUM, win);
    CHECK(y == 2.5);
    MPI_Get(in, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
    CHECK(in[0] == 9);
}

/* Layouts with holes on both sides. */
static void operate_on_vectors(MPI_Datatype every_second)
{
    long out[8] = {1, 0, 2, 0, 3, 0, 4}, in[8] = {0};

    MPI_Put(out, 1, every_second, target, 8, 1, every_second, win);
    MPI_Accumulate(out, 1, every_second, target, 8, 1, every_second, MPI_SUM,
                   win);
    MPI_Win_flush(target, win);
    MPI_Get(in, 1, every_second, target, 8, 1, every_second, win);
    CHECK(in[0] == 2 && in[2] == 4 && in[4] == 6 && in[6] == 8 && in[1] == 0);
}

/* Requests are complete when their calls return. */
static void operate_with_requests(MPI_Request *requests)
{
    static long in, out = 3;

    MPI_Rput(&out, 1, MPI_LONG, target, 20, 1, MPI_LONG, win, &requests[0]);
    MPI_Raccumulate(&out, 1, MPI_LONG, target, 20, 1, MPI_LONG, MPI_PROD, win,
                    &requests[1]);
    MPI_Rget(&in, 1, MPI_LONG, target, 20, 1, MPI_LONG, win, &requests[2]);
    CHECK(in == 9);
}

struct work {
    MPI_Datatype every_second;
    MPI_Request requests[3];
    int failures;
};

static void *operate_in_epoch(void *arg)
{
    struct work *w = arg;

    operate_once();
    operate_on_vectors(w->every_second);
    operate_with_requests(w->requests);
    CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_local_all(win) == MPI_SUCCESS);
    w->failures = job_failures;
    return NULL;
}

static void *operate_in_locks(void *arg)
{
    struct work *w = arg;
    const int types[] = {MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE};

    for (int i = 0; i < 2; i++) {
        MPI_Win_lock(types[i], target, 0, win);
        operate_once();
        MPI_Win_unlock(target, win);
    }
    MPI_Win_lock_all(0, win);
    operate_once();
    MPI_Win_unlock_all(win);
    w->failures = job_failures;
    return NULL;
}

/* Runs the work in a thread while this one is inside the section. */
static void run_beside(void *(*work)(void *), struct work *w)
{
    struct wf_instance *wf = wf_win_engine((const struct wf_win *)win);
    struct timespec end;
    pthread_t thread;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += LIMIT_S;
    pthread_create(&thread, NULL, work, w);
    wf_enter_api(wf);
    CHECK(wf->api.on);
    if (pthread_timedjoin_np(thread, NULL, &end) != 0) {
        fprintf(stderr, "a call on mapped memory waits for the section\n");
        exit(1);
    }
    wf_leave_api(wf);
    CHECK(w->failures == 0);
}

int main(int argc, char **argv)
{
    struct work w = {.failures = 1};
    int level;
    long *base;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    target = size_of(MPI_COMM_WORLD) - 1;
    MPI_Type_vector(4, 1, 2, MPI_LONG, &w.every_second);
    MPI_Type_commit(&w.every_second);
    MPI_Win_allocate(WORDS * sizeof *base, sizeof *base, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &win);
    memset(base, 0, WORDS * sizeof *base);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0) {
        /* the first call on a member makes its state, inside */
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Win_unlock(target, win);
        MPI_Win_lock_all(0, win);
        run_beside(operate_in_epoch, &w);
        MPI_Waitall(3, w.requests, MPI_STATUSES_IGNORE);
        MPI_Win_unlock_all(win);
        run_beside(operate_in_locks, &w);
    }
    MPI_Type_free(&w.every_second);
    MPI_Win_free(&win);
    return job_end();
}
