/* Collectives beside point-to-point traffic of the same communicator: receives
 * from anybody with any tag are posted and messages that nobody has asked for
 * are stored while blocking collectives run. Neither may touch the other.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "check.h"

enum { POSTED = 3, EARLY = 3, ROUNDS = 20, TAG = 7, MOST = 3000 };

static int rank, size, right, left;

static void check_collectives(int n, int *out, int *in)
{
    long sum = (long)size * (size - 1) / 2;

    for (int i = 0; i < n; i++)
        out[i] = rank + i;
    MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        CHECK(in[i] == (int)sum + i * size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(in, n, MPI_INT, size - 1, MPI_COMM_WORLD);
    MPI_Scan(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(in[0] == rank * (rank + 1) / 2);
    MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        CHECK(out[i] == size - 1 + i);
}

static void each_gets_from_each(int *out, int *in)
{
    for (int i = 0; i < size; i++)
        out[i] = 100 * rank + i;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(in[i] == 100 * i + rank);
    MPI_Allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        CHECK(in[i] == i);
}

int main(int argc, char **argv)
{
    int *out, *in, got[POSTED], early[EARLY], value, flag;
    MPI_Request posted[POSTED], sent[EARLY];

    job_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    out = calloc((size_t)(MOST + size), sizeof *out);
    in = calloc((size_t)(MOST + size), sizeof *in);
    /* stored: sent before anybody receives, and seen by the barriers */
    for (int i = 0; i < EARLY; i++) {
        early[i] = i;
        MPI_Isend(&early[i], 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &sent[i]);
    }
    for (int r = 0; r < ROUNDS; r++) {
        check_collectives(r % 4 == 3 ? MOST : 1 + r, out, in);
        each_gets_from_each(out, in);
    }
    for (int i = 0; i < EARLY; i++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == i);
    }
    MPI_Waitall(EARLY, sent, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < POSTED; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? left : MPI_ANY_SOURCE,
                  MPI_ANY_TAG, MPI_COMM_WORLD, &posted[i]);
    for (int r = 0; r < ROUNDS; r++) {
        check_collectives(r % 4 == 3 ? MOST : 1 + r, out, in);
        each_gets_from_each(out, in);
        if (r == ROUNDS - 1)
            break; /* whoever is done sends what is to be received */
        MPI_Testany(POSTED, posted, &value, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    for (int i = 0; i < POSTED; i++)
        MPI_Send(&i, 1, MPI_INT, right, TAG + i, MPI_COMM_WORLD);
    MPI_Waitall(POSTED, posted, MPI_STATUSES_IGNORE);
    for (int i = 0; i < POSTED; i++)
        CHECK(got[i] == i);
    free(out);
    free(in);
    return job_end();
}
