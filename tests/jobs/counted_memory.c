/* The memory that a window has for a member with which this process has nothing
 * to do: at most 128 bytes. The program counts what is allocated.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../fake/memory_held.h"
#include "check.h"

enum { SILENT_MOST = 128, FEW = 2 };

/* Returns the bytes that a window over the communicator takes: the least of
 * several, because some calls allocate what later ones use. */
static long measure_window(MPI_Comm comm)
{
    static char memory[64];
    long least = -1;

    for (int i = 0; i < 8; i++) {
        MPI_Win win;
        long before, taken;

        MPI_Barrier(comm);
        before = memory_held;
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, comm, &win);
        taken = memory_held - before;
        least = least < 0 || taken < least ? taken : least;
        MPI_Win_free(&win);
    }
    return least;
}

int main(int argc, char **argv)
{
    MPI_Comm few;
    int rank, size;

    job_begin(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank / FEW, rank, &few);
    long all = measure_window(MPI_COMM_WORLD);
    long some = measure_window(few);
    long each = (all - some) / (size - size_of(few));
    if (rank == 0)
        printf("%ld bytes for %d members, %ld for %d: %ld each\n", all, size,
               some, size_of(few), each);
    CHECK(all > 0 && some > 0 && each <= SILENT_MOST);
    MPI_Comm_free(&few);
    return job_end();
}
