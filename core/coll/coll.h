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

#include "coll/choice.h"
#include "coll/schedule.h"
#include "report/trace.h"

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
    wf_build_exscan, wf_build_neighbor_allgather, wf_build_neighbor_allgatherv,
    wf_build_neighbor_alltoall, wf_build_neighbor_alltoallv,
    wf_build_neighbor_alltoallw;

/* Builds a schedule that is to run. On an error of an argument that error is
 * returned, and nothing has happened. With `direct`, vertices that can be
 * performed at once are performed while the schedule is built. */
int wf_coll_build(wf_coll_builder *, const struct wf_coll_args *, bool direct,
                  struct wf_sched **);
/* Run a builder as a blocking, nonblocking or persistent operation. */
int wf_coll_run_blocking(wf_coll_builder *, const struct wf_coll_args *);
int wf_coll_start_nonblocking(wf_coll_builder *, const struct wf_coll_args *,
                              MPI_Request *);
int wf_coll_make_persistent(wf_coll_builder *, const struct wf_coll_args *,
                            MPI_Request *);

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
/* Records such a collective in the trace. */
void wf_shmcoll_note_call(const struct wf_comm *);
/* Runs a blocking collective through shared memory if there is some, or else by
 * its schedule. */
static inline int wf_coll_run_shared(wf_coll_builder *builder,
                                     const struct wf_coll_args *a,
                                     wf_shmcoll_collective *team)
{
    if (wf_likely(wf_shmcoll_is_usable(a->comm)) ||
        wf_shmcoll_catch_up(a->comm)) {
        if (WF_TRACE && wf_unlikely(a->comm->traced))
            wf_shmcoll_note_call(a->comm);
        return team(builder, a);
    }
    return wf_shmcoll_run_before_setup(builder, a);
}
/* Builds a barrier that also computes the OR of one byte of each rank; rbuf is
 * a struct wf_oversubscription. */
wf_coll_builder wf_coll_build_barrier_with_flags;
/* Replaces *flags by the OR of the bytes of all ranks, or returns an error. */
int wf_barrier_agree_on_flags(struct wf_comm *, uint8_t *flags);

/* ---- arguments: args.c --------------------------------------------------- */

/* Checks return MPI_SUCCESS or the recorded error. They check only what the
 * bindings cannot know: significance, MPI_IN_PLACE, aliasing, operation against
 * type. */
int wf_coll_check_root(const struct wf_coll_args *);
int wf_coll_check_send(const struct wf_coll_args *);
int wf_coll_check_recv(const struct wf_coll_args *);
int wf_coll_check_counts(struct wf_ints, int n, const char *what);
/* sbuf may be MPI_IN_PLACE if `allowed`; rbuf may never be. */
int wf_coll_check_in_place(const struct wf_coll_args *, bool allowed);
/* `own` is the place in rbuf of this process's contribution. */
int wf_coll_check_alias(const struct wf_coll_args *, const void *own);
/* Checks everything about the operation and the buffers of a reduction. */
int wf_coll_check_reduce(const struct wf_coll_args *, bool in_place_allowed);

/* ---- blocks -------------------------------------------------------------- */

/* Returns the address of element i; also right for MPI_BOTTOM. */
static inline char *wf_coll_element_at(const void *buf, int64_t i,
                                       const struct wf_type *t)
{
    return (char *)((uintptr_t)buf + (uintptr_t)(i * t->extent));
}

