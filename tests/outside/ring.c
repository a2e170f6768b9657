/* A job for a transport under test: everybody to everybody, many sizes, and
 * wildcards. SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char byte_of(int from, int n, int i)
{
    return (unsigned char)(from * 31 + n * 7 + i);
}

static int is_wrong(const unsigned char *b, int from, int n)
{
    for (int i = 0; i < n; i++)
        if (b[i] != byte_of(from, n, i))
            return 1;
    return 0;
}

static int round_of(int rank, int size, int n)
{
    unsigned char *out = malloc((size_t)n + 1), *in = malloc((size_t)n + 1);
    MPI_Status status;
    int bad = 0;

    for (int i = 0; i < n; i++)
        out[i] = byte_of(rank, n, i);
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        MPI_Sendrecv(out, n, MPI_BYTE, to, n, in, n, MPI_BYTE,
                     step & 1 ? from : MPI_ANY_SOURCE, n, MPI_COMM_WORLD,
                     &status);
        bad += is_wrong(in, status.MPI_SOURCE, n);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(out);
    free(in);
    return bad;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 24, 1000, 65536, 65537, 3000000};
    int rank, size, bad = 0, all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 7; i++)
        bad += round_of(rank, size, sizes[i]);
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d of %d ranks wrong\n", all, size);
    MPI_Finalize();
    return all != 0;
}
