/* This program measures blocking calls of two ranks, over sizes.
 *
 *   mpi_pingpong pong FIRST LAST FACTOR MS      back and forth: half of a trip
 *   mpi_pingpong ping FIRST LAST FACTOR MS      both send at once
 *   mpi_pingpong beside FIRST LAST FACTOR MS    as pong, after large
 *                                             messages (for other transports)
 *   mpi_pingpong named|any FIRST LAST FACTOR MS as pong, after large messages
 *                                               of several sizes; any: both
 *                                               receive from MPI_ANY_SOURCE
 *   mpi_pingpong alloc FIRST LAST FACTOR MS     as pong, in memory of
 *                                               MPI_Alloc_mem
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "repeat.h"

#include <stdbool.h>

enum { LARGE = 8 << 20, LARGE_FIRST = 1 << 20 };

struct pair {
    char *out, *in;
    int size, rank;
    int source; /* the other rank, or any */
    long times;
};

static void exchange_in_turn(const struct pair *p)
{
    if (p->rank == 0)
        MPI_Send(p->out, p->size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(p->in, p->size, MPI_BYTE, p->source, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (p->rank == 1)
        MPI_Send(p->out, p->size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static void exchange_at_once(const struct pair *p)
{
    MPI_Request sent;

    MPI_Isend(p->out, p->size, MPI_BYTE, 1 - p->rank, 1, MPI_COMM_WORLD, &sent);
    MPI_Recv(p->in, p->size, MPI_BYTE, 1 - p->rank, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static double time_pongs(void *what)
{
    const struct pair *p = what;
    double start = now_us();

    for (long i = 0; i < p->times; i++)
        exchange_in_turn(p);
    return (now_us() - start) / (double)(2 * p->times);
}

static double time_pings(void *what)
{
    const struct pair *p = what;
    double start = now_us();

    for (long i = 0; i < p->times; i++)
        exchange_at_once(p);
    return (now_us() - start) / (double)p->times;
}

static void measure_sizes(struct pair *p, batch_fn *batch, double limit_us)
{
    static _Thread_local double v[BATCHES];
    int n;

    p->times = 1;
    p->times = calibrate_batch(batch, p, BATCH_US);
    n = repeat_batches(batch, p, limit_us, v);
    if (p->rank == 0) {
        print_times("us", p->size, v, n);
        if (p->size > 0)
            print_rates("gbs", p->size, v, n, p->size / 1e3);
    }
}

static char *allocate_memory(const char *mode, long size)
{
    char *p;

    if (strcmp(mode, "alloc") != 0)
        return allocate_buffer((size_t)size);
    MPI_Alloc_mem(size, MPI_INFO_NULL, &p);
    memset(p, 1, (size_t)size);
    return p;
}

static void free_memory(const char *mode, char *p)
{
    if (strcmp(mode, "alloc") == 0)
        MPI_Free_mem(p);
    else
        free(p);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    batch_fn *batch = strcmp(argv[1], "ping") == 0 ? time_pings : time_pongs;
    long last = atol(argv[3]);
    struct pair p = {.rank = start_rank(&argc, &argv)};
    const char *mode = argv[1];
    bool beside = strcmp(mode, "beside") == 0 || strcmp(mode, "named") == 0 ||
                  strcmp(mode, "any") == 0;

    p.out = allocate_memory(argv[1], last + LARGE);
    p.in = allocate_memory(argv[1], last + LARGE);

    p.source = strcmp(mode, "any") == 0 ? MPI_ANY_SOURCE : 1 - p.rank;
    for (p.size = LARGE_FIRST; beside && p.size <= LARGE; p.size *= 2)
        exchange_in_turn(&p);
    for (long s = atol(argv[2]); s <= last; s = next_size(s, atol(argv[4]))) {
        p.size = (int)s;
        measure_sizes(&p, batch, atof(argv[5]) * 1e3);
    }
    free_memory(argv[1], p.out);
    free_memory(argv[1], p.in);
    MPI_Finalize();
    return 0;
}
