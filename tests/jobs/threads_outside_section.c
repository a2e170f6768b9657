/* These calls of several threads run in part outside the engine's section; the
 * results must be as if they had run inside.
 *
 *   blocked     two threads of each rank in Ssend and Recv against each other:
 *               a blocked call blocks its thread only (MPI-5.0 s11.6)
 *   nobody      MPI_PROC_NULL in every form
 *   packed      small data that is not one block
 *   stored      large messages that are there before their receive
 *   handed      requests that one thread makes and another completes, while
 *               threads come and go
 *   alone       one thread that has been alone in MPI for so long that the
 *               section is its own, before others come and beside a waiter
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { THREADS = 4, ROUNDS = 60, GENERATIONS = 6, LARGE = 12000, WINDOW = 16,
       ALONE = 40, FLOOD = 1500 };

static int rank, size, to, from;

static void check_result(int holds, const char *what, int value)
{
    if (holds)
        return;
    fprintf(stderr, "rank %d: %s: %d\n", rank, what, value);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void run_case(int n, void *(*what)(void *))
{
    pthread_t threads[THREADS];
    int ids[THREADS];

    for (int i = 0; i < n; i++) {
        ids[i] = i;
        check_result(!pthread_create(&threads[i], NULL, what, &ids[i]),
                     "thread", i);
    }
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* ---- blocked ------------------------------------------------------------- */

static void *against_each_other(void *arg)
{
    int sends = *(int *)arg == 0, value = -1;

    for (int i = 0; i < ROUNDS; i++)
        if (sends) {
            MPI_Ssend(&i, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            check_result(value == i, "a value of another round", value);
        }
    return NULL;
}

/* ---- nobody -------------------------------------------------------------- */

static void check_nobody(const MPI_Status *s, const char *what)
{
    int n = -1;

    check_result(s->MPI_SOURCE == MPI_PROC_NULL && s->MPI_TAG == MPI_ANY_TAG,
                 what, s->MPI_SOURCE);
    MPI_Get_count(s, MPI_INT, &n);
    check_result(n == 0, what, n);
}

static void *with_nobody(void *arg)
{
    MPI_Request requests[3];
    MPI_Status status[3];
    int value = 5, flag = 0;

    for (int i = 0; i < ROUNDS; i++) {
        MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                 &status[0]);
        check_nobody(&status[0], "MPI_Recv from nobody");
        MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                  &requests[1]);
        MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                  &requests[2]);
        MPI_Cancel(&requests[2]);
        MPI_Waitall(3, requests, status);
        check_nobody(&status[1], "MPI_Irecv from nobody");
        MPI_Test_cancelled(&status[2], &flag);
        check_result(!flag, "cancelled although complete", flag);
        MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Request_free(&requests[0]);
        check_result(value == 5, "something was received", value);
    }
    return NULL;
}

/* ---- packed -------------------------------------------------------------- */

static void *in_pieces(void *arg)
{
    int me = *(int *)arg, tag = 10 + me, data[8], got[4], back[8];
    MPI_Datatype even;
    MPI_Request request;

    MPI_Type_vector(4, 1, 2, MPI_INT, &even);
    MPI_Type_commit(&even);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < 8; k++)
            data[k] = 100 * i + k, back[k] = -1;
        MPI_Isend(data, 1, even, to, tag, MPI_COMM_WORLD, &request);
        memset(got, 0, sizeof got);
        MPI_Recv(got, 4, MPI_INT, from, tag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        for (int k = 0; k < 4; k++)
            check_result(got[k] == 100 * i + 2 * k, "piece", got[k]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Sendrecv(data, 1, even, to, tag, back, 1, even, from, tag,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < 8; k++)
            check_result(back[k] == (k % 2 ? -1 : 100 * i + k), "its place",
                         back[k]);
    }
    MPI_Type_free(&even);
    return NULL;
}

/* ---- stored -------------------------------------------------------------- */

static void fill_buffer(char *data, int seed)
{
    for (int i = 0; i < LARGE; i++)
        data[i] = (char)(seed + i);
}

