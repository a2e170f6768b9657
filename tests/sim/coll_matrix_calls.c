/* Each collective of the standard in its six forms: blocking, nonblocking and
 * persistent, with int and with large counts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_matrix.h"

#define FORM(suffix, Name, name, ...)                                          \
    (c->mode == MX_BLOCKING ? MPI_##Name##suffix(__VA_ARGS__)                  \
     : c->mode == MX_NONBLOCKING                                               \
         ? MPI_I##name##suffix(__VA_ARGS__, &c->request)                       \
         : MPI_##Name##_init##suffix(__VA_ARGS__, MPI_INFO_NULL, &c->request))

/* Counts that convert by themselves. */
#define PLAIN(Name, name, ...)                                                 \
    static int name##_start(struct mx_call *c)                                 \
    {                                                                          \
        return c->large ? FORM(_c, Name, name, __VA_ARGS__)                    \
                        : FORM(, Name, name, __VA_ARGS__);                     \
    }

/* Arrays, of int in the one and of MPI_Count and MPI_Aint in the other. */
#define ARRAYS(Name, name, ints, large_ones)                                   \
    static int name##_start(struct mx_call *c)                                 \
    {                                                                          \
        return c->large ? FORM_OF(_c, Name, name, OPEN large_ones)             \
                        : FORM_OF(, Name, name, OPEN ints);                    \
    }
#define FORM_OF(suffix, Name, name, ...) FORM(suffix, Name, name, __VA_ARGS__)
#define OPEN(...) __VA_ARGS__

#define SEND c->s.buf, c->s.count, c->s.type
#define RECV c->r.buf, c->r.count, c->r.type
#define SENDV c->s.buf, c->s.counts, c->s.displs, c->s.type
#define RECVV c->r.buf, c->r.counts, c->r.displs, c->r.type
#define SENDV_C c->s.buf, c->s.counts_c, c->s.displs_c, c->s.type
#define RECVV_C c->r.buf, c->r.counts_c, c->r.displs_c, c->r.type
#define SENDW c->s.buf, c->s.counts, c->s.displs, c->s.types
#define RECVW c->r.buf, c->r.counts, c->r.displs, c->r.types
#define SENDW_C c->s.buf, c->s.counts_c, c->s.displs_c, c->s.types
#define RECVW_C c->r.buf, c->r.counts_c, c->r.displs_c, c->r.types

static int barrier_start(struct mx_call *c)
{
    return FORM(, Barrier, barrier, c->comm);
}

PLAIN(Bcast, bcast, RECV, c->root, c->comm)
PLAIN(Gather, gather, SEND, RECV, c->root, c->comm)
PLAIN(Scatter, scatter, SEND, RECV, c->root, c->comm)
PLAIN(Allgather, allgather, SEND, RECV, c->comm)
PLAIN(Alltoall, alltoall, SEND, RECV, c->comm)
PLAIN(Neighbor_allgather, neighbor_allgather, SEND, RECV, c->comm)
PLAIN(Neighbor_alltoall, neighbor_alltoall, SEND, RECV, c->comm)
ARRAYS(Gatherv, gatherv, (SEND, RECVV, c->root, c->comm),
       (SEND, RECVV_C, c->root, c->comm))
ARRAYS(Scatterv, scatterv, (SENDV, RECV, c->root, c->comm),
       (SENDV_C, RECV, c->root, c->comm))
ARRAYS(Allgatherv, allgatherv, (SEND, RECVV, c->comm), (SEND, RECVV_C, c->comm))
ARRAYS(Alltoallv, alltoallv, (SENDV, RECVV, c->comm),
       (SENDV_C, RECVV_C, c->comm))
ARRAYS(Alltoallw, alltoallw, (SENDW, RECVW, c->comm),
       (SENDW_C, RECVW_C, c->comm))
ARRAYS(Neighbor_allgatherv, neighbor_allgatherv, (SEND, RECVV, c->comm),
       (SEND, RECVV_C, c->comm))
ARRAYS(Neighbor_alltoallv, neighbor_alltoallv, (SENDV, RECVV, c->comm),
       (SENDV_C, RECVV_C, c->comm))
ARRAYS(Neighbor_alltoallw, neighbor_alltoallw,
       (c->s.buf, c->s.counts, c->s.displs_c, c->s.types, c->r.buf,
        c->r.counts, c->r.displs_c, c->r.types, c->comm),
       (SENDW_C, RECVW_C, c->comm))

#define FOLD c->s.buf, c->r.buf, c->r.count, c->r.type, c->op
PLAIN(Reduce, reduce, FOLD, c->root, c->comm)
PLAIN(Allreduce, allreduce, FOLD, c->comm)
PLAIN(Reduce_scatter_block, reduce_scatter_block, FOLD, c->comm)
PLAIN(Scan, scan, FOLD, c->comm)
PLAIN(Exscan, exscan, FOLD, c->comm)
ARRAYS(Reduce_scatter, reduce_scatter,
       (c->s.buf, c->r.buf, c->r.counts, c->r.type, c->op, c->comm),
       (c->s.buf, c->r.buf, c->r.counts_c, c->r.type, c->op, c->comm))

enum {
    SCANS = MX_FOLD | MX_BELOW | MX_NO_INTER,
    NEAR = MX_NEAR | MX_NO_PLACE | MX_NO_INTER | MX_FROM_MANY
};

const struct mx_coll mx_colls[] = {
    {"barrier", MX_NO_COUNT | MX_NO_PLACE, barrier_start},
    {"bcast", MX_FROM_ROOT | MX_NO_PLACE, bcast_start},
    {"gather", MX_TO_ROOT | MX_FROM_MANY, gather_start},
    {"gatherv", MX_TO_ROOT | MX_FROM_MANY | MX_VARY, gatherv_start},
    {"scatter", MX_FROM_ROOT | MX_TO_MANY, scatter_start},
    {"scatterv", MX_FROM_ROOT | MX_TO_MANY | MX_VARY, scatterv_start},
    {"allgather", MX_FROM_MANY, allgather_start},
    {"allgatherv", MX_FROM_MANY | MX_VARY, allgatherv_start},
    {"alltoall", MX_TO_MANY | MX_FROM_MANY, alltoall_start},
    {"alltoallv", MX_TO_MANY | MX_FROM_MANY | MX_VARY, alltoallv_start},
    {"alltoallw", MX_TO_MANY | MX_FROM_MANY | MX_VARY | MX_BYTES,
     alltoallw_start},
    {"reduce", MX_FOLD | MX_TO_ROOT, reduce_start},
    {"allreduce", MX_FOLD, allreduce_start},
    {"reduce_scatter_block", MX_FOLD | MX_SPLIT, reduce_scatter_block_start},
    {"reduce_scatter", MX_FOLD | MX_SPLIT | MX_VARY, reduce_scatter_start},
    {"scan", SCANS, scan_start},
    {"exscan", SCANS | MX_NOT_OWN, exscan_start},
    {"neighbor_allgather", NEAR, neighbor_allgather_start},
    {"neighbor_allgatherv", NEAR | MX_VARY, neighbor_allgatherv_start},
    {"neighbor_alltoall", NEAR | MX_TO_MANY, neighbor_alltoall_start},
    {"neighbor_alltoallv", NEAR | MX_TO_MANY | MX_VARY,
     neighbor_alltoallv_start},
    {"neighbor_alltoallw", NEAR | MX_TO_MANY | MX_VARY | MX_BYTES,
     neighbor_alltoallw_start},
};
const int mx_coll_count = sizeof mx_colls / sizeof mx_colls[0];
