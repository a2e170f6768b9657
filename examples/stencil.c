/* One-sided communication: a ring of cells is smoothed, and in each step every
 * process puts its two outer cells into the memory of its neighbours.
 *
 *      | halo | 0 1 2 ... n-1 | halo |      what a process stores
 *          ^    |           |    ^
 *   put ---'    `-> left    `-> right
 *
 * A fence ends the puts of all processes before any of them reads its halo, and
 * a second one their reading before the next puts. The mean of all cells never
 * changes, which is checked at the end.
 *
 *   mpicc stencil.c -o stencil -lm && mpirun -n 4 ./stencil
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1000 /* of a process */, STEPS = 500 };

static double smooth_cells(double *now, double *next)
{
    double sum = 0;

    for (int i = 1; i <= CELLS; i++) {
        next[i] = 0.25 * now[i - 1] + 0.5 * now[i] + 0.25 * now[i + 1];
        sum += next[i];
    }
    for (int i = 1; i <= CELLS; i++)
        now[i] = next[i];
    return sum;
}

int main(int argc, char **argv)
{
    double *cells, next[CELLS + 2], mine = 0, before, after;
    int rank, size, left, right;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;

    MPI_Win_allocate((CELLS + 2) * sizeof *cells, sizeof *cells, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &cells, &win);
    for (int i = 1; i <= CELLS; i++)
        mine += cells[i] = rank == 0 && i < 100 ? 1000 : i % 10;
    MPI_Allreduce(&mine, &before, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    for (int step = 0; step < STEPS; step++) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        MPI_Put(&cells[1], 1, MPI_DOUBLE, left, CELLS + 1, 1, MPI_DOUBLE, win);
        MPI_Put(&cells[CELLS], 1, MPI_DOUBLE, right, 0, 1, MPI_DOUBLE, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        mine = smooth_cells(cells, next);
    }

    MPI_Allreduce(&mine, &after, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Win_free(&win);
    if (rank == 0)
        printf("stencil: the mean of %d cells was %.6f and is %.6f\n",
               CELLS * size, before / (CELLS * size), after / (CELLS * size));
    MPI_Finalize();
    return fabs(after - before) > 1e-6 * before;
}
