/* Shared memory: a ring of cells is smoothed, and every process reads the outer
 * cells of its neighbours where they lie, in the memory of one window.
 *
 *      | left neighbour's cells | own cells | right neighbour's cells |
 *                             ^               ^
 *                             '--- loads -----'
 *
 * There are two rows, read and written in turn. A barrier between two steps
 * ends the stores of all before any of them reads, and MPI_Win_sync on both
 * sides of it makes them visible. The mean of all cells never changes, which is
 * checked at the end. Processes of several nodes share no memory: each node has
 * a ring of its own. With puts and fences: stencil.c.
 *
 *   mpicc stencil_shared.c -o shared -lm && mpirun -n 4 ./shared
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { CELLS = 1000 /* of a process */, STEPS = 500 };

/* The two rows of a process. */
static double (*rows_of(int rank, MPI_Win win))[CELLS]
{
    MPI_Aint bytes;
    int unit;
    void *base;

    MPI_Win_shared_query(win, rank, &bytes, &unit, &base);
    return base;
}

static double smooth_cells(const double *now, double *next, double left,
                           double right)
{
    double sum = 0;

    for (int i = 0; i < CELLS; i++) {
        double before = i > 0 ? now[i - 1] : left;
        double after = i < CELLS - 1 ? now[i + 1] : right;

        next[i] = 0.25 * before + 0.5 * now[i] + 0.25 * after;
        sum += next[i];
    }
    return sum;
}

/* Has the stores of all seen by all. */
static void meet_others(MPI_Comm node, MPI_Win win)
{
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
}

int main(int argc, char **argv)
{
    double(*left)[CELLS], (*mine)[CELLS], (*right)[CELLS];
    double sum = 0, before, after;
    int rank, size;
    MPI_Comm node;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI_Win_allocate_shared(2 * sizeof *mine, sizeof(double), MPI_INFO_NULL,
                            node, &mine, &win);
    left = rows_of((rank + size - 1) % size, win);
    right = rows_of((rank + 1) % size, win);

    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < CELLS; i++)
        sum += mine[0][i] = rank == 0 && i < 100 ? 1000 : i % 10;
    MPI_Allreduce(&sum, &before, 1, MPI_DOUBLE, MPI_SUM, node);
    for (int step = 0; step < STEPS; step++) {
        int now = step % 2;

        meet_others(node, win);
        sum = smooth_cells(mine[now], mine[!now], left[now][CELLS - 1],
                           right[now][0]);
    }
    MPI_Allreduce(&sum, &after, 1, MPI_DOUBLE, MPI_SUM, node);
    MPI_Win_unlock_all(win);

    if (rank == 0)
        printf("stencil: the mean of %d cells was %.6f and is %.6f\n",
               CELLS * size, before / (CELLS * size), after / (CELLS * size));
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return fabs(after - before) > 1e-6 * before;
}
