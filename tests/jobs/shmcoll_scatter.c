/* A scatter of five ranks that are bound to one CPU goes through shared memory,
 * without a message; one of 8 MB and more by messages, which receivers read.
 *
 * Where receivers may not read (cma = no), a message is bytes that the root
 * sends.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sent.h"

/* Calls until there is a stage, and more of each. */
enum { CALLS = 20, TOTAL = 8 << 20 };

static char blocks[5 * TOTAL / 4], mine[TOTAL / 4];

/* The root sent this in the last of the calls. */
static unsigned long long scatter_often(int bytes)
{
    int rank = rank_in(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    unsigned long long before = 0;

    for (int i = 0; i < CALLS; i++) {
        for (int r = 0; r < n; r++) {
            blocks[r * bytes] = (char)(i + r);
            blocks[(r + 1) * bytes - 1] = (char)(i + 7 * r);
        }
        before = bytes_sent("shm");
        MPI_Scatter(blocks, bytes, MPI_CHAR, mine, bytes, MPI_CHAR, 0,
                    MPI_COMM_WORLD);
        CHECK(mine[0] == (char)(i + rank));
        CHECK(mine[bytes - 1] == (char)(i + 7 * rank));
    }
    return bytes_sent("shm") - before;
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    unsigned long long less = scatter_often(TOTAL / 4 - 1),
                       all = scatter_often(TOTAL / 4);
    if (rank_in(MPI_COMM_WORLD) == 0) {
        CHECK(less == 0);
        CHECK(all == TOTAL);
    }
    return job_end();
}
