/* Collectives of several threads at once, each on its own communicator, with
 * an operation that calls MPI: it must run outside the library's lock.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>

#include "check.h"

enum { THREADS = 3, ROUNDS = 200 };

static MPI_Comm comms[THREADS];
static int wrong[THREADS];

static void add_item(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int *a = in, *b = inout, bytes;

    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *n * bytes / (int)sizeof(int); i++)
        b[i] += a[i];
}

static void *do_work(void *arg)
{
    int k = *(int *)arg, n = size_of(comms[k]), r = rank_in(comms[k]);
    int in[64], out[64], later[64];
    MPI_Request q;
    MPI_Op op;

    MPI_Op_create(add_item, 0, &op);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 64; i++)
            in[i] = r + i + round;
        MPI_Iallreduce(in, later, 64, MPI_INT, op, comms[k], &q);
        MPI_Allreduce(in, out, 64, MPI_INT, op, comms[k]);
        MPI_Barrier(comms[k]);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int i = 0; i < 64; i++) {
            wrong[k] += out[i] != n * (n - 1) / 2 + n * (i + round);
            wrong[k] += later[i] != out[i];
        }
    }
    MPI_Op_free(&op);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int level, number[THREADS];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level == MPI_THREAD_MULTIPLE) {
        for (int k = 0; k < THREADS; k++)
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[k]);
        for (int k = 0; k < THREADS; k++) {
            number[k] = k;
            pthread_create(&thread[k], NULL, do_work, &number[k]);
        }
        for (int k = 0; k < THREADS; k++) {
            pthread_join(thread[k], NULL);
            CHECK(wrong[k] == 0);
            MPI_Comm_free(&comms[k]);
        }
    }
    return job_end();
}
