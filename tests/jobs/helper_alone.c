/* A large message over shared memory is moved by the side that waits, while the
 * other one is outside MPI and has nobody in its place (core.progress =
 * caller).
 *
 *   job_helper_alone            the sender computes
 *   job_helper_alone receiver   the receiver, after it has matched the message;
 *                               its helper only notices the end
 *
 * Who "computes" waits for a signal from the other, sent when its call is over.
 * Where the kernel does not let processes read each other this says so.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "computing.h"

#include <stdint.h>
#include <sys/uio.h>

enum { LARGE = 16 << 20, ROUNDS = 12 };

static int rank;

/* May we read each other's memory? */
static int may_read_peer(void)
{
    static char mine[8];
    uint64_t at[2], here = (uintptr_t)mine;
    char its[8];
    struct iovec to = {its, 8}, from = {NULL, 8};
    int both, one;

    MPI_Allgather(&here, 1, MPI_UINT64_T, at, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    from.iov_base = (void *)(uintptr_t)at[1 - rank];
    one = process_vm_readv(pids[1 - rank], &to, 1, &from, 1, 0) == 8;
    MPI_Allreduce(&one, &both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return both;
}

static void check_result(const unsigned char *buf, int n, int round)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += buf[i] != (unsigned char)(round * 7 + i * 13 + (i >> 8));
    CHECK(wrong == 0);
}

static void fill_buffer(unsigned char *buf, int n, int round)
{
    for (int i = 0; i < n; i++)
        buf[i] = (unsigned char)(round * 7 + i * 13 + (i >> 8));
}

/* Some posted first, some found, some shorter than the receive. */
static void one_round(unsigned char *buf, int round, int computes)
{
    MPI_Request q;
    int n = LARGE - round % 3 * 12345;

    if (rank == 0) {
        fill_buffer(buf, n, round);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(buf, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &q);
    } else {
        memset(buf, 0xee, LARGE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (round & 1 || computes == 1)
            MPI_Probe(0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(buf, LARGE, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &q);
    }
    if (rank == computes)
        compute_until_called();
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (rank != computes)
        computing_call(1 - rank);
    if (rank == 1)
        check_result(buf, n, round);
}

int main(int argc, char **argv)
{
    unsigned char *buf = malloc(LARGE);
    int computes = argc > 1 && !strcmp(argv[1], "receiver");

    computing_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (may_read_peer()) {
        for (int i = 0; i < ROUNDS; i++)
            one_round(buf, i, computes);
    } else if (rank == 0)
        printf("left out: the kernel does not let processes read each other\n");
    free(buf);
    return job_end();
}
