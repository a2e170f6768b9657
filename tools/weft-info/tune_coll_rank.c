/* weft-info --tune-collective-rank NAME MS is one of the ranks that measure.
 *
 * Rank 0 prints "bytes microseconds" per call for each size; the bytes are
 * those that the rules of the collective compare.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tune_coll.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 64, FACTOR = 8, BATCHES = 5 };

struct calls {
    char *in, *out;
    int size, ranks; /* bytes that count */
};

static int block_size(const struct calls *c)
{
    return (c->size + c->ranks - 1) / c->ranks;
}

static void call_allgather(const struct calls *c)
{
    MPI_Allgather(c->in, block_size(c), MPI_BYTE, c->out, block_size(c),
                  MPI_BYTE, MPI_COMM_WORLD);
}

static void call_allreduce(const struct calls *c)
{
    MPI_Allreduce(c->in, c->out, c->size / 8, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void call_alltoall(const struct calls *c)
{
    MPI_Alltoall(c->in, c->size, MPI_BYTE, c->out, c->size, MPI_BYTE,
                 MPI_COMM_WORLD);
}

static void call_bcast(const struct calls *c)
{
    MPI_Bcast(c->out, c->size, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void call_gather(const struct calls *c)
{
    MPI_Gather(c->in, c->size, MPI_BYTE, c->out, c->size, MPI_BYTE, 0,
               MPI_COMM_WORLD);
}

static void call_reduce(const struct calls *c)
{
    MPI_Reduce(c->in, c->out, c->size / 8, MPI_DOUBLE, MPI_SUM, 0,
               MPI_COMM_WORLD);
}

static void reduce_scatter(const struct calls *c)
{
    MPI_Reduce_scatter_block(c->in, c->out, (block_size(c) + 7) / 8, MPI_DOUBLE,
                             MPI_SUM, MPI_COMM_WORLD);
}

static void call_scan(const struct calls *c)
{
    MPI_Scan(c->in, c->out, c->size / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_scatter(const struct calls *c)
{
    MPI_Scatter(c->in, c->size, MPI_BYTE, c->out, c->size, MPI_BYTE, 0,
                MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*call)(const struct calls *);
    bool blocks; /* size is of one of as many blocks as there are ranks */
} known[] = {{"allgather", call_allgather, false},
             {"allreduce", call_allreduce, false},
             {"alltoall", call_alltoall, true},
             {"bcast", call_bcast, false},
             {"gather", call_gather, true},
             {"reduce", call_reduce, false},
             {"reduce_scatter", reduce_scatter, false},
             {"scan", call_scan, false},
             {"scatter", call_scatter, true}};

static double batch_us(void (*call)(const struct calls *),
                       const struct calls *c, int times)
{
    double took, longest;
    MPI_Barrier(MPI_COMM_WORLD);
    took = MPI_Wtime();
    for (int i = 0; i < times; i++)
        call(c);
    took = (MPI_Wtime() - took) * 1e6 / times;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

/* Returns the shortest of a few batches, which together take about so long; a
 * call that takes longer is made three times. */
static double measure_call(void (*call)(const struct calls *),
                      const struct calls *c, double limit_us)
{
    double best = batch_us(call, c, 1), once = batch_us(call, c, 1);
    int times = once > 0 ? (int)(limit_us / BATCHES / once) : 1;
    int batches = times > 0 ? BATCHES : 1; /* the same on all ranks */
    times = times > 0 ? times : 1;
    best = once < best ? once : best;
    for (int i = 0; i < batches; i++) {
        double us = batch_us(call, c, times);
        best = us < best ? us : best;
    }
    return best;
}

int info_tune_collective_rank(int argc, char **argv)
{
    struct calls c = {.size = FIRST};
    size_t which = 0, n = sizeof known / sizeof known[0], room;
    int rank, sizes;
    while (argc == 2 && which < n && strcmp(argv[0], known[which].name) != 0)
        which++;
    if (argc != 2 || which == n)
        return 2;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
    sizes = known[which].blocks ? COLL_BLOCK_SIZES : COLL_SIZES;
    room = (size_t)FIRST << (3 * (sizes - 1));
    room = (room + 8) * (known[which].blocks ? (size_t)c.ranks : 1) +
           16 * (size_t)c.ranks;
    c.in = calloc(1, room);
    c.out = calloc(1, room);
    if (c.in == NULL || c.out == NULL)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < sizes; i++, c.size *= FACTOR) {
        double us = measure_call(known[which].call, &c, atof(argv[1]) * 1e3);
        if (rank == 0)
            printf("%d %.6g\n", c.size, us);
    }
    MPI_Finalize();
    free(c.in);
    free(c.out);
    return 0;
}
