/* Collectives: their arguments, the choice of an algorithm, and the parts that
 * algorithms share.
 *
 * Every MPI collective is one builder, wf_build_<name>, which puts its vertices
 * into a schedule. The three functions of MPI that run this schedule blocking,
 * nonblocking or persistent follow from it (core/api/forms.py).
 *
 * CONVENTIONS
 *   A builder returns an MPI error class; it has checked its arguments before
 *   it adds the first vertex.
 *   `g` is the intracommunicator whose ranks an algorithm runs over: the
 *   communicator itself, or local_comm of an intercommunicator, for which the
 *   caller has switched the schedule with wf_sched_use_local_group.
 *   `in` is the lower rank's operand wherever wf_sched_reduce is called, so
 *   that every algorithm evaluates in rank order (MPI-5.0 s6.9.1).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_H
#define WF_COLL_H

#include "coll/schedule.h"
#include "config/coll_rules.h"
#include "process/rank.h"
#include "report/trace_note.h"

/* The arguments of all collectives together. Reductions use rcount and rtype;
 * bcast uses rbuf, rcount, rtype. */
struct wf_coll_args {
    struct wf_comm *comm;
    const void *sbuf;
    void *rbuf;
    uint64_t scount, rcount;
    struct wf_type *stype, *rtype;
    struct wf_ints scounts, sdispls, rcounts, rdispls; /* base NULL: uniform */
    const MPI_Datatype *stypes, *rtypes;               /* alltoallw */
    struct wf_op *op;
    int root;
};

/* The structure is cleared in two halves: gcc clears one block of this size by
 * `rep stos`, which takes longer to begin than a small collective needs for the
 * rest. */
static inline void wf_coll_clear_args(struct wf_coll_args *a)
{
    enum { HALF = offsetof(struct wf_coll_args, rcounts) };

    memset(a, 0, HALF);
    memset((char *)a + HALF, 0, sizeof *a - HALF);
}

/* Returns true if a block has no bytes. */
static inline bool wf_coll_is_block_empty(MPI_Count count,
                                          const struct wf_type *type)
{
    return count * type->size == 0;
}

/* Returns true if the blocks of all ranks together have no bytes. */
static inline bool wf_coll_are_blocks_empty(struct wf_ints counts,
                                            const struct wf_type *type,
                                            const struct wf_comm *comm)
{
    int i = 0;

    while (counts.base && i < comm->size && wf_int_at(counts, (size_t)i) == 0)
        i++;
    return i == comm->size || (counts.base && type->size == 0);
}

/* A builder: puts the vertices of a collective into the schedule. */
typedef int wf_coll_builder(struct wf_sched *, const struct wf_coll_args *);
wf_coll_builder wf_build_barrier, wf_build_bcast, wf_build_gather,
    wf_build_gatherv, wf_build_scatter, wf_build_scatterv, wf_build_allgather,
    wf_build_allgatherv, wf_build_alltoall, wf_build_alltoallv,
    wf_build_alltoallw, wf_build_reduce, wf_build_allreduce,
    wf_build_reduce_scatter, wf_build_reduce_scatter_block, wf_build_scan,
    wf_build_exscan;

/* A blocking collective through shared memory (shm/shmcoll.h), for members of
 * one node that share a segment. The builder is that of the schedule to fall
 * back to. */
typedef int wf_shmcoll_collective(wf_coll_builder *,
                                  const struct wf_coll_args *);
static inline bool wf_shmcoll_is_usable(const struct wf_comm *comm)
{
    return comm->shmcoll_usable;
}
/* Sets up the shared memory if a set-up is overdue; returns true if there is
 * one then. */
static inline bool wf_shmcoll_catch_up(struct wf_comm *comm)
{
    wf_comm_catch_up(comm);
    return comm->shmcoll_usable;
}
wf_shmcoll_collective wf_shmcoll_run_before_setup, wf_shmcoll_bcast,
    wf_shmcoll_gather, wf_shmcoll_gatherv, wf_shmcoll_scatter,
    wf_shmcoll_scatterv, wf_shmcoll_allgather, wf_shmcoll_allgatherv,
    wf_shmcoll_alltoall, wf_shmcoll_alltoallv, wf_shmcoll_reduce,
    wf_shmcoll_allreduce, wf_shmcoll_reduce_scatter,
    wf_shmcoll_reduce_scatter_block, wf_shmcoll_scan, wf_shmcoll_exscan;
