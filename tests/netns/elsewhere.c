/* A rank of another host.
 *
 *   netns_elsewhere name    each says where it is
 *   netns_elsewhere die     rank 1 is killed while the others wait for it
 *   netns_elsewhere abort   rank 1 calls MPI_Abort meanwhile, with code 7
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void say_name(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int len;

    MPI_Get_processor_name(name, &len);
    printf("%s\n", name);
    fflush(stdout);
}

static void lose_one(int rank, int aborts)
{
    int value = 0;

    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && aborts)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1)
        raise(SIGKILL);
    MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && strcmp(argv[1], "name") != 0)
        lose_one(rank, strcmp(argv[1], "abort") == 0);
    else
        say_name();
    MPI_Finalize();
    return 0;
}
