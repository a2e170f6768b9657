/* Threads of a rank that send to different ranks, and some to the same: what
 * each sends arrives in its order, whether it is copied to the peer at once,
 * waits for room, or is fetched by the peer (MPI-5.0 s3.5). Per-object and
 * lock-free builds send the short ones outside of the section
 * (core/protocol/send_side.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <string.h>

#include "check.h"
#include "numbered_threads.h"

/* Threads come in twos that send to one rank. */
enum { THREADS = 4, ROUNDS = 60, WINDOW = 16, SHORT_ROW = 3000 };
enum { MIDDLE = 300, LARGE = 150000, LENGTHS = 5 };

static const int lengths[LENGTHS] = {4, 40, 0, MIDDLE, LARGE};
static int rank, size, failures;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Most are short; how long one is follows from its number. */
static int length_of(int number)
{
    return number % 7 ? lengths[number % 3] : lengths[number % LENGTHS];
}

static void check_message(const char *data, int number,
                          const MPI_Status *status)
{
    int n;

    MPI_Get_count(status, MPI_CHAR, &n);
    CHECK(n == length_of(number));
    CHECK(n == 0 || (data[0] == (char)number && data[n - 1] == (char)number));
}

static void send_message(char *data, int number, int to, int tag,
                         MPI_Request *request)
{
    int n = length_of(number);

    *request = MPI_REQUEST_NULL;
    memset(data, (char)number, (size_t)n);
    if (number % 11 == 0)
        MPI_Issend(data, n, MPI_CHAR, to, tag, MPI_COMM_WORLD, request);
    else if (number % 2)
        MPI_Send(data, n, MPI_CHAR, to, tag, MPI_COMM_WORLD);
    else
        MPI_Isend(data, n, MPI_CHAR, to, tag, MPI_COMM_WORLD, request);
}

/* Send windows of messages to a rank, and receive as many from another one. */
static void exchange_windows(int me, int to, int from)
{
    char *data = malloc(2 * WINDOW * LARGE);
    MPI_Request requests[2 * WINDOW];
    MPI_Status statuses[2 * WINDOW];

    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < WINDOW; k++)
            MPI_Irecv(data + k * LARGE, LARGE, MPI_CHAR, from, me,
                      MPI_COMM_WORLD, &requests[k]);
        for (int k = 0; k < WINDOW; k++)
            send_message(data + (WINDOW + k) * LARGE, round + k, to, me,
                         &requests[WINDOW + k]);
        MPI_Waitall(2 * WINDOW, requests, statuses);
        for (int k = 0; k < WINDOW; k++)
            check_message(data + k * LARGE, round + k, &statuses[k]);
    }
    free(data);
}

/* The peer takes these when it comes to it, and its ring becomes full. */
static void send_row(int me, int to, int from)
{
    int *in = malloc(SHORT_ROW * sizeof *in);
    MPI_Request *requests = malloc(SHORT_ROW * sizeof(MPI_Request));

    for (int i = 0; i < SHORT_ROW; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, from, me, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < SHORT_ROW; i++)
        MPI_Send(&i, 1, MPI_INT, to, me, MPI_COMM_WORLD);
    MPI_Waitall(SHORT_ROW, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < SHORT_ROW; i++)
        CHECK(in[i] == i);
    free(requests);
    free(in);
}

static void *do_work(void *arg)
{
    int me = *(int *)arg, step = size > 1 ? 1 + me / 2 % (size - 1) : 0;
    int to = (rank + step) % size, from = (rank + size - step) % size;

    exchange_windows(me, to, from);
    send_row(me, to, from);
    exchange_windows(me, to, from);
    pthread_mutex_lock(&lock);
    failures += job_failures;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    rank = rank_in(MPI_COMM_WORLD);
    size = size_of(MPI_COMM_WORLD);
    run_numbered_threads(THREADS, do_work);
    job_failures += failures;
    return job_end();
}
