/* Each rank sends every other one a small message and a large one, and says
 * that all came.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 8, LARGE = 1 << 20 };

/* Exchange n bytes with one rank; returns whether the right ones came. */
static int exchange_bytes(char *out, char *in, int n, int me, int with)
{
    memset(out, 1 + me, (size_t)n);
    memset(in, 0, (size_t)n);
    MPI_Sendrecv(out, n, MPI_BYTE, with, n, in, n, MPI_BYTE, with, n,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return in[0] == 1 + with && memcmp(in, in + 1, (size_t)n - 1) == 0;
}

int main(int argc, char **argv)
{
    char *out = malloc(LARGE), *in = malloc(LARGE);
    int me, size, right = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < size; round++) {
        int with = (round + size - me) % size;
        if (with != me)
            right = exchange_bytes(out, in, SMALL, me, with) &&
                    exchange_bytes(out, in, LARGE, me, with) && right;
    }
    printf(right ? "fine\n" : "wrong\n");
    MPI_Finalize();
    free(out);
    free(in);
    return !right;
}
