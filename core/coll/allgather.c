/* Allgather and allgatherv.
 *
 *   Bruck   ceil(log2 p) rounds; packed blocks in a scratch vector that starts
 *           with the own block: position j is rank + j (Bruck et al. 1997)
 *   ring    p - 1 steps straight between the program's buffers
 *   recursive doubling  log2 p rounds there, for powers of two and equal blocks
 *   linear  every rank straight to every other
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/allgather.h"

#include "coll/args.h"
#include "coll/coll.h"
#include "coll/decision.h"
#include "coll/nodes.h"

static bool is_in_place(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE;
}

/* ---- ring ---------------------------------------------------------------- */

void wf_coll_allgather_ring(struct wf_sched *s, const struct wf_comm *g,
                            const struct wf_coll_args *a)
{
    int p = g->size, left = (g->rank - 1 + p) % p, right = (g->rank + 1) % p;
    int arrived = -1;

    for (int step = 0; step < p - 1; step++) {
        int out = (g->rank - step + p) % p, in = (out - 1 + p) % p;
        if (wf_coll_rbytes(a, out)) {
            int send = wf_sched_send(s, wf_coll_rblock(a, out),
                                     wf_coll_rcount(a, out), a->rtype, right);
            wf_sched_after(s, send, arrived);
        }
        arrived = -1; /* an empty block is not sent on */
        if (wf_coll_rbytes(a, in))
            arrived = wf_sched_recv(s, wf_coll_rblock(a, in),
                                    wf_coll_rcount(a, in), a->rtype, left);
    }
}

/* Copies the own block to its place. */
static void copy_own_block(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rank = a->comm->rank;

    if (!is_in_place(a))
        wf_sched_copy(s, a->sbuf, a->scount, a->stype, wf_coll_rblock(a, rank),
                      wf_coll_rcount(a, rank), a->rtype);
}

static void build_ring(struct wf_sched *s, const struct wf_coll_args *a)
{
    copy_own_block(s, a);
    wf_sched_fence(s);
    wf_coll_allgather_ring(s, a->comm, a);
}

/* ---- recursive doubling -------------------------------------------------- */

static void build_doubling(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rank = a->comm->rank;

    copy_own_block(s, a);
    for (int bit = 1; bit < a->comm->size; bit *= 2) {
        uint64_t n = (uint64_t)bit * a->rcount;
        int have = rank & ~(bit - 1), partner = rank ^ bit;
        wf_sched_fence(s);
        wf_sched_send(s, wf_coll_rblock(a, have), n, a->rtype, partner);
        wf_sched_recv(s, wf_coll_rblock(a, have ^ bit), n, a->rtype, partner);
    }
}

/* ---- linear -------------------------------------------------------------- */

static void build_linear(struct wf_sched *s, const struct wf_coll_args *a)
{
    int p = a->comm->size, rank = a->comm->rank;
    const void *own = is_in_place(a) ? wf_coll_rblock(a, rank) : a->sbuf;
    uint64_t count = is_in_place(a) ? wf_coll_rcount(a, rank) : a->scount;
    struct wf_type *type = is_in_place(a) ? a->rtype : a->stype;

    for (int i = 1; count > 0 && type->size > 0 && i < p; i++)
        wf_sched_send(s, own, count, type, (rank + i) % p);
    for (int i = 1; i < p; i++) {
        int from = (rank - i + p) % p;
        if (wf_coll_rbytes(a, from))
            wf_sched_recv(s, wf_coll_rblock(a, from), wf_coll_rcount(a, from),
                          a->rtype, from);
    }
    copy_own_block(s, a);
}

/* ---- Bruck --------------------------------------------------------------- */

/* Returns the start of each position j = 0..p of the packed vector. */
static uint64_t *find_positions(struct wf_sched *s,
                                const struct wf_coll_args *a)
{
    int p = a->comm->size;
    uint64_t *at = wf_sched_alloc_temp(s, ((size_t)p + 1) * sizeof *at);

    if (!at)
        return NULL;
    at[0] = 0;
    for (int j = 0; j < p; j++)
        at[j + 1] = at[j] + wf_coll_rbytes(a, (a->comm->rank + j) % p);
    return at;
}

/* Packs the own block; returns the vertex. */
static int pack_own_block(struct wf_sched *s, const struct wf_coll_args *a,
                          char *packed, uint64_t bytes)
{
    int rank = a->comm->rank;

    if (is_in_place(a))
        return wf_sched_copy(s, wf_coll_rblock(a, rank),
                             wf_coll_rcount(a, rank), a->rtype, packed, bytes,
                             wf_coll_byte());
    return wf_sched_copy(s, a->sbuf, a->scount, a->stype, packed, bytes,
                         wf_coll_byte());
}

