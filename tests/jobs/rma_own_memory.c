/* A process that operates on its own memory alone, in a loop until another one
 * changes it, serves the others meanwhile.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static void wait_for_change(MPI_Win win, int rank)
{
    long value = 0;

    while (!value) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        MPI_Get(&value, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(rank, win);
    }
    CHECK(value == 5);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    long *base, value = 5;

    job_begin(&argc, &argv);
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 && size > 1)
        wait_for_change(win, rank);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    }
    MPI_Win_free(&win);
    return job_end();
}
