/* A program's own MPI_Send wins over the library's weak one and reaches the
 * library through PMPI_Send (MPI-5.0 s15.2).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>

static int calls;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest,
             int tag, MPI_Comm comm)
{
    calls++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int main(int argc, char **argv)
{
    int out = 42, in = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* the library itself never calls the interposed name */
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 6, &in, 1, MPI_INT, 0, 6, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (calls != 1 || in != 42) {
        printf("MPI_Send was seen %d times, not once; received %d, not 42\n",
               calls, in);
        return 1;
    }
    return 0;
}
