/* More than the receiver looks at: floods of small messages while it computes,
 * whose memory must stay bounded (MPI-5.0 s3.5, quality of implementation),
 * storms from everybody to everybody, and large messages both ways at once.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <sys/resource.h>

#include "check.h"

#ifndef LARGE_INTS
#define LARGE_INTS (4 << 20)
#endif
enum { FLOOD = 60000, BYTES = 200, STORM = 1500, KILOBYTES_ALLOWED = 30 << 10 };

static int me, all;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEASURABLE = 0 }; /* the sanitizer's own memory grows with the run */
#else
enum { MEASURABLE = 1 };
#endif

static long allocate_memory(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

/* Rank 0 makes no MPI call until every sender has sent what it can without
 * it: a message of the last kind comes only after a rendezvous. */
static void is_busy(double seconds)
{
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        ;
}

static void send_flood(void)
{
    MPI_Request *rs = malloc(FLOOD * sizeof *rs);
    char *out = calloc(1, BYTES);
    for (int i = 0; i < FLOOD; i++)
        MPI_Isend(out, BYTES, MPI_CHAR, 0, i % 100, MPI_COMM_WORLD, &rs[i]);
    MPI_Waitall(FLOOD, rs, MPI_STATUSES_IGNORE);
    free(out);
    free(rs);
}

/* Headers of waiting rendezvous have to be kept, their payload must not. */
static void flood_peer(void)
{
    char in[BYTES];
    long before;
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1)
        send_flood();
    if (me == 0 && all > 1) {
        if (!MEASURABLE)
            printf("memory is not measured: built with a sanitizer\n");
        before = allocate_memory();
        is_busy(0.3);
        for (int i = 0; i < FLOOD; i++) {
            MPI_Status s;
            MPI_Recv(in, BYTES, MPI_CHAR, 1, i % 100, MPI_COMM_WORLD, &s);
            CHECK(s.MPI_TAG == i % 100);
        }
        CHECK(!MEASURABLE || allocate_memory() - before < KILOBYTES_ALLOWED);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Everybody sends numbered messages to partners in an order of its own; the
 * receiver takes whatever comes and sees each sender's numbers in order. */
static void run_storm(void)
{
    int *next = calloc((size_t)all, sizeof *next);
    int(*out)[2] = malloc(STORM * sizeof *out);
    int *number = calloc((size_t)all, sizeof *number);
    MPI_Request *rs = malloc(STORM * sizeof *rs);
    unsigned seed = 7u * (unsigned)me + 1;
    int *expected = calloc((size_t)all, sizeof *expected), mine;
    for (int i = 0; i < STORM; i++) {
        int to;
        seed = seed * 1103515245u + 12345u;
        to = (int)((seed >> 16) % (unsigned)all);
        out[i][0] = me;
        out[i][1] = number[to]++;
        MPI_Isend(out[i], 2, MPI_INT, to, (int)(seed >> 20) % 5, MPI_COMM_WORLD,
                  &rs[i]);
    }
    for (int r = 0; r < all; r++)
        MPI_Reduce(&number[r], &expected[r], 1, MPI_INT, MPI_SUM, r,
                   MPI_COMM_WORLD);
    mine = expected[me];
    for (int i = 0; i < mine; i++) {
        int in[2];
        MPI_Status s;
        MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &s);
        CHECK(in[0] == s.MPI_SOURCE);
        CHECK(in[1] == next[s.MPI_SOURCE]++);
    }
    MPI_Waitall(STORM, rs, MPI_STATUSES_IGNORE);
    free(next);
    free(out);
    free(number);
    free(rs);
    free(expected);
}

/* Large ones around the ring in both directions, into every second int. */
static void check_large(void)
{
    int right = (me + 1) % all, left = (me + all - 1) % all;
    int *out = malloc(LARGE_INTS * sizeof *out);
    int *in = malloc(2 * (size_t)LARGE_INTS * sizeof *in);
    MPI_Datatype gaps;
    MPI_Request rs[4];
    MPI_Type_vector(LARGE_INTS / 2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    for (int i = 0; i < LARGE_INTS; i++)
        out[i] = i ^ me;
    MPI_Irecv(in, LARGE_INTS, MPI_INT, left, 1, MPI_COMM_WORLD, &rs[0]);
    MPI_Irecv(in + LARGE_INTS, 1, gaps, right, 2, MPI_COMM_WORLD, &rs[1]);
    MPI_Isend(out, LARGE_INTS, MPI_INT, right, 1, MPI_COMM_WORLD, &rs[2]);
    MPI_Isend(out, 1, gaps, left, 2, MPI_COMM_WORLD, &rs[3]);
    MPI_Waitall(4, rs, MPI_STATUSES_IGNORE);
    for (int i = 0; i < LARGE_INTS; i++)
        if (in[i] != (i ^ left) ||
            (i % 2 == 0 && in[LARGE_INTS + i] != (i ^ right))) {
            CHECK(!"the data of a large message");
            break;
        }
    MPI_Type_free(&gaps);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    me = rank_in(MPI_COMM_WORLD);
    all = size_of(MPI_COMM_WORLD);
    flood_peer();
    run_storm();
    MPI_Barrier(MPI_COMM_WORLD); /* the storm's receives take anything */
    check_large();
    return job_end();
}
