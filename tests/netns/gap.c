/* Two ranks exchange numbered messages, small and large, for SECONDS; rank 0
 * says how long the longest exchange took. Nothing may be lost, doubled or
 * altered.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 40000 };

static long out[WORDS], in[WORDS];

static void fill(long *words, int n, long number)
{
    for (int i = 0; i < n; i++)
        words[i] = number * 1000003 + i;
}

static void check(const long *words, int n, long number)
{
    for (int i = 0; i < n; i++)
        if (words[i] != number * 1000003 + i) {
            printf("word %d of exchange %ld is wrong\n", i, number);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1, begin, longest = 0;
    int rank, go = 1;
    long number;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (number = 0; go; number++) {
        int n = number % 16 ? 1 + (int)(number % 50) : WORDS;
        double since = MPI_Wtime();
        fill(out, n, number + rank);
        MPI_Sendrecv(out, n, MPI_LONG, !rank, 1, in, n, MPI_LONG, !rank, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(in, n, number + !rank);
        go = MPI_Wtime() - begin < seconds;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (MPI_Wtime() - since > longest)
            longest = MPI_Wtime() - since;
    }
    if (rank == 0)
        printf("exchanges=%ld longest_ms=%.0f\n", number, longest * 1e3);
    MPI_Finalize();
    return 0;
}
