/* Wrong arguments of collectives give the right error class, on the handler
 * of the communicator, and leave the communicator usable.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

static int is_mismatch(int code)
{
    int c = class_of(code);
    return c == MPI_ERR_COUNT || c == MPI_ERR_TRUNCATE;
}

/* Of a broadcast every receiver knows; of a reduction the root, whoever
 * differs; of the rest those who get what they do not expect. All come back,
 * and the communicator is as good as before. */
static void different_counts_are_found_and_nobody_hangs(int rank, int size)
{
    int in[64] = {0}, out[4] = {0}, rc;
    MPI_Request r;

    rc = MPI_Bcast(in, rank == 0 ? 2 : 3, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(rank == 0 ? rc == MPI_SUCCESS : is_mismatch(rc));
    check_talks(MPI_COMM_WORLD);
    rc = MPI_Bcast(in, rank == 1 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(rank == 1 ? class_of(rc) == MPI_ERR_TRUNCATE
                    : rc == MPI_SUCCESS || is_mismatch(rc));
    check_talks(MPI_COMM_WORLD);
    rc = MPI_Reduce(out, in, rank == size - 1 ? 1 : 2, MPI_INT, MPI_SUM, 0,
                    MPI_COMM_WORLD);
    CHECK(rank == 0 ? is_mismatch(rc) : rc == MPI_SUCCESS || is_mismatch(rc));
    check_talks(MPI_COMM_WORLD);
    MPI_Ibcast(in, rank == 0 ? 2 : 3, MPI_INT, 0, MPI_COMM_WORLD, &r);
    rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(rank == 0 ? rc == MPI_SUCCESS : is_mismatch(rc));
    rc = MPI_Allgather(out, rank == 0 ? 2 : 1, MPI_INT, in, 1, MPI_INT,
                       MPI_COMM_WORLD);
    CHECK(is_mismatch(rc));
    rc = MPI_Allgather(out, rank == 0 ? 1 : 2, MPI_INT, in, 2, MPI_INT,
                       MPI_COMM_WORLD);
    CHECK(is_mismatch(rc));
    rc = MPI_Allreduce(out, in, rank == 0 ? 1 : 2, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD);
    CHECK(rc == MPI_SUCCESS || is_mismatch(rc));
    check_talks(MPI_COMM_WORLD);
}

#define NO_BUFFER(call) CHECK(class_of(call) == MPI_ERR_BUFFER)

/* NULL holds no elements, in whichever block they are; of none, it is a buffer
 * like any other. */
static void null_is_no_buffer_for_blocks_with_elements(int rank, int size)
{
    static int data[64], counts[64], zeros[64], displs[64];
    MPI_Datatype types[64];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request r;

    for (int i = 0; i < size; i++) {
        counts[i] = i == size - 1; /* one element, in the last block */
        types[i] = MPI_INT;
    }
    NO_BUFFER(MPI_Allgatherv(data, 0, MPI_INT, NULL, counts, displs, MPI_INT,
                             world));
    NO_BUFFER(MPI_Alltoallv(NULL, counts, displs, MPI_INT, data, counts,
                            displs, MPI_INT, world));
    NO_BUFFER(MPI_Alltoallv(data, counts, displs, MPI_INT, NULL, counts,
                            displs, MPI_INT, world));
    NO_BUFFER(MPI_Ialltoallw(NULL, counts, displs, types, data, counts, displs,
                             types, world, &r));
    NO_BUFFER(MPI_Alltoallw(data, counts, displs, types, NULL, counts, displs,
                            types, world));
    NO_BUFFER(MPI_Reduce_scatter(NULL, data, counts, MPI_INT, MPI_SUM, world));
    if (rank == 0) {
        NO_BUFFER(MPI_Gatherv(data, 0, MPI_INT, NULL, counts, displs, MPI_INT,
                              0, world));
        NO_BUFFER(MPI_Scatterv(NULL, counts, displs, MPI_INT, data, 0, MPI_INT,
                               0, world));
    }
    CHECK(MPI_Alltoallv(NULL, zeros, displs, MPI_INT, NULL, zeros, displs,
                        MPI_INT, world) == MPI_SUCCESS);
    CHECK(MPI_Alltoallw(NULL, zeros, displs, types, NULL, zeros, displs, types,
                        world) == MPI_SUCCESS);
    CHECK(MPI_Reduce_scatter(data, rank == size - 1 ? data + 1 : NULL, counts,
                             MPI_INT, MPI_SUM, world) == MPI_SUCCESS);
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

    null_is_no_buffer_for_blocks_with_elements(rank_in(MPI_COMM_WORLD), size);
    if (size > 1)
        different_counts_are_found_and_nobody_hangs(rank_in(MPI_COMM_WORLD),
                                                    size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return job_end();
}
