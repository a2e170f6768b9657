/* Nonblocking and persistent collectives: many under way at once, waited for
 * in any order, beside point-to-point traffic, with types and operations that
 * are freed before the end.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

enum { MANY = 20, LENGTH = 3000 };

static int rank, size;

static void many_at_once(void)
{
    static int in[MANY][LENGTH], out[MANY][LENGTH];
    MPI_Request q[MANY];

    for (int k = 0; k < MANY; k++) {
        for (int i = 0; i < LENGTH; i++)
            in[k][i] = rank + k * i;
        MPI_Iallreduce(in[k], out[k], k % 2 ? LENGTH : 2, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD, &q[k]);
    }
    for (int k = MANY - 1; k >= 0; k--) {
        MPI_Wait(&q[k], MPI_STATUS_IGNORE);
        CHECK(q[k] == MPI_REQUEST_NULL);
        CHECK(out[k][1] == size * (size - 1) / 2 + size * k);
    }
}

static void beside_messages(void)
{
    int token = rank, got = -1, sum = 0, done = 0;
    MPI_Request q[3];

    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
              &q[0]);
    MPI_Iallreduce(&token, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[1]);
    MPI_Isend(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &q[2]);
    while (!done)
        MPI_Testall(3, q, &done, MPI_STATUSES_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    CHECK(sum == size * (size - 1) / 2);
}

static void keep_first(void *in, void *inout, int *n, MPI_Datatype *type)
{
    memcpy(inout, in, (size_t)*n * 2 * sizeof(int));
}

static void freed_early(void)
{
    int in[2] = {rank + 10, -rank}, out[2] = {0, 0};
    MPI_Datatype pair;
    MPI_Request q;
    MPI_Op op;

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(keep_first, 0, &op);
    MPI_Iallreduce(in, out, 1, pair, op, MPI_COMM_WORLD, &q);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    CHECK(out[0] == 10 && out[1] == 0); /* of rank 0 */
}

static void again_and_again(void)
{
    MPI_Request q[2];
    int value = 0, sum = 0;

    MPI_Bcast_init(&value, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &q[0]);
    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &q[1]);
    for (int i = 0; i < 50; i++) {
        value = rank == size - 1 ? i : -1;
        sum = 0;
        MPI_Startall(2, q);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        CHECK(value == i);
        CHECK(sum == size * (size - 1) / 2);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

static void barrier_waits_for_all(void)
{
    int done = 0, go = 0;
    MPI_Request q;

    if (size == 1)
        return;
    if (rank == 0) { /* nobody may be through before rank 0 enters */
        for (int i = 1; i < size; i++)
            MPI_Recv(&done, 1, MPI_INT, i, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &q);
    } else {
        MPI_Ibarrier(MPI_COMM_WORLD, &q);
        for (int i = 0; i < 100; i++) {
            MPI_Test(&q, &go, MPI_STATUS_IGNORE);
            CHECK(!go);
        }
        MPI_Send(&done, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    many_at_once();
    beside_messages();
    freed_early();
    again_and_again();
    barrier_waits_for_all();
    return job_end();
}
