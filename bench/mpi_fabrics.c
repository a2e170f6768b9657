/* This program finds out whether a slow fabric slows a fast one.
 *
 *   mpi_fabrics alone-fast|alone-slow MS    one pair at a time
 *   mpi_fabrics any-fast|any-slow MS        the same, received from any source
 *   mpi_fabrics threads MS                  both, each served by a thread
 *   mpi_fabrics one MS                      both, served by one thread that
 *                                           takes any message
 *   mpi_fabrics idle MS                     the fast one, beside a thread that
 *                                           is blocked in a slow receive
 *
 *       rank 1  <--- slow --->  rank 0  <--- fast --->  rank 2
 *
 * Rank 0 answers, ranks 1 and 2 ask, each a byte at a time, and time their
 * round trips: us-fast and us-slow, half of one. A rank that has nothing to ask
 * sleeps meanwhile, outside MPI. The configuration decides which fabric is
 * which. Plachetka's "Unifying framework for message passing" asks this: a
 * library that polls both in turn makes the fast pair pay for the slow one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

#include <pthread.h>

enum { SLOW = 1, FAST = 2, ASK = 1, END = 2, TRIPS = 20, LARGE = 4 << 20 };

static char *message;
static double limit_us;

/* ---- rank 0 -------------------------------------------------------------- */

/* Answer `source`, or any rank, until `ends` ranks have sent their last
 * question. */
static void answer_pings(int source, int ends)
{
    MPI_Status status;
    char byte;

    while (ends) {
        MPI_Recv(&byte, 1, MPI_BYTE, source, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
        if (status.MPI_TAG == END)
            ends--;
        else
            MPI_Send(&byte, 1, MPI_BYTE, status.MPI_SOURCE, ASK,
                     MPI_COMM_WORLD);
    }
}

static void *answer_slow(void *unused)
{
    (void)unused;
    answer_pings(SLOW, 1);
    return NULL;
}

static void answer_in_two_threads(void)
{
    pthread_t other;

    if (pthread_create(&other, NULL, answer_slow, NULL) != 0) {
        perror("mpi_fabrics: pthread_create");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    answer_pings(FAST, 1);
    pthread_join(other, NULL);
}

/* ---- who asks ------------------------------------------------------------ */

static double ask_repeatedly(void)
{
    double start = now_us();
    char byte = 0;

    for (int i = 0; i < TRIPS; i++) {
        MPI_Send(&byte, 1, MPI_BYTE, 0, ASK, MPI_COMM_WORLD);
        MPI_Recv(&byte, 1, MPI_BYTE, 0, ASK, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    return (now_us() - start) / (2 * TRIPS);
}

static int ask_for(double us, double v[BATCHES])
{
    double end = now_us() + us;
    int n = 0;

    while (n < BATCHES && (n < 3 || now_us() < end))
        v[n++] = ask_repeatedly();
    return n;
}

/* ---- the job ------------------------------------------------------------- */

/* Let both pairs use their fabric once; where sizes choose it, by a large
 * message. */
static void connect_pairs(int rank)
{
    for (int other = SLOW; other <= FAST; other++)
        if (rank == 0)
            MPI_Recv(message, LARGE, MPI_BYTE, other, ASK, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        else if (rank == other)
            MPI_Send(message, LARGE, MPI_BYTE, 0, ASK, MPI_COMM_WORLD);
}

static void serve_source(const char *mode)
{
    int first = strcmp(mode, "alone-slow") == 0 ? SLOW : FAST;

    if (strcmp(mode, "one") == 0 || strncmp(mode, "any", 3) == 0)
        answer_pings(MPI_ANY_SOURCE, 2);
    else if (strncmp(mode, "alone", 5) == 0) {
        answer_pings(first, 1);
        answer_pings(FAST + SLOW - first, 1);
    } else
        answer_in_two_threads();
}

static int is_asking(const char *mode, int rank)
{
    if (strcmp(mode, "alone-slow") == 0 || strcmp(mode, "any-slow") == 0)
        return rank == SLOW;
    return rank == FAST || strcmp(mode, "threads") == 0 ||
           strcmp(mode, "one") == 0;
}

static int run_rank(const char *mode, int rank, double v[BATCHES])
{
    int n = 0;

    if (is_asking(mode, rank))
        n = ask_for(limit_us, v);
    else
        sleep_us((long)(limit_us * 1.3));
    MPI_Send(message, 0, MPI_BYTE, 0, END, MPI_COMM_WORLD);
    return n;
}

int main(int argc, char **argv)
{
    static double v[BATCHES];
    int rank, level, n;

    if (argc != 3)
        return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    limit_us = atof(argv[2]) * 1e3;
    message = allocate_buffer(LARGE);
    connect_pairs(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        serve_source(argv[1]);
    else if (rank <= FAST && (n = run_rank(argv[1], rank, v)) > 0)
        print_times(rank == FAST ? "us-fast" : "us-slow", 0, v, n);
    free(message);
    MPI_Finalize();
    return 0;
}