static inline uint64_t wf_coll_rcount(const struct wf_coll_args *a, int i)
{
    return a->rcounts.base ? (uint64_t)wf_int_at(a->rcounts, (size_t)i) : a->rcount;
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
    return a->scounts.base ? (uint64_t)wf_int_at(a->scounts, (size_t)i) : a->scount;
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

/* Return the block of peer i. alltoallw counts displacements in bytes and has a
 * type for every peer. */
struct wf_coll_block wf_coll_recv_block(const struct wf_coll_args *, int i);
struct wf_coll_block wf_coll_send_block(const struct wf_coll_args *, int i);

/* Returns the type of packed data. */
struct wf_type *wf_coll_byte(void);
/* Allocates scratch memory for `count` elements. Returns the address to use as
 * their buffer, whatever the type's lower bound; writes past extent gaps stay
 * inside. */
void *wf_coll_alloc_temp(struct wf_sched *, uint64_t count,
                         const struct wf_type *);

/* ---- decisions: decision.c, decision.def --------------------------------- */

/* Chooses the algorithm of a collective over the ranks of g. `able` is the set
 * of algorithms that can do this call, the same on all ranks. */
enum wf_coll_algorithm wf_coll_choose(struct wf_sched *, struct wf_comm *g,
                                      enum wf_coll_kind, uint64_t bytes,
                                      uint32_t able);
/* Returns the rule that decides. *no_memory (if not NULL) is set if a rule was
 * left out because memory for the layout of nodes was lacking. */
const struct wf_coll_rule *wf_coll_find_rule(struct wf_comm *g,
                                             enum wf_coll_kind, uint64_t bytes,
                                             uint32_t able, bool *no_memory);

/* ---- collectives on an intracommunicator --------------------------------- */

/* Each chooses the algorithm and builds it; arguments are checked. For an
 * allgather of differing blocks `a` has counts and displacements; a gather is
 * given the bytes of a block. */
void wf_coll_bcast(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_reduce(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_allreduce(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_allgather(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_gather(struct wf_sched *, const struct wf_coll_args *,
                    uint64_t block);

/* ---- algorithms in files of their own ------------------------------------ */

/* nodes.c: two levels */
void wf_coll_barrier_nodes(struct wf_sched *, struct wf_comm *);
void wf_coll_bcast_nodes(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_reduce_nodes(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_allreduce_nodes(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_allgather_nodes(struct wf_sched *, const struct wf_coll_args *);
/* halving.c. The scatter reduces src, which has `total` elements in consecutive
 * blocks of a's receive counts; the own block goes to out. */
void wf_coll_allreduce_halving(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_scatter_halving(struct wf_sched *, const struct wf_coll_args *,
                             const void *src, uint64_t total, void *out);
/* ring.c reduces src; the own block goes to out, or if out is NULL into its
 * place in a's rbuf, whose other blocks then serve as scratch memory. */
void wf_coll_reduce_ring(struct wf_sched *, const struct wf_comm *g,
                         const struct wf_coll_args *a, const void *src,
                         void *out);
/* chain.c. For the scan the own operand is in sum, which becomes the sum of all
 * ranks up to this one; the sum of the lower ranks goes to lower. */
void wf_coll_reduce_chain(struct wf_sched *, const struct wf_coll_args *);
void wf_coll_scan_chain(struct wf_sched *, const struct wf_coll_args *,
                        void *lower, void *sum);
/* bcast_scatter.c */
void wf_coll_bcast_scatter(struct wf_sched *, const struct wf_coll_args *);

/* ---- parts that algorithms share ----------------------------------------- */

/* Each function here adds vertices that depend only on the newest fence and one
 * another. */
void wf_coll_bcast_tree(struct wf_sched *, const struct wf_comm *g, void *buf,
                        uint64_t count, struct wf_type *, int root);
/* Returns the bytes of a broadcast: the program's memory if it is contiguous,
 * or else a packed copy, which is filled at the root. NULL: out of memory,
 * which the schedule remembers. wf_coll_unpack_bcast copies received bytes back
 * to the program's memory. */
char *wf_coll_pack_bcast(struct wf_sched *, const struct wf_coll_args *,
                         uint64_t bytes);
void wf_coll_unpack_bcast(struct wf_sched *, const struct wf_coll_args *,
                          const char *packed, uint64_t bytes);
/* barrier.c: a dissemination; signals from all to rank 0; signals from rank 0
 * to all. */
void wf_coll_disseminate(struct wf_sched *, const struct wf_comm *g);
void wf_coll_signal_up(struct wf_sched *, const struct wf_comm *g);
void wf_coll_signal_down(struct wf_sched *, const struct wf_comm *g);
/* Reduces sbuf (rbuf if MPI_IN_PLACE) of all ranks to rbuf of the root, in rank
 * order. */
void wf_coll_reduce_tree(struct wf_sched *, const struct wf_comm *g,
                         const struct wf_coll_args *);
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
void wf_coll_reduce_blocks(struct wf_coll_blocks *);
/* Receives the segments that the `reduced` callbacks of the other ranks send,
 * into their blocks of a's rbuf. These blocks may overlap src, because a rank
 * sends a segment only after it has received this rank's contribution to it. */
void wf_coll_recv_reduced(struct wf_coll_blocks *);
/* Sends every rank's block of rbuf to all; the own block is in its place. */
void wf_coll_allgather_ring(struct wf_sched *, const struct wf_comm *g,
                            const struct wf_coll_args *);
/* Sends the blocks of the root's sbuf to rbuf of all. */
void wf_coll_scatter_linear(struct wf_sched *, const struct wf_comm *g,
                            const struct wf_coll_args *);
/* Cuts rcount elements into one block per rank of g: sets counts and
 * displacements of *a. False: out of memory, which the schedule remembers. */
bool wf_coll_split_vector(struct wf_sched *, const struct wf_comm *g,
                          struct wf_coll_args *a);

#endif
