/* Two ranks exchange numbered messages, small and large, until the input of
 * rank 0 ends, at least LEAST times; it says how long the longest exchange
 * took. Nothing may be lost, doubled or altered.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <poll.h>
#include <stdio.h>

enum { WORDS = 40000, LEAST = 200 };

static long out[WORDS], in[WORDS];

static void fill_buffer(long *words, int n, long number)
{
    for (int i = 0; i < n; i++)
        words[i] = number * 1000003 + i;
}

static void check_result(const long *words, int n, long number)
{
    for (int i = 0; i < n; i++)
        if (words[i] != number * 1000003 + i) {
            printf("word %d of exchange %ld is wrong\n", i, number);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

int main(int argc, char **argv)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    double longest = 0;
    int rank, go = 1;
    long number;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fprintf(stderr, "begun\n");
    for (number = 0; go; number++) {
        int n = number % 16 ? 1 + (int)(number % 50) : WORDS;
        double since = MPI_Wtime();
        fill_buffer(out, n, number + rank);
        MPI_Sendrecv(out, n, MPI_LONG, !rank, 1, in, n, MPI_LONG, !rank, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_result(in, n, number + !rank);
        go = rank != 0 || number < LEAST || poll(&input, 1, 0) == 0;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (MPI_Wtime() - since > longest)
            longest = MPI_Wtime() - since;
    }
    if (rank == 0)
        printf("exchanges=%ld longest_ms=%.0f\n", number, longest * 1e3);
    MPI_Finalize();
    return 0;
}
