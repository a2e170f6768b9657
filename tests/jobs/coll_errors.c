/* Wrong arguments of collectives give the right error class, on the handler
 * of the communicator, and leave the communicator usable.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static int class_of(int code)
{
    int c;
    MPI_Error_class(code, &c);
    return c;
}

int main(int argc, char **argv)
{
    int a[8] = {0}, b[64] = {0}, size, one[64];
    double d = 0, e;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    size = size_of(MPI_COMM_WORLD);
    for (int i = 0; i < 64; i++)
        one[i] = i == 1 ? -1 : 1;

    CHECK(class_of(MPI_Bcast(a, 1, MPI_INT, size, MPI_COMM_WORLD)) ==
          MPI_ERR_ROOT);
    CHECK(class_of(MPI_Bcast(a, 1, MPI_INT, -1, MPI_COMM_WORLD)) ==
          MPI_ERR_ROOT);
    CHECK(class_of(MPI_Bcast(a, -1, MPI_INT, 0, MPI_COMM_WORLD)) ==
          MPI_ERR_COUNT);
    CHECK(class_of(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)) ==
          MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Allgather(b, 1, MPI_INT, b, 1, MPI_INT,
                                 MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM,
                                 MPI_COMM_WORLD)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Allreduce(&d, &e, 1, MPI_DOUBLE, MPI_BAND,
                                 MPI_COMM_WORLD)) == MPI_ERR_OP);
    if (size > 1 && size <= 64)
        CHECK(class_of(MPI_Reduce_scatter(b, a, one, MPI_INT, MPI_SUM,
                                          MPI_COMM_WORLD)) == MPI_ERR_COUNT);
    /* no alias: nothing is sent */
    CHECK(MPI_Allreduce(a, a, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    check_talks(MPI_COMM_WORLD);

    /* rank 1 expects less than rank 0 sends */
    if (size > 1) {
        int rank = rank_in(MPI_COMM_WORLD);
        int rc = MPI_Bcast(a, rank == 1 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
        CHECK(class_of(rc) == (rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return job_end();
}
