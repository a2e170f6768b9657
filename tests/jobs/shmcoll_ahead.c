/* A member that only contributes may be as many calls ahead of those who read
 * as it has lines, with more bytes than a line holds, too. Where ranks share a
 * CPU it has 128.
 *
 * Readers begin when contributors have made all their calls but one more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { CALLS = 100, BYTES = 64, RANKS_MOST = 16 };

static unsigned char in[BYTES], out[RANKS_MOST * BYTES];
static int counts[RANKS_MOST], displs[RANKS_MOST];

static void gather_equal(void)
{
    MPI_Gather(in, BYTES, MPI_BYTE, out, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void gather_varied(void)
{
    MPI_Gatherv(in, BYTES, MPI_BYTE, out, counts, displs, MPI_BYTE, 0,
                MPI_COMM_WORLD);
}

static void reduce_bytes(void)
{
    MPI_Reduce(in, out, BYTES, MPI_UNSIGNED_CHAR, MPI_MAX, 0, MPI_COMM_WORLD);
}

/* Makes the calls; the root's begin after those of the others. */
static void run_ahead(void (*call)(void))
{
    int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), i;

    call(); /* in which the segment may be set up */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 1; rank == 0 && r < size; r++)
        MPI_Recv(&i, 1, MPI_INT, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (i = 0; i < CALLS; i++) {
        memset(in, i, sizeof in);
        call();
        CHECK(rank || (out[0] == i && out[BYTES - 1] == i));
    }
    if (rank)
        MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int r = 0; r < size_of(MPI_COMM_WORLD); r++) {
        counts[r] = BYTES;
        displs[r] = r * BYTES;
    }
    for (int i = 0; i < 10; i++) /* until there is a segment */
        MPI_Barrier(MPI_COMM_WORLD);
    run_ahead(gather_equal);
    run_ahead(gather_varied);
    run_ahead(reduce_bytes);
    return job_end();
}
