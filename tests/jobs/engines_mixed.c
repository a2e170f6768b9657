/* Threads on communicators of several engines (core.engines): each thread has
 * one, with messages of all sizes, wildcards and collectives, while others make
 * and free communicators; requests of all engines in one call; communicators
 * made of two that are on different engines; a thread that is blocked in one
 * engine moves what is under way in another.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum {
    THREADS = 4,
    TURNS = 12,
    LARGE = 300000 /* a rendezvous on every route */
};

static MPI_Comm comms[THREADS];

static int left_of(MPI_Comm c)
{
    return (rank_in(c) + size_of(c) - 1) % size_of(c);
}

static int right_of(MPI_Comm c)
{
    return (rank_in(c) + 1) % size_of(c);
}

/* A message around the ring, received by wildcard. */
static void pass_time(MPI_Comm c, int n, int tag)
{
    char *out = malloc((size_t)n + 1), *in = malloc((size_t)n + 1);
    MPI_Status status;
    MPI_Request r;
    int count;
    memset(out, tag, (size_t)n);
    memset(in, 0, (size_t)n);
    MPI_Isend(out, n, MPI_CHAR, right_of(c), tag, c, &r);
    MPI_Recv(in, n, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &status);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_CHAR, &count);
    CHECK(count == n && status.MPI_TAG == tag &&
          status.MPI_SOURCE == left_of(c));
    CHECK(!memcmp(in, out, (size_t)n));
    free(out);
    free(in);
}

static void remake_comm(MPI_Comm c)
{
    MPI_Comm a, b;
    MPI_Comm_dup(c, &a);
    MPI_Comm_split(a, rank_in(a) % 2, 0, &b);
    check_talks(a);
    check_talks(b);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

static void *do_work(void *arg)
{
    MPI_Comm c = *(MPI_Comm *)arg;
    for (int turn = 0; turn < TURNS; turn++) {
        pass_time(c, 0, 1);
        pass_time(c, 40, 2);
        pass_time(c, 9000, 3);
        pass_time(c, LARGE, 4);
        check_talks(c);
        if (turn % 4 == 0)
            remake_comm(c);
        MPI_Barrier(c);
    }
    return (void *)(intptr_t)job_failures;
}

static void threads_apart(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, do_work, &comms[i]);
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        pthread_join(t[i], &failures);
        job_failures += (int)(intptr_t)failures;
    }
}

/* ---- one call, several engines ------------------------------------------- */

enum { PER_COMM = 3, ALL = 2 * PER_COMM * THREADS };

static char buffer[ALL][LARGE];
static MPI_Request requests[ALL + 1];

static int start_all(int tag)
{
    int n = 0;
    for (int k = 0; k < PER_COMM; k++)
        for (int i = 0; i < THREADS; i++) {
            int bytes = k == 0 ? 8 : k == 1 ? 5000 : LARGE;
            memset(buffer[n], tag + k, (size_t)bytes);
            memset(buffer[n + 1], 0, (size_t)bytes);
            MPI_Isend(buffer[n], bytes, MPI_CHAR, right_of(comms[i]), tag + k,
                      comms[i], &requests[n]);
            MPI_Irecv(buffer[n + 1], bytes, MPI_CHAR, left_of(comms[i]),
                      tag + k, comms[i], &requests[n + 1]);
            n += 2;
        }
    requests[n] = MPI_REQUEST_NULL;
    return n + 1;
}

static void check_all(int tag)
{
    for (int n = 0; n < ALL; n += 2) {
        int k = n / 2 / THREADS;
        int bytes = k == 0 ? 8 : k == 1 ? 5000 : LARGE;
        CHECK(!memcmp(buffer[n], buffer[n + 1], (size_t)bytes));
        CHECK(buffer[n + 1][0] == (char)(tag + k));
    }
    for (int n = 0; n <= ALL; n++)
        CHECK(requests[n] == MPI_REQUEST_NULL);
}

static void by_any(int n)
{
    MPI_Status status;
    int index, left = 0;
    do {
        MPI_Waitany(n, requests, &index, &status);
        left += index != MPI_UNDEFINED;
    } while (index != MPI_UNDEFINED);
    CHECK(left == ALL);
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
}

static void by_some(int n)
{
    static MPI_Status statuses[ALL + 1];
    int indices[ALL + 1], count, done = 0;
    do {
        MPI_Waitsome(n, requests, &count, indices, statuses);
        done += count == MPI_UNDEFINED ? 0 : count;
    } while (count != MPI_UNDEFINED);
    CHECK(done == ALL);
}

static void by_tests(int n)
{
    int flag, index, count, indices[ALL + 1];
    do
        MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    do
        MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
    while (count == 0);
    do
        MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
    while (!flag);
}

