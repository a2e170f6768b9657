/* At MPI_THREAD_MULTIPLE a thread has a real-time channel to itself while
 * others send bulk, make channels of their own at the same time, and free them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "channel.h"

#include <pthread.h>

enum { ROUNDS = 300, BULK = 200000, MAKERS = 2, MAKES = 8 };

static int me, all, to, from;
static MPI_Comm parents[MAKERS];

struct result {
    int id, failures;
};

static void *send_bulk(void *arg)
{
    char *out = calloc(1, BULK), *in = malloc(BULK);

    for (int i = 0; i < ROUNDS / 10; i++)
        CHECK(MPI_Sendrecv(out, BULK, MPI_CHAR, to, 1, in, BULK, MPI_CHAR, from,
                           1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
    free(out);
    free(in);
    ((struct result *)arg)->failures = job_failures;
    return NULL;
}

static void exchange_rounds(MPI_Comm c, int rounds)
{
    int out, in = -1;
    MPI_Request r[2];

    MPI_Recv_init(&in, 1, MPI_INT, from, 0, c, &r[0]);
    MPI_Send_init(&out, 1, MPI_INT, to, 0, c, &r[1]);
    for (int i = 0; i < rounds; i++) {
        out = me * 1000 + i;
        CHECK(MPI_Startall(2, r) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(in == from * 1000 + i);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* Two threads offer all that is free at the same time: one of them may get
 * none, but both get a communicator. */
static void *make_and_free(void *arg)
{
    struct result *mine = arg;

    for (int i = 0; i < MAKES; i++) {
        MPI_Comm c = make_channel(parents[mine->id]);
        exchange_rounds(c, 5);
        MPI_Comm_free(&c);
    }
    mine->failures = job_failures;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[1 + MAKERS];
    struct result result[1 + MAKERS] = {{0, 0}};
    int provided, sum = 0;
    MPI_Comm c;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    to = (me + 1) % all;
    from = (me + all - 1) % all;
    for (int i = 0; i < MAKERS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
    c = make_channel(MPI_COMM_WORLD);
    CHECK(is_channel(c));
    exchange_rounds(c, ROUNDS); /* alone */
    pthread_create(&thread[0], NULL, send_bulk, &result[0]);
    for (int i = 0; i < MAKERS; i++) {
        result[1 + i].id = i;
        pthread_create(&thread[1 + i], NULL, make_and_free, &result[1 + i]);
    }
    exchange_rounds(c, ROUNDS);
    for (int i = 0; i < 1 + MAKERS; i++) {
        pthread_join(thread[i], NULL);
        sum += result[i].failures;
    }
    job_failures += sum;
    check_talks(c);
    MPI_Comm_free(&c);
    for (int i = 0; i < MAKERS; i++)
        MPI_Comm_free(&parents[i]);
    return job_end();
}
