/* A program that asked for MPI_THREAD_MULTIPLE starts its second thread late:
 * with messages under way, from inside a callback of MPI, and after one that
 * has ended. Operations that one thread alone has begun go on, and both threads
 * are in MPI at a time from then on.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <pthread.h>

enum {
    SMALL = 16,
    LARGE = 3 << 20,
    ROUNDS = 400,
    TAG = 5,
    EARLY = 6,
    BACK = 7
};

static char large_in[LARGE], large_out[LARGE];
static MPI_Comm of_second;

static void exchange_messages(MPI_Comm comm, int value)
{
    int me = rank_in(comm), n = size_of(comm), got = -1;

    MPI_Sendrecv(&value, 1, MPI_INT, (me + 1) % n, TAG, &got, 1, MPI_INT,
                 (me + n - 1) % n, TAG, comm, MPI_STATUS_IGNORE);
    CHECK(got == value);
}

static void exchange_often(MPI_Comm comm)
{
    for (int i = 0; i < ROUNDS; i++)
        exchange_messages(comm, i);
}

static void *exchange_second(void *unused)
{
    exchange_often(of_second);
    return job_failures ? "wrong" : unused;
}

static pthread_t start_case(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, exchange_second, NULL) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return thread;
}

static void end_case(pthread_t thread)
{
    void *wrong;

    pthread_join(thread, &wrong);
    CHECK(wrong == NULL);
}

/* Begun alone, completed beside another. */
static void with_messages_under_way(void)
{
    int me = rank_in(MPI_COMM_WORLD), n = size_of(MPI_COMM_WORLD);
    int to = (me + 1) % n, from = (me + n - 1) % n, small[SMALL], bad = 0;
    MPI_Request r[SMALL + 2];
    pthread_t thread;

    for (int i = 0; i < SMALL; i++)
        MPI_Irecv(&small[i], 1, MPI_INT, from, EARLY, MPI_COMM_WORLD, &r[i]);
    MPI_Irecv(large_in, LARGE, MPI_BYTE, from, BACK, MPI_COMM_WORLD, &r[SMALL]);
    memset(large_out, me + 1, LARGE);
    MPI_Isend(large_out, LARGE, MPI_BYTE, to, BACK, MPI_COMM_WORLD,
              &r[SMALL + 1]);
    thread = start_case();
    for (int i = 0; i < SMALL; i++)
        MPI_Send(&i, 1, MPI_INT, to, EARLY, MPI_COMM_WORLD);
    MPI_Waitall(SMALL + 2, r, MPI_STATUSES_IGNORE);
    exchange_often(MPI_COMM_WORLD);
    end_case(thread);
    for (int i = 0; i < SMALL; i++)
        CHECK(small[i] == i);
    for (int i = 0; i < LARGE; i++)
        bad += large_in[i] != (char)(from + 1);
    CHECK(bad == 0);
}

static int started;

/* MPI waits for the callback, and the callback for a thread that is in MPI. */
static int in_callback(MPI_Comm comm, int key, void *value, void *state)
{
    pthread_t thread = start_case();

    exchange_often(MPI_COMM_WORLD);
    end_case(thread);
    started++;
    return MPI_SUCCESS;
}

static void from_a_callback(void)
{
    MPI_Comm comm;
    int key;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, in_callback, &key, NULL);
    MPI_Comm_set_attr(comm, key, &key);
    MPI_Comm_delete_attr(comm, key);
    CHECK(started == 1);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int provided, n;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_dup(MPI_COMM_WORLD, &of_second);
    n = size_of(MPI_COMM_WORLD);
    exchange_often(MPI_COMM_WORLD);
    if (n % 2) { /* either way may be the first second thread */
        from_a_callback();
        with_messages_under_way();
    } else {
        with_messages_under_way();
        from_a_callback();
    }
    exchange_often(MPI_COMM_WORLD);
    MPI_Comm_free(&of_second);
    return job_end();
}