static void requests_of_all(void)
{
    static MPI_Status statuses[ALL + 1];
    int n = start_all(10);
    CHECK(MPI_Waitall(n, requests, statuses) == MPI_SUCCESS);
    for (int i = 1; i < ALL; i += 2)
        CHECK(statuses[i].MPI_TAG >= 10 && statuses[i].MPI_TAG < 13);
    check_all(10);
    by_any(start_all(20));
    check_all(20);
    by_some(start_all(30));
    check_all(30);
    by_tests(start_all(40));
    check_all(40);
}

/* A wait for one of many, which another thread of this process sends. */
static void *send_late(void *arg)
{
    MPI_Comm c = *(MPI_Comm *)arg;
    int go = 0;
    MPI_Recv(&go, 1, MPI_INT, rank_in(c), 1, c, MPI_STATUS_IGNORE);
    MPI_Send(&go, 1, MPI_INT, rank_in(c), 2, c);
    return NULL;
}

static void a_wait_for_any_is_woken(void)
{
    pthread_t t;
    MPI_Request r[THREADS];
    int in[THREADS], go = 7, index;
    for (int last = 0; last < THREADS; last++) {
        for (int i = 0; i < THREADS; i++)
            MPI_Irecv(&in[i], 1, MPI_INT, rank_in(comms[i]), 2, comms[i],
                      &r[i]);
        pthread_create(&t, NULL, send_late, &comms[last]);
        MPI_Send(&go, 1, MPI_INT, rank_in(comms[last]), 1, comms[last]);
        MPI_Waitany(THREADS, r, &index, MPI_STATUS_IGNORE);
        CHECK(index == last && in[last] == 7);
        pthread_join(t, NULL);
        for (int i = 0; i < THREADS; i++)
            if (r[i] != MPI_REQUEST_NULL) {
                MPI_Cancel(&r[i]);
                MPI_Wait(&r[i], MPI_STATUS_IGNORE);
            }
    }
}

/* ---- progress ------------------------------------------------------------ */

/* Everybody leaves a large send in one engine and blocks in another, whose
 * message comes when the large one has arrived. */
static void blocked_here_moves_what_is_there(void)
{
    static char out[LARGE], in[LARGE];
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm here = comms[i], there = comms[(i + 1) % THREADS];
        MPI_Request r;
        int word = 0;
        if (rank_in(here) % 2 == 0 && right_of(here) != rank_in(here)) {
            if (rank_in(here) + 1 == size_of(here))
                continue;
            MPI_Isend(out, LARGE, MPI_CHAR, right_of(there), 5, there, &r);
            MPI_Recv(&word, 1, MPI_INT, right_of(here), 6, here,
                     MPI_STATUS_IGNORE);
            CHECK(word == 9);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        } else if (rank_in(here) % 2 == 1) {
            word = 9;
            MPI_Recv(in, LARGE, MPI_CHAR, left_of(there), 5, there,
                     MPI_STATUS_IGNORE);
            MPI_Send(&word, 1, MPI_INT, left_of(here), 6, here);
        }
    }
}

/* ---- communicators of two engines ---------------------------------------- */

/* The bridge is on another engine than the groups. */
static void check_bridges(void)
{
    MPI_Comm half, inter, merged;
    int low = size_of(MPI_COMM_WORLD) / 2;
    bool right = rank_in(MPI_COMM_WORLD) >= low;
    if (low == 0)
        return;
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_split(comms[i], right, 0, &half);
        MPI_Intercomm_create(half, 0, comms[(i + 1) % THREADS], right ? 0 : low,
                             77, &inter);
        MPI_Intercomm_merge(inter, right, &merged);
        check_talks(merged);
        CHECK(size_of(merged) == size_of(MPI_COMM_WORLD));
        MPI_Comm_free(&merged);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
}

static int deleted;

static int on_delete(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

/* Attributes, names and buffered sends are the rank's, whatever the engine. */
static void the_rest_is_shared(void)
{
    static char room[THREADS * (64 + MPI_BSEND_OVERHEAD)];
    int key, size, one = 1, in = 0;
    void *old;
    MPI_Comm copy;
    MPI_Buffer_attach(room, (int)sizeof room);
    for (int i = 0; i < THREADS; i++) {
        MPI_Bsend(&one, 1, MPI_INT, right_of(comms[i]), 8, comms[i]);
        MPI_Recv(&in, 1, MPI_INT, left_of(comms[i]), 8, comms[i],
                 MPI_STATUS_IGNORE);
        CHECK(in == 1);
    }
    MPI_Buffer_detach(&old, &size);
    CHECK(old == room && size == (int)sizeof room);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, on_delete, &key, NULL);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_set_attr(comms[i], key, &one);
        MPI_Comm_dup(comms[i], &copy);
        MPI_Comm_free(&copy);
        MPI_Comm_delete_attr(comms[i], key);
    }
    MPI_Comm_free_keyval(&key);
    CHECK(deleted == 2 * THREADS);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    threads_apart();
    requests_of_all();
    a_wait_for_any_is_woken();
    blocked_here_moves_what_is_there();
    check_bridges();
    the_rest_is_shared();
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    return job_end();
}
