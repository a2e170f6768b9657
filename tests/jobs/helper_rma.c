/* Operations on a process that computes, that is, stays out of MPI: its
 * progress thread performs them (core.progress = thread).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "computing.h"

enum { LARGE = 100000 };

/* Rank 0 operates on rank 1, which computes until that is over. */
static void operate_while_computing(MPI_Win win, int rank)
{
    long one = 1, old = -1, *data = calloc(LARGE, sizeof *data);

    if (rank == 1)
        compute_until_called();
    if (rank != 0) {
        free(data);
        return;
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, win);
    MPI_Win_flush(1, win);
    CHECK(old == 0);
    for (int i = 0; i < LARGE; i++)
        data[i] = i;
    MPI_Put(data, LARGE, MPI_LONG, 1, 1, LARGE, MPI_LONG, win);
    MPI_Win_flush(1, win);
    MPI_Accumulate(data, LARGE, MPI_LONG, 1, 1, LARGE, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(1, win);
    memset(data, 0, LARGE * sizeof *data);
    MPI_Get(data, LARGE, MPI_LONG, 1, 1, LARGE, MPI_LONG, win);
    CHECK(MPI_Win_unlock(1, win) == MPI_SUCCESS);
    CHECK(data[LARGE - 1] == 2 * (LARGE - 1) && data[7] == 14);
    computing_call(1);
    free(data);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    long *base;
    int rank;

    computing_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate((LARGE + 1) * sizeof *base, sizeof *base, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    operate_while_computing(win, rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    return job_end();
}
