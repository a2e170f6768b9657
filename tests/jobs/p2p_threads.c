/* Threads of one rank wait for one another's messages: what one thread sends
 * to its own rank must wake the thread that sleeps for it, and a thread that
 * polled must not leave the others asleep (MPI-5.0 s11.6).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "numbered_threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mpi.h>

enum { THREADS = 4, ROUNDS = 300 };

static int rank, size;

static void fail_with(const char *what, int value)
{
    fprintf(stderr, "rank %d: %s: %d\n", rank, what, value);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each thread passes a token to the next thread of its own rank. */
static void *own_rank(void *arg)
{
    int me = *(int *)arg, token = -1;

    for (int i = 0; i < ROUNDS; i++) {
        int next = (me + 1) % THREADS;
        if (me == 0) {
            token = i;
            MPI_Send(&token, 1, MPI_INT, rank, next, MPI_COMM_WORLD);
        }
        MPI_Recv(&token, 1, MPI_INT, rank, me, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (token != i)
            fail_with("a token of another round", token);
        if (me != 0)
            MPI_Send(&token, 1, MPI_INT, rank, next, MPI_COMM_WORLD);
    }
    return NULL;
}

/* Each thread plays with the same thread of the neighbour ranks, one in three
 * by probing. */
static void *check_neighbours(void *arg)
{
    int me = *(int *)arg, token = -1;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Status status;

    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        token = i;
        MPI_Isend(&token, 1, MPI_INT, to, 100 + me, MPI_COMM_WORLD, &request);
        if ((i + me) % 3 == 0)
            MPI_Probe(from, 100 + me, MPI_COMM_WORLD, &status);
        MPI_Recv(&token, 1, MPI_INT, from, 100 + me, MPI_COMM_WORLD, &status);
        if (token != i)
            fail_with("a token of another round", token);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void run_case(void *(*body)(void *))
{
    run_numbered_threads(THREADS, body);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided != MPI_THREAD_MULTIPLE)
        fail_with("thread level", provided);
    run_case(own_rank);
    MPI_Barrier(MPI_COMM_WORLD);
    run_case(check_neighbours);
    MPI_Finalize();
    return 0;
}