static void *before_its_receive(void *arg)
{
    int me = *(int *)arg, tag = 100 + 2 * me, n = -1;
    char *data = malloc(LARGE), *got = malloc(LARGE), *want = malloc(LARGE);
    MPI_Request sends[2], receive;
    MPI_Status status;

    for (int i = 0; i < ROUNDS; i++) {
        fill_buffer(data, i);
        fill_buffer(want, i);
        MPI_Isend(data, LARGE, MPI_CHAR, to, tag, MPI_COMM_WORLD, &sends[0]);
        MPI_Isend(&i, 1, MPI_INT, to, tag + 1, MPI_COMM_WORLD, &sends[1]);
        /* what came after it is here */
        MPI_Recv(&n, 1, MPI_INT, from, tag + 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        memset(got, 0, LARGE);
        if (i % 2) {
            MPI_Recv(got, LARGE, MPI_CHAR, from, tag, MPI_COMM_WORLD,
                     &status);
        } else {
            MPI_Irecv(got, LARGE, MPI_CHAR, from, tag, MPI_COMM_WORLD,
                      &receive);
            MPI_Wait(&receive, &status);
        }
        MPI_Get_count(&status, MPI_CHAR, &n);
        check_result(n == LARGE, "length of a stored message", n);
        check_result(!memcmp(got, want, LARGE), "content of a stored message",
                     i);
        MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    }
    free(data);
    free(got);
    free(want);
    return NULL;
}

/* ---- handed -------------------------------------------------------------- */

static MPI_Request handed[THREADS][WINDOW];
static int handed_values[THREADS][WINDOW];

static void *make_object(void *arg)
{
    int me = *(int *)arg;

    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(&handed_values[me][i], 1, MPI_INT, from, 1000 + me,
                  MPI_COMM_WORLD, &handed[me][i]);
    for (int i = 0; i < WINDOW; i++)
        MPI_Send(&i, 1, MPI_INT, to, 1000 + me, MPI_COMM_WORLD);
    return NULL;
}

static void *complete_request(void *arg)
{
    int me = (*(int *)arg + 1) % THREADS, flag = 0;
    MPI_Status status[WINDOW];

    while (!flag && me % 2)
        MPI_Testall(WINDOW, handed[me], &flag, status);
    if (!flag)
        MPI_Waitall(WINDOW, handed[me], status);
    for (int i = 0; i < WINDOW; i++) {
        check_result(handed_values[me][i] == i, "a value out of order",
              handed_values[me][i]);
        check_result(status[i].MPI_TAG == 1000 + me, "tag", status[i].MPI_TAG);
    }
    return NULL;
}

/* ---- alone --------------------------------------------------------------- */

static void exchange_window(int round)
{
    MPI_Request requests[2 * WINDOW];
    int got[WINDOW], sent[WINDOW];
    MPI_Status status;

    for (int i = 0; i < WINDOW; i++) {
        sent[i] = round + i;
        MPI_Irecv(&got[i], 1, MPI_INT, from, 20, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&sent[i], 1, MPI_INT, to, 20, MPI_COMM_WORLD,
                  &requests[WINDOW + i]);
    }
    for (int i = 0; i < 2 * WINDOW; i++) {
        MPI_Wait(&requests[i], &status);
        check_result(requests[i] == MPI_REQUEST_NULL,
                     "the request is still there", i);
        if (i >= WINDOW)
            continue;
        check_result(got[i] == round + i, "a value out of order", got[i]);
        check_result(status.MPI_SOURCE == from && status.MPI_TAG == 20,
                     "status", status.MPI_TAG);
    }
}

/* More than any ring holds; every other rank sends first. */
static void flood_peer(int count)
{
    int value = -1;

    for (int turn = 0; turn < 2 && size > 1; turn++)
        for (int i = 0; i < count; i++)
            if (rank % 2 == turn) {
                MPI_Send(&i, 1, MPI_INT, to, 22, MPI_COMM_WORLD);
            } else if (from % 2 == turn) {
                MPI_Recv(&value, 1, MPI_INT, from, 22, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                check_result(value == i, "a value out of order in the flood",
                             value);
            }
}

static void check_alone(void)
{
    for (int i = 0; i < ALONE; i++)
        exchange_window(i);
    if (size % 2 == 0)
        flood_peer(FLOOD);
}

static void *wait_for_one(void *arg)
{
    int value = 0;

    MPI_Recv(&value, 1, MPI_INT, from, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_result(value == 7, "the last message", value);
    return NULL;
}

static void beside_one_that_waits(void)
{
    pthread_t thread;
    int value = 7;

    check_result(!pthread_create(&thread, NULL, wait_for_one, NULL), "thread",
                 0);
    check_alone();
    MPI_Send(&value, 1, MPI_INT, to, 21, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    check_alone();
    for (int i = 0; i < 2; i++)
        beside_one_that_waits();
    run_case(2, against_each_other);
    run_case(THREADS, with_nobody);
    run_case(THREADS, in_pieces);
    run_case(THREADS, before_its_receive);
    for (int i = 0; i < GENERATIONS; i++) {
        run_case(THREADS, make_object);
        run_case(THREADS, complete_request);
    }
    MPI_Finalize();
    return 0;
}
