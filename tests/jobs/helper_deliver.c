/* core.progress = thread: messages of every size are delivered, or stored,
 * while their process computes and calls no function of MPI.
 *
 * Rank 1 "computes": it looks at its memory until the last byte is there, or at
 * a page that rank 0 shares with it until that says that its sends are over.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 100, ROUNDS = 6, TURNS = 300, MANY = 6000, STORED = 4096 };
enum { DATA = 1, READY, BALL };

/* The large ones come later: they alone once woke the progress thread. */
static const int sizes[] = {0, 8, 100, 4096, 16 << 10, 64 << 10, 1 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0], SMALL = 5 };

static _Thread_local int rank;
/* A page of both ranks: how often rank 0 is through. */
static _Thread_local atomic_int *shared;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static unsigned char byte_at(int round, int i)
{
    return (unsigned char)(1 + (round * 7 + i * 13 + (i >> 8)) % 250);
}

static void fill_buffer(unsigned char *buf, int n, int round)
{
    for (int i = 0; i < n; i++)
        buf[i] = byte_at(round, i);
}

static void check_buffer(const unsigned char *buf, int n, int round)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += buf[i] != byte_at(round, i);
    CHECK(wrong == 0);
}

static void map_page(void)
{
    char name[] = "/tmp/weft-job-XXXXXX";
    int fd = -1;

    if (rank == 1)
        fd = mkstemp(name);
    MPI_Bcast(name, sizeof name, MPI_CHAR, 1, MPI_COMM_WORLD);
    if (rank == 0)
        fd = open(name, O_RDWR);
    CHECK(fd >= 0);
    if (rank == 1)
        CHECK(ftruncate(fd, sizeof *shared) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  0);
    CHECK(shared != MAP_FAILED);
    MPI_Barrier(MPI_COMM_WORLD);
    close(fd);
    if (rank == 1)
        unlink(name);
}

/* Compute until the byte is no longer 0. Nothing tells this thread that it may
 * look there, but only this function does. After a failure nothing is waited
 * for. */
static __attribute__((no_sanitize("thread"))) int
compute_until_written(const volatile unsigned char *byte)
{
    double start = now_s();

    while (!*byte && !job_failures && now_s() - start < LIMIT_S)
        ;
    return *byte != 0;
}

static void compute_until_told(int times)
{
    double start = now_s();

    while (atomic_load(shared) < times && !job_failures &&
           now_s() - start < LIMIT_S)
        ;
    CHECK(atomic_load(shared) >= times);
}

/* Messages back and forth: the program polls all the time, and the progress
 * thread stays away. */
static void pass_ball(void)
{
    char ball = 0;

    for (int i = 0; i < TURNS; i++) {
        if (rank == 0)
            MPI_Send(&ball, 1, MPI_CHAR, 1, BALL, MPI_COMM_WORLD);
        MPI_Recv(&ball, 1, MPI_CHAR, 1 - rank, BALL, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&ball, 1, MPI_CHAR, 0, BALL, MPI_COMM_WORLD);
    }
}

/* A message without bytes is sent synchronously: who waits for it is answered
 * by the progress thread. */
static void send_to_computing(unsigned char *buf, int from, int to, int round)
{
    char ready;

    MPI_Recv(&ready, 1, MPI_CHAR, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = from; i < to; i++) {
        fill_buffer(buf, sizes[i], round + i);
        (sizes[i] ? MPI_Send : MPI_Ssend)(buf, sizes[i], MPI_BYTE, 1, DATA,
                                          MPI_COMM_WORLD);
    }
}

static void compute_while_received(unsigned char **bufs, int from, int to,
                                   int round)
{
    MPI_Request q[SIZES];
    char ready = 1;

    for (int i = from; i < to; i++) {
        memset(bufs[i], 0, (size_t)sizes[i]);
        MPI_Irecv(bufs[i], sizes[i], MPI_BYTE, round % 2 ? MPI_ANY_SOURCE : 0,
                  round % 3 ? DATA : MPI_ANY_TAG, MPI_COMM_WORLD, &q[i]);
    }
    MPI_Send(&ready, 1, MPI_CHAR, 0, READY, MPI_COMM_WORLD);
    for (int i = from; i < to; i++) {
        int written = !sizes[i] ||
                      compute_until_written(bufs[i] + sizes[i] - 1);
        if (!written && !job_failures)
            fprintf(stderr, "%d bytes were not delivered\n", sizes[i]);
        CHECK(written);
    }
    MPI_Waitall(to - from, q + from, MPI_STATUSES_IGNORE);
    for (int i = from; i < to; i++)
        check_buffer(bufs[i], sizes[i], round + i);
}

static void deliver_sizes(unsigned char **bufs, int from, int to, int round)
{
    if (rank == 0)
        send_to_computing(bufs[SIZES - 1], from, to, round);
    else
        compute_while_received(bufs, from, to, round);
}

/* Many messages for which no receive is posted: more than sockets hold, and
 * less than half of the credit that the test gives (64 MB).
 * The sends end while the receiver computes. */
static void store_many(unsigned char *buf, int round)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < MANY; i++) {
        fill_buffer(buf, STORED, i);
        MPI_Send(buf, STORED, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
    }
    if (rank == 0)
        atomic_fetch_add(shared, 1);
    else
        compute_until_told(round + 1);
    for (int i = 0; rank == 1 && i < MANY; i++) {
        MPI_Recv(buf, STORED, MPI_BYTE, 0, DATA, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        check_buffer(buf, STORED, i);
    }
}

int main(int argc, char **argv)
{
    unsigned char *bufs[SIZES];

    job_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < SIZES; i++)
        bufs[i] = malloc((size_t)sizes[i] + 1);
    map_page();
    for (int round = 0; round < ROUNDS; round++) {
        if (round % 2 == 0)
            pass_ball();
        deliver_sizes(bufs, 0, SMALL, round);
        deliver_sizes(bufs, SMALL, SIZES, round);
        if (round % 2)
            store_many(bufs[SIZES - 1], round / 2);
    }
    munmap(shared, sizeof *shared);
    for (int i = 0; i < SIZES; i++)
        free(bufs[i]);
    return job_end();
}
