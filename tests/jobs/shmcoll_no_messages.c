/* Small collectives of ranks that share memory send no message: each of them,
 * on memory of its own and in place.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdbool.h>

#include "sent.h"

enum { N = 4, MOST = 72, CALLS = 20 /* until there is a team, and more */ };

static int in[N * MOST], out[N * MOST];
static int counts[MOST], at[MOST];
static struct {
    double v;
    int i;
} pair_in[N], pair_out[N];
static MPI_Op own_op;

#define W MPI_COMM_WORLD
#define I N, MPI_INT
#define V counts, at, MPI_INT
#define CALL(name, ...)                                                        \
    static void do_##name(void *own) { MPI_##name(__VA_ARGS__); }

CALL(Barrier, W)
CALL(Bcast, in, I, 0, W)
CALL(Gather, own, I, out, I, 1, W)
CALL(Gatherv, own, I, out, V, 1, W)
CALL(Scatter, in, I, out, I, 1, W)
CALL(Scatterv, in, V, out, I, 1, W)
CALL(Allgather, own, I, out, I, W)
CALL(Allgatherv, own, I, out, V, W)
CALL(Alltoall, own, I, out, I, W)
CALL(Alltoallv, own, V, out, V, W)
CALL(Reduce, in, out, I, MPI_SUM, 1, W)
CALL(Allreduce, own, out, I, MPI_SUM, W)
CALL(Reduce_scatter_block, own, out, I, MPI_SUM, W)
CALL(Reduce_scatter, own, out, counts, MPI_INT, MPI_SUM, W)
CALL(Scan, own, out, I, MPI_SUM, W)
CALL(Exscan, own, out, I, MPI_SUM, W)

#define UNUSUAL(name, call)                                                    \
    static void do_##name(void *own) { call; (void)own; }
UNUSUAL(Maxloc, MPI_Allreduce(pair_in, pair_out, N, MPI_DOUBLE_INT, MPI_MAXLOC,
                              W))
UNUSUAL(Maxloc_to_root, MPI_Reduce(pair_in, pair_out, N, MPI_DOUBLE_INT,
                                   MPI_MAXLOC, 1, W))
UNUSUAL(Own_sum, MPI_Allreduce(in, out, I, own_op, W))
UNUSUAL(Own_sum_to_root, MPI_Reduce(in, out, I, own_op, 1, W))
UNUSUAL(Own_sum_of_blocks, MPI_Reduce_scatter_block(in, out, I, own_op, W))

static void add_ints(void *invec, void *inoutvec, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inoutvec)[i] += ((int *)invec)[i];
}

#define NAME(name, in_place) {#name, do_##name, in_place, false}
static const struct {
    const char *name;
    void (*call)(void *own);
    bool in_place;
    bool few; /* of more than 64 ranks, messages */
} calls[] = {
    NAME(Barrier, false),    NAME(Bcast, false),
    NAME(Gather, false),     NAME(Gatherv, false),
    NAME(Scatter, false),    NAME(Scatterv, false),
    NAME(Allgather, true),   NAME(Allgatherv, true),
    NAME(Alltoall, false),   NAME(Alltoallv, false), /* messages, in place */
    NAME(Reduce, false),     NAME(Allreduce, true),
    NAME(Reduce_scatter_block, true), NAME(Reduce_scatter, true),
    {"Scan", do_Scan, true, true}, {"Exscan", do_Exscan, true, true},
    NAME(Maxloc, false),     NAME(Maxloc_to_root, false),
    NAME(Own_sum, false),    NAME(Own_sum_to_root, false),
    NAME(Own_sum_of_blocks, false),
};

static void is_quiet(int k, void *own)
{
    unsigned long long before = 0;

    for (int i = 0; i < CALLS; i++) {
        before = bytes_sent("shm");
        calls[k].call(own);
    }
    before = bytes_sent("shm") - before;
    if (before)
        fprintf(stderr, "MPI_%s%s sent %llu bytes\n", calls[k].name,
                own == MPI_IN_PLACE ? " in place" : "", before);
    CHECK(before == 0);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    MPI_Op_create(add_ints, 1, &own_op);
    for (int r = 0; r < size_of(W); r++) {
        counts[r] = N;
        at[r] = N * r;
    }
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        if (calls[k].few && size_of(W) > 64)
            continue;
        is_quiet((int)k, in);
        if (calls[k].in_place)
            is_quiet((int)k, MPI_IN_PLACE);
    }
    MPI_Op_free(&own_op);
    return job_end();
}
