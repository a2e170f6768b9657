/* Two ranks exchange a message each way; a rank that is told of an error prints
 * it and ends without MPI_Finalize, so that it ends nothing for the other one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static void check_result(int rank, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int n;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &n);
    printf("rank %d: %s\n", rank, text);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    int rank, x = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1)
        check_result(rank, MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD));
    check_result(rank, MPI_Recv(&x, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE));
    if (rank == 0)
        check_result(rank, MPI_Send(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
    printf("rank %d: exchanged\n", rank);
    MPI_Finalize();
    return 0;
}
