/* Rank 1 calls MPI_Win_post for rank 0, for which it has called MPI_Win_start,
 * and dies. Rank 0 waits for its MPI_Win_complete, and rank 2 for its
 * MPI_Win_post: both learn that it is gone. Each survivor prints what it has
 * found.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <signal.h>
#include <unistd.h>

enum { TARGET, LOST, ORIGIN };

static MPI_Group everybody;

static MPI_Group group_of(int member)
{
    MPI_Group g;

    MPI_Group_incl(everybody, 1, &member, &g);
    return g;
}

int main(int argc, char **argv)
{
    MPI_Group target, lost;
    MPI_Win win;
    long *base, value = 1;
    int rank, rc = MPI_SUCCESS, by_operation = argc > 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    target = group_of(TARGET);
    lost = group_of(LOST);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == LOST) {
        MPI_Win_post(target, 0, win);
        MPI_Win_start(target, 0, win);
        raise(SIGKILL);
    }
    if (rank == TARGET) {
        CHECK(MPI_Win_post(lost, 0, win) == MPI_SUCCESS);
        rc = MPI_Win_wait(win);
    }
    if (rank == ORIGIN) {
        rc = MPI_Win_start(lost, 0, win);
        if (rc == MPI_SUCCESS && by_operation)
            rc = MPI_Put(&value, 1, MPI_LONG, LOST, 0, 1, MPI_LONG, win);
        if (rc == MPI_SUCCESS)
            rc = MPI_Win_complete(win);
    }
    CHECK(class_of(rc) == MPI_ERR_PROC_ABORTED);
    printf("%s\n", job_failures ? "wrong" : "ended");
    fflush(stdout);
    _exit(0); /* a job with a dead rank does not finalise */
}
