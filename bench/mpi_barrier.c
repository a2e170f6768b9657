/* MPI_Barrier, usually with more ranks than CPUs.
 *
 *   mpi_barrier MILLISECONDS
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <mpi.h>

enum { BATCHES = 20 };

static double barriers(int n)
{
    double start = now_us();

    for (int i = 0; i < n; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return (now_us() - start) / n;
}

int main(int argc, char **argv)
{
    double limit = argc > 1 ? atof(argv[1]) * 1e3 : 2e5, once, v[BATCHES];
    int rank, size, n;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bind_rank(rank);
    barriers(2);
    once = barriers(3);
    n = (int)(limit / BATCHES / once);
    n = n < 1 ? 1 : n;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < BATCHES; i++)
        v[i] = barriers(n);
    if (rank == 0)
        print_times("barrier_us", size, v, BATCHES);
    MPI_Finalize();
    return 0;
}