/* Adds the rounds; the own block is in place after vertex `ready`. */
static void add_bruck_rounds(struct wf_sched *s, const struct wf_comm *g,
                             char *packed, const uint64_t *at, int ready)
{
    struct wf_type *byte = wf_coll_byte();
    int p = g->size, sent = -1;

    for (int have = 1; have < p; have *= 2) {
        int n = have < p - have ? have : p - have;
        int to = (g->rank - have + p) % p, from = (g->rank + have) % p;
        int send = wf_sched_send(s, packed, at[n], byte, to);
        wf_sched_after(s, send, ready);
        wf_sched_after(s, send, sent);
        ready = wf_sched_recv(s, packed + at[have], at[have + n] - at[have],
                              byte, from);
        sent = send;
    }
    wf_sched_fence(s);
}

/* Unpacks all blocks. Rank order wraps once around the packed vector: two
 * copies if blocks are uniform. */
static void unpack_bruck(struct wf_sched *s, const struct wf_coll_args *a,
                         const char *packed, const uint64_t *at)
{
    struct wf_type *byte = wf_coll_byte();
    int p = a->comm->size, rank = a->comm->rank, wrap = p - rank;

    if (!a->rcounts.base) {
        wf_sched_copy(s, packed, at[wrap], byte, wf_coll_rblock(a, rank),
                      (uint64_t)wrap * a->rcount, a->rtype);
        if (rank > 0)
            wf_sched_copy(s, packed + at[wrap], at[p] - at[wrap], byte, a->rbuf,
                          (uint64_t)rank * a->rcount, a->rtype);
        return;
    }
    for (int j = 0; j < p; j++) {
        int i = (rank + j) % p;
        if (at[j + 1] > at[j])
            wf_sched_copy(s, packed + at[j], at[j + 1] - at[j], byte,
                          wf_coll_rblock(a, i), wf_coll_rcount(a, i), a->rtype);
    }
}

static void build_bruck(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t *at = find_positions(s, a);
    char *packed = at ? wf_sched_alloc_temp(s, at[a->comm->size]) : NULL;

    if (!packed)
        return;
    add_bruck_rounds(s, a->comm, packed, at,
                     pack_own_block(s, a, packed, at[1]));
    unpack_bruck(s, a, packed, at);
}

/* ---- the choice ---------------------------------------------------------- */

static uint64_t sum_bytes(const struct wf_coll_args *a)
{
    uint64_t bytes = 0;

    for (int i = 0; i < a->comm->size; i++)
        bytes += wf_coll_rbytes(a, i);
    return bytes;
}

static void choose_and_build(struct wf_sched *s, const struct wf_coll_args *a,
                             uint64_t bytes)
{
    uint32_t able = WF_ALG_ANY | WF_ALG_NODES_CONSECUTIVE;

    if (a->rcounts.base)
        able &= ~(WF_ALG(RECURSIVE_DOUBLING) | WF_ALG(NODES));
    if (a->comm->size & (a->comm->size - 1))
        able &= ~WF_ALG(RECURSIVE_DOUBLING);
    switch (wf_coll_choose(s, a->comm, WF_COLL_ALLGATHER, bytes, able)) {
    case WF_ALG_BRUCK:
        build_bruck(s, a);
        break;
    case WF_ALG_RECURSIVE_DOUBLING:
        build_doubling(s, a);
        break;
    case WF_ALG_LINEAR:
        build_linear(s, a);
        break;
    case WF_ALG_NODES:
        wf_coll_allgather_nodes(s, a);
        break;
    default:
        build_ring(s, a);
    }
}

void wf_coll_allgather(struct wf_sched *s, const struct wf_coll_args *a)
{
    choose_and_build(s, a, sum_bytes(a));
}

/* ---- building ------------------------------------------------------------ */

/* Every process sends to all of the other group: it does not know what the
 * others of its own contribute. */
static void build_inter(struct wf_sched *s, const struct wf_coll_args *a)
{
    int n = a->comm->peers->size;

    for (int i = 0; i < n; i++) {
        wf_sched_recv(s, wf_coll_rblock(a, i), wf_coll_rcount(a, i), a->rtype,
                      i);
        wf_sched_send(s, a->sbuf, a->scount, a->stype, i);
    }
}

static int check_args(const struct wf_coll_args *a)
{
    int rc;

    if ((rc = wf_coll_check_in_place(a, true)))
        return rc;
    if (!is_in_place(a) && (rc = wf_coll_check_send(a)))
        return rc;
    if ((rc = wf_coll_check_recv(a)))
        return rc;
    return wf_coll_check_alias(a, a->comm->inter || !a->rbuf
                                      ? a->rbuf
                                      : wf_coll_rblock(a, a->comm->rank));
}

int wf_build_allgather(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t bytes;
    int rc = check_args(a);

    if (rc)
        return rc;
    if (a->comm->inter) {
        build_inter(s, a);
        return MPI_SUCCESS;
    }
    bytes = sum_bytes(a);
    if (bytes == 0)
        return MPI_SUCCESS;
    choose_and_build(s, a, bytes);
    return MPI_SUCCESS;
}

int wf_build_allgatherv(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rc = wf_coll_check_counts(a->rcounts, a->comm->peers->size, "receive");
    return rc ? rc : wf_build_allgather(s, a);
}
