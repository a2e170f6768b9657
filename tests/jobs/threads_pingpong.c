/* Several threads of each rank play ping-pong with the threads of a partner,
 * all sizes and modes, and find their messages in every way there is: receive,
 * probe, matched probe, with and without blocking (MPI-5.0 s3.8.2, s11.6).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 200, LARGEST = 70000 };

static const int lengths[] = {1, 300, 20000, 7, LARGEST};
static int me, partner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int wrong;

static void send_one(int *data, int n, int tag, int round)
{
    data[0] = data[n - 1] = round;
    if (round % 7 == 3)
        MPI_Ssend(data, n, MPI_INT, partner, tag, MPI_COMM_WORLD);
    else
        MPI_Send(data, n, MPI_INT, partner, tag, MPI_COMM_WORLD);
}

static void receive_message(int *data, int tag, int way, MPI_Status *s)
{
    MPI_Message m;
    int flag = 0;
    switch (way) {
    case 0:
        MPI_Recv(data, LARGEST, MPI_INT, partner, tag, MPI_COMM_WORLD, s);
        return;
    case 1: /* no other thread receives this tag */
        MPI_Probe(partner, tag, MPI_COMM_WORLD, s);
        MPI_Recv(data, LARGEST, MPI_INT, s->MPI_SOURCE, tag, MPI_COMM_WORLD, s);
        return;
    case 2:
        MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &m, s);
        break;
    default:
        while (!flag)
            MPI_Improbe(partner, tag, MPI_COMM_WORLD, &flag, &m, s);
    }
    MPI_Mrecv(data, LARGEST, MPI_INT, &m, s);
}

static int receive_one(int *data, int n, int tag, int round)
{
    MPI_Status s;
    int count;
    receive_message(data, tag, (round + tag) % 4, &s);
    MPI_Get_count(&s, MPI_INT, &count);
    return count == n && s.MPI_SOURCE == partner && s.MPI_TAG == tag &&
           data[0] == round && data[n - 1] == round;
}

static void *play_part(void *arg)
{
    int tag = *(int *)arg, bad = 0;
    int *data = malloc(LARGEST * sizeof *data);
    for (int round = 0; round < ROUNDS; round++) {
        int n = lengths[(round + tag) % 5];
        if (me % 2)
            send_one(data, n, tag, round);
        bad += !receive_one(data, n, tag, round);
        if (me % 2 == 0)
            send_one(data, n, tag, round);
    }
    pthread_mutex_lock(&lock);
    wrong += bad;
    pthread_mutex_unlock(&lock);
    free(data);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int tags[THREADS], provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    me = rank_in(MPI_COMM_WORLD);
    partner = me ^ 1; /* with an odd number of ranks the last one rests */
    for (int i = 0; i < THREADS && partner < size_of(MPI_COMM_WORLD); i++) {
        tags[i] = i;
        pthread_create(&threads[i], NULL, play_part, &tags[i]);
    }
    for (int i = 0; i < THREADS && partner < size_of(MPI_COMM_WORLD); i++)
        pthread_join(threads[i], NULL);
    CHECK(wrong == 0);
    return job_end();
}
