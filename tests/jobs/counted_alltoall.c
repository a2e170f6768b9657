/* The memory that an exchange of short blocks takes among many ranks that are
 * threads of one process: no connection for each pair. The program counts what
 * is allocated.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
/* Larger blocks are for all peers of a rank together. */
#define MEMORY_HELD_BELOW (16 << 10)
#include "../fake/memory_held.h"
#include "check.h"

enum { PAIR_MOST = 256 /* bytes */ };

int main(int argc, char **argv)
{
    MPI_Request request;
    int *from, *to, size;
    long before, taken;

    job_begin(&argc, &argv);
    size = size_of(MPI_COMM_WORLD);
    from = calloc((size_t)size, sizeof *from);
    to = calloc((size_t)size, sizeof *to);
    for (int i = 0; i < 8; i++) /* they learn whether they share CPUs */
        MPI_Barrier(MPI_COMM_WORLD);
    before = memory_held;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ialltoall(from, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    taken = (memory_held - before) / size / size;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0)
        printf("%ld bytes for each pair of %d ranks\n", taken, size);
    CHECK(taken <= PAIR_MOST);
    free(from);
    free(to);
    return job_end();
}
