/* For the tests with two network namespaces: the ranks talk, each says so and
 * waits for the end of its standard input, so that somebody can look at its
 * sockets; then they talk again, about more bytes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>

enum { MANY = 300000 };

static int right_sums(int n)
{
    static int in[MANY], out[MANY];
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < n; i++)
        in[i] = rank + i;
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        if (out[i] != size * (size - 1) / 2 + size * i)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    int right;

    MPI_Init(&argc, &argv);
    right = right_sums(1);
    printf("talking\n");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    right = right_sums(MANY) && right;
    printf(right ? "fine\n" : "wrong\n");
    MPI_Finalize();
    return !right;
}
