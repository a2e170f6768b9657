/* The helper thread (core.progress = thread): messages arrive while the program
 * is outside MPI, and its coming and going disturbs nobody.
 *
 * A rank that "computes" waits for a signal, which its peer sends when the
 * message is through. Without a helper it would never come.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "computing.h"


enum { LARGE = 3 << 20, ROUNDS = 150 };

static int rank, size;

static unsigned char byte_at(int round, int i)
{
    return (unsigned char)(round * 7 + i * 13 + (i >> 8));
}

static void fill_buffer(unsigned char *buf, int n, int round)
{
    for (int i = 0; i < n; i++)
        buf[i] = byte_at(round, i);
}

static void check_result(const unsigned char *buf, int n, int round)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += buf[i] != byte_at(round, i);
    CHECK(wrong == 0);
}

/* One of two ranks computes while the other waits in its call. */
static void one_computes(unsigned char *buf, int computes, int source)
{
    MPI_Request q = MPI_REQUEST_NULL;
    int round = 2 * computes + source;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 1)
        return;
    if (rank != source)
        MPI_Irecv(buf, LARGE, MPI_BYTE, source, 3, MPI_COMM_WORLD, &q);
    else {
        fill_buffer(buf, LARGE, round);
        MPI_Isend(buf, LARGE, MPI_BYTE, 1 - source, 3, MPI_COMM_WORLD, &q);
    }
    if (rank == computes)
        compute_until_called();
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (rank != computes)
        computing_call(1 - rank);
    if (rank != source)
        check_result(buf, LARGE, round);
}

/* The middle of a tree computes; the others wait for what passes through. */
static void run_collective(int *in, int *out)
{
    MPI_Request q;

    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < LARGE / 8; i++)
        in[i] = rank + i;
    MPI_Iallreduce(in, out, LARGE / 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q);
    if (rank == size - 1)
        compute_until_called();
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (rank == 0)
        computing_call(size - 1);
    for (int i = 0; i < LARGE / 8; i += 1001)
        CHECK(out[i] == size * (size - 1) / 2 + size * i);
}

static int bytes_of(int round, int sender)
{
    static const int sizes[] = {8,     200000, 1, 70000,
                                40000, 600000, 0, 64 << 10};

    return sizes[(round * 3 + sender) % 8];
}

/* Large and small messages around a ring, waited for in several ways. */
static void pass_ring(unsigned char *out, unsigned char *in, int round)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int n = bytes_of(round, rank), m = bytes_of(round, from);
    int token = round, done = 0;
    MPI_Request q[2];

    fill_buffer(out, n, round);
    MPI_Irecv(in, LARGE, MPI_BYTE, round % 2 ? from : MPI_ANY_SOURCE, 4,
              MPI_COMM_WORLD, &q[0]);
    MPI_Isend(out, n, MPI_BYTE, to, 4, MPI_COMM_WORLD, &q[1]);
    MPI_Sendrecv_replace(&token, 1, MPI_INT, to, 5, from, 5, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    CHECK(token == round);
    while (round % 3 == 0 && !done)
        MPI_Testall(2, q, &done, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    check_result(in, m, round);
    if (round % 16 == 0)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* An operation that was started before may end after the program has freed its
 * request. */
static void let_go(unsigned char *out, unsigned char *in)
{
    MPI_Request q, unused;

    MPI_Irecv(in, LARGE, MPI_BYTE, rank, 77, MPI_COMM_WORLD, &unused);
    MPI_Cancel(&unused);
    MPI_Wait(&unused, MPI_STATUS_IGNORE);
    MPI_Isend(out, LARGE, MPI_BYTE, (rank + 1) % size, 6, MPI_COMM_WORLD, &q);
    MPI_Request_free(&q);
    MPI_Recv(in, LARGE, MPI_BYTE, (rank + size - 1) % size, 6, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    unsigned char *a = malloc(LARGE), *b = malloc(LARGE);

    computing_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; size > 1 && i < 4; i++)
        one_computes(a, i & 1, i >> 1);
    if (size > 1)
        run_collective((int *)(void *)a, (int *)(void *)b);
    for (int i = 0; i < ROUNDS; i++)
        pass_ring(a, b, i);
    let_go(a, b);
    MPI_Barrier(MPI_COMM_WORLD);
    free(a);
    free(b);
    return job_end();
}