/* Makes the set-up the next step of a communicator with many members in several
 * processes. */
void wf_shmcoll_hasten(struct wf_comm *);
/* Records a collective through shared memory in the trace. */
void wf_shmcoll_note_call(const struct wf_comm *);
/* Runs a collective through shared memory that is recorded or timed. */
int wf_shmcoll_run_watched(wf_coll_builder *, const struct wf_coll_args *,
                           wf_shmcoll_collective *);
/* Runs a blocking collective through shared memory if there is some, or else by
 * its schedule. */
static inline int wf_coll_run_shared(wf_coll_builder *builder,
                                     const struct wf_coll_args *a,
                                     wf_shmcoll_collective *team)
{
    if (wf_likely(wf_shmcoll_is_usable(a->comm)) ||
        wf_shmcoll_catch_up(a->comm)) {
        return wf_unlikely(wf_load_relaxed(&a->comm->wf->rank->slow_calls))
                   ? wf_shmcoll_run_watched(builder, a, team)
                   : team(builder, a);
    }
    return wf_shmcoll_run_before_setup(builder, a);
}
/* The same for a call in which each member has something for every other. By
 * messages it would connect all pairs, which takes longer than to set up the
 * shared memory of many members: that is done before. */
static inline int wf_coll_run_among_all(wf_coll_builder *builder,
                                        const struct wf_coll_args *a,
                                        wf_shmcoll_collective *team)
{
    if (wf_unlikely(a->comm->shmcoll_countdown > 1))
        wf_shmcoll_hasten(a->comm);
    return wf_coll_run_shared(builder, a, team);
}
/* Builds a barrier that also computes the OR of one byte of each rank; rbuf is
 * a struct wf_oversubscription. */
wf_coll_builder wf_coll_build_barrier_with_flags;

/* ---- blocks -------------------------------------------------------------- */

/* Returns the address of element i; also right for MPI_BOTTOM. */
static inline char *wf_coll_element_at(const void *buf, int64_t i,
                                       const struct wf_type *t)
{
    return (char *)((uintptr_t)buf + (uintptr_t)(i * t->extent));
}

static inline uint64_t wf_coll_rcount(const struct wf_coll_args *a, int i)
{
    return a->rcounts.base ? (uint64_t)wf_int_at(a->rcounts, (size_t)i)
                           : a->rcount;
}

static inline char *wf_coll_rblock(const struct wf_coll_args *a, int i)
{
    int64_t d = a->rdispls.base ? (int64_t)wf_int_at(a->rdispls, (size_t)i)
                                : i * (int64_t)a->rcount;
    return wf_coll_element_at(a->rbuf, d, a->rtype);
}

static inline uint64_t wf_coll_rbytes(const struct wf_coll_args *a, int i)
{
    return wf_coll_rcount(a, i) * (uint64_t)a->rtype->size;
}

static inline uint64_t wf_coll_scount(const struct wf_coll_args *a, int i)
{
    return a->scounts.base ? (uint64_t)wf_int_at(a->scounts, (size_t)i)
                           : a->scount;
}

static inline char *wf_coll_sblock(const struct wf_coll_args *a, int i)
{
    int64_t d = a->sdispls.base ? (int64_t)wf_int_at(a->sdispls, (size_t)i)
                                : i * (int64_t)a->scount;
    return wf_coll_element_at(a->sbuf, d, a->stype);
}

/* One peer's block of a send or receive buffer. */
struct wf_coll_block {
    void *buf;
    uint64_t count;
    struct wf_type *type;
};

static inline uint64_t wf_coll_block_bytes(struct wf_coll_block b)
{
    return b.count * (uint64_t)b.type->size;
}

/* A reduction by blocks (blocks.c): block i of src, by a's receive counts, is
 * reduced into `out` of rank i, segment by segment. */
struct wf_coll_blocks {
    struct wf_sched *s;
    const struct wf_comm *g;
    const struct wf_coll_args *a;
    const void *src;
    void *out; /* the own block of src, or memory that overlaps no source */
    /* Called when the vertices for elements [first, first + count) of the own
     * block are made: they are ready after `vertex` (-1: now). NULL: nothing
     * follows. */
    void (*reduced)(struct wf_coll_blocks *, uint64_t first, uint64_t count,
                    int vertex);
    bool to_all;   /* the reduced block goes to every rank */
    bool in_place; /* set by blocks.c: `out` is where the own source is */
};

#endif
