/* Threads that send and receive on one communicator while others are inside:
 * what a thread does is matched in its order, whether it found the engine busy
 * or not (MPI-5.0 s3.5), and what may be done with a request that has just been
 * started may be done with one that nobody has looked at yet.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>

#include "check.h"
#include "numbered_threads.h"

enum { THREADS = 4, ROUNDS = 150, WINDOW = 8, LARGE = 20000, ENDS = 1000 };

static int rank, size, failures;
static MPI_Comm side;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One message of the kind that its number says. */
static void send_one(int *value, int to, int tag, MPI_Request *request)
{
    *request = MPI_REQUEST_NULL;
    switch (*value % 5) {
    case 0:
        MPI_Send(value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
        break;
    case 1:
        MPI_Issend(value, 1, MPI_INT, to, tag, MPI_COMM_WORLD, request);
        break;
    case 2:
        MPI_Isend(value, 1, MPI_INT, to, tag, MPI_COMM_WORLD, request);
        MPI_Request_free(request); /* the value stays where it is */
        break;
    default:
        MPI_Isend(value, 1, MPI_INT, to, tag, MPI_COMM_WORLD, request);
    }
}

/* Wildcards see the order of the sends. */
static void check_round(int *in, int round)
{
    for (int k = 0; k < WINDOW; k++)
        CHECK(in[k] == round * WINDOW + k);
}

static void receive_window(int *in, MPI_Request *requests, int from, int tag)
{
    for (int k = 0; k < WINDOW; k++)
        MPI_Irecv(&in[k], 1, MPI_INT, k % 3 ? from : MPI_ANY_SOURCE, tag,
                  MPI_COMM_WORLD, &requests[k]);
}

static void in_order(int me)
{
    static int sent[THREADS][ROUNDS * WINDOW];
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2 * WINDOW];
        int in[WINDOW];
        receive_window(in, requests, from, me);
        for (int k = 0; k < WINDOW; k++) {
            int *value = &sent[me][round * WINDOW + k];
            *value = round * WINDOW + k;
            send_one(value, to, me, &requests[WINDOW + k]);
        }
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
        check_round(in, round);
    }
}

/* Large ones, which take more than one step, and blocking ones. */
static void ping_peer(int me)
{
    char *data = malloc(LARGE);
    int peer = rank ^ 1;

    for (int round = 0; peer < size && round < ROUNDS / 5; round++) {
        int n = round % 2 ? LARGE : 1;
        memset(data, me + round, (size_t)n);
        if (rank < peer)
            MPI_Send(data, n, MPI_CHAR, peer, 100 + me, MPI_COMM_WORLD);
        MPI_Recv(data, n, MPI_CHAR, peer, 100 + me, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK(data[0] == (char)(me + round) && data[n - 1] == data[0]);
        if (rank > peer)
            MPI_Send(data, n, MPI_CHAR, peer, 100 + me, MPI_COMM_WORLD);
    }
    free(data);
}

/* Receives for which nothing comes. */
static void check_cancelled(int me)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        MPI_Status status;
        int value, flag;
        MPI_Irecv(&value, 1, MPI_INT, rank, 200 + me, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag);
    }
}

/* A datatype that goes as soon as it is used. Of a communicator whose engine is
 * not that of calls about datatypes, where there are several. */
static void send_typed(int me)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;

    for (int round = 0; round < ROUNDS; round++) {
        int out[2] = {me, round}, in[2] = {-1, -1};
        MPI_Request requests[2];
        MPI_Datatype pair;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Irecv(in, 1, pair, from, 300 + me, side, &requests[0]);
        MPI_Isend(out, 1, pair, to, 300 + me, side, &requests[1]);
        MPI_Type_free(&pair);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in[0] == me && in[1] == round);
    }
}

/* The last calls of a thread are sends that nobody waits for. */
static void leave_behind(int me)
{
    static int value[THREADS];
    MPI_Request request;

    value[me] = me;
    MPI_Isend(&value[me], 1, MPI_INT, (rank + 1) % size, ENDS + me,
              MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

static void *do_work(void *arg)
{
    int me = *(int *)arg;

    in_order(me);
    ping_peer(me);
    check_cancelled(me);
    send_typed(me);
    leave_behind(me);
    pthread_mutex_lock(&lock);
    failures += job_failures;
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* A communicator that goes as soon as the send is started. */
static void freed_at_once(void)
{
    int value = 7, in = 0;
    MPI_Request requests[2];
    MPI_Comm c;

    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 1, c, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, 1, c, &requests[1]);
    MPI_Comm_free(&c);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == 7);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &side);
    run_numbered_threads(THREADS, do_work);
    for (int t = 0; t < THREADS; t++) {
        int in = -1;
        MPI_Recv(&in, 1, MPI_INT, (rank + size - 1) % size, ENDS + t,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == t);
    }
    freed_at_once();
    MPI_Comm_free(&side);
    job_failures += failures;
    return job_end();
}
