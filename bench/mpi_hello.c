/* This smallest MPI program measures start-up time and the size of files.
 * raw_hello.c is the same without MPI.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        puts("hello");
    MPI_Finalize();
    return 0;
}
