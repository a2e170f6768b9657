/* Rank 1 locks memory of rank 0 and dies; rank 2 waits for that lock. By
 * messages it gets the lock, with the news; a lock in shared memory is lost,
 * and it gets the news alone, as often as it asks. Operations on the dead rank
 * end. Each survivor prints what it has found.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <signal.h>
#include <unistd.h>

enum { TARGET, HOLDER, WAITER };

static void hold_and_die(MPI_Win win)
{
    long value = 7;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win);
    MPI_Put(&value, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, win);
    MPI_Win_flush(TARGET, win);
    MPI_Send(&value, 1, MPI_LONG, WAITER, 0, MPI_COMM_WORLD);
    raise(SIGKILL);
}

/* Is the memory of all members mapped, so that locks are words in it? */
static int has_lock_words(MPI_Win win)
{
    MPI_Aint bytes;
    int unit, all = 1;
    void *base;

    for (int r = TARGET; r <= WAITER; r++) {
        MPI_Win_shared_query(win, r, &bytes, &unit, &base);
        all &= base != NULL;
    }
    return all;
}

/* The lock is lost. */
static void find_lock_lost(MPI_Win win)
{
    long one = 1, old = -1;

    for (int i = 0; i < 3; i++)
        CHECK(class_of(MPI_Win_lock(i == 1 ? MPI_LOCK_SHARED
                                           : MPI_LOCK_EXCLUSIVE,
                                    TARGET, 0, win)) == MPI_ERR_PROC_ABORTED);
    CHECK(class_of(MPI_Win_unlock(TARGET, win)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_lock_all(0, win)) == MPI_ERR_PROC_ABORTED);
    /* its memory is as it was, for whoever needs no lock */
    CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win) == MPI_SUCCESS);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, TARGET, 0, MPI_SUM, win);
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    CHECK(old == 7);
}

static void find_lock_inherited(MPI_Win win)
{
    long value = 0;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win);
    MPI_Get(&value, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, win);
    CHECK(class_of(MPI_Win_unlock(TARGET, win)) == MPI_ERR_PROC_ABORTED);
    CHECK(value == 7);
    /* the lock is whole again */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, win);
    value = 8;
    MPI_Put(&value, 1, MPI_LONG, TARGET, 0, 1, MPI_LONG, win);
    CHECK(MPI_Win_unlock(TARGET, win) == MPI_SUCCESS);
}

/* Writes to the memory of the rank that has died. */
static int put_to_holder(MPI_Win win, long value)
{
    int rc = MPI_Win_lock(MPI_LOCK_SHARED, HOLDER, 0, win);

    if (rc == MPI_SUCCESS)
        rc = MPI_Put(&value, 1, MPI_LONG, HOLDER, 0, 1, MPI_LONG, win);
    return rc == MPI_SUCCESS ? MPI_Win_unlock(HOLDER, win) : rc;
}

static void wait_for_lock(MPI_Win win)
{
    long value = 0;

    MPI_Recv(&value, 1, MPI_LONG, HOLDER, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (has_lock_words(win))
        find_lock_lost(win);
    else
        find_lock_inherited(win);
    value = 8;
    /* Its memory can be written until the news of its death has come, if it is
     * mapped; an operation never waits for it. */
    int rc = put_to_holder(win, value);
    while (rc == MPI_SUCCESS && has_lock_words(win))
        rc = put_to_holder(win, value);
    CHECK(class_of(rc) == MPI_ERR_PROC_ABORTED);
    MPI_Send(&value, 1, MPI_LONG, TARGET, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_LONG, TARGET, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    long *base, value = 0;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == HOLDER)
        hold_and_die(win);
    if (rank == WAITER)
        wait_for_lock(win);
    if (rank == TARGET) {
        CHECK(MPI_Recv(&value, 1, MPI_LONG, WAITER, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value == 8 && *base == 8);
        MPI_Ssend(&value, 1, MPI_LONG, WAITER, 0, MPI_COMM_WORLD);
    }
    CHECK(class_of(MPI_Win_fence(0, win)) == MPI_ERR_PROC_ABORTED);
    printf("%s\n", job_failures ? "wrong" : "ended");
    fflush(stdout);
    _exit(0); /* a job with a dead rank does not finalise */
}
