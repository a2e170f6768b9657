/* A collective call that one process gets wrong did not happen there: its next
 * one meets the call that the others made. Buffers that are the same memory
 * are such an error (MPI-5.0 s6.2.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { ROUNDS = 5 };

static void reduce_again(int round)
{
    int r = rank_in(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    int mine = r + round, all = -1;
    if (r == 0)
        CHECK(MPI_Reduce(&mine, &mine, 1, MPI_INT, MPI_SUM, 0,
                         MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    if (r == 0)
        CHECK(all == n * (n - 1) / 2 + n * round);
}

static void gather_again(MPI_Request *request)
{
    int r = rank_in(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    int *all = malloc((size_t)n * sizeof *all);
    all[r] = r;
    if (r == n - 1)
        CHECK(MPI_Iallgather(&all[r], 1, MPI_INT, &all[r], 1, MPI_INT,
                             MPI_COMM_WORLD, request) == MPI_ERR_BUFFER);
    CHECK(MPI_Iallgather(&r, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD,
                         request) == MPI_SUCCESS);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == i);
    free(all);
}

/* Every block to itself in one buffer; with MPI_IN_PLACE it is right. */
static void alltoall_again(void)
{
    int n = size_of(MPI_COMM_WORLD), x = 1;
    int *data = calloc((size_t)n, sizeof *data);
    int *counts = malloc((size_t)n * sizeof *counts);
    int *displs = malloc((size_t)n * sizeof *displs);
    MPI_Datatype *types = malloc((size_t)n * sizeof *types);
    for (int i = 0; i < n; i++) {
        counts[i] = 1;
        displs[i] = i;
        types[i] = MPI_INT;
    }
    CHECK(MPI_Alltoallv(data, counts, displs, MPI_INT, data, counts, displs,
                        MPI_INT, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    CHECK(MPI_Alltoallw(data, counts, displs, types, data, counts, displs,
                        types, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    CHECK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, data, counts,
                        displs, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Reduce_local(&x, &x, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_local(&x, &x, 0, MPI_INT, MPI_SUM) == MPI_SUCCESS);
    free(data);
    free(counts);
    free(displs);
    free(types);
}

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROUNDS; i++) {
        reduce_again(i);
        gather_again(&request);
        alltoall_again();
    }
    return job_end();
}
