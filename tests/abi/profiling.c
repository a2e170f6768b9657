/* A program's own MPI_Send wins over the library's weak one and reaches the
 * library through PMPI_Send (MPI-5.0 s15.2).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <mpi.h>
#include <stdio.h>

static int calls, inits;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest,
             int tag, MPI_Comm comm)
{
    calls++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

/* Tools declare these with an MPI_Count (MPI-5.0 s4.2.1). */
int MPI_Psend_init(const void *buf, int partitions, MPI_Count count,
                   MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                   MPI_Info info, MPI_Request *request)
{
    inits++;
    return PMPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm,
                           info, request);
}

int MPI_Precv_init(void *buf, int partitions, MPI_Count count,
                   MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Info info, MPI_Request *request)
{
    inits++;
    return PMPI_Precv_init(buf, partitions, count, datatype, source, tag, comm,
                           info, request);
}

/* A partitioned operation with itself; what has arrived. */
static int send_in_parts(void)
{
    int out = 43, in = 0;
    MPI_Request r[2];

    MPI_Psend_init(&out, 1, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_INFO_NULL,
                   &r[0]);
    MPI_Precv_init(&in, 1, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_INFO_NULL,
                   &r[1]);
    MPI_Startall(2, r);
    MPI_Pready(0, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    return in;
}

int main(int argc, char **argv)
{
    int out = 42, in = 0, parts;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Irecv(&in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* the library itself never calls the interposed name */
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 6, &in, 1, MPI_INT, 0, 6, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    parts = send_in_parts();
    MPI_Finalize();
    if (inits != 2 || parts != 43) {
        printf("partitioned operations were seen %d times, not twice; received "
               "%d, not 43\n", inits, parts);
        return 1;
    }
    if (calls != 1 || in != 42) {
        printf("MPI_Send was seen %d times, not once; received %d, not 42\n",
               calls, in);
        return 1;
    }
    return 0;
}
