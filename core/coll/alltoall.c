/* Alltoall, alltoallv and alltoallw.
 *
 *   pairwise  step i: to rank + i, from rank - i, with a window of steps under
 *             way; every pair directly, any counts and types
 *   Bruck     ceil(log2 p) rounds, for small blocks on many ranks: block j,
 *             which has j ranks to go, moves in the rounds of j's bits
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"
#include "coll/coll.h"
#include "coll/decision.h"
#include "coll/lengths.h"
#include "coll/vertex.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "os/tuning.h"

static bool is_in_place(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE;
}

/* ---- pairwise ------------------------------------------------------------ */

static void copy_block(struct wf_sched *s, struct wf_coll_block from,
                       struct wf_coll_block to)
{
    wf_sched_copy(s, from.buf, from.count, from.type, to.buf, to.count,
                  to.type);
}

/* Packs the blocks to be sent in place, because messages arrive in their
 * memory. packed[i] is the block for rank i. */
static struct wf_coll_block *pack_send_blocks(struct wf_sched *s,
                                              const struct wf_coll_args *a)
{
    int p = a->comm->size;
    struct wf_coll_block *packed =
        wf_sched_alloc_temp(s, (size_t)p * sizeof *packed);

    for (int i = 0; packed && i < p; i++) {
        struct wf_coll_block from = wf_coll_recv_block(a, i);
        packed[i].count = wf_coll_block_bytes(from);
        packed[i].type = wf_coll_byte();
        packed[i].buf = wf_sched_alloc_temp(s, packed[i].count);
        if (i != a->comm->rank && packed[i].count)
            copy_block(s, from, packed[i]);
    }
    wf_sched_fence(s);
    return packed;
}

/* The newest vertices of the steps under way (-1: none). The step that is
 * WF_ALLTOALL_WINDOW earlier must be complete: all processes take the steps in
 * the same order, so that waiting for earlier steps cannot form a cycle. */
struct window {
    int sent[WF_ALLTOALL_WINDOW], received[WF_ALLTOALL_WINDOW];
};

/* The steps of a pairwise exchange. */
struct pairs {
    struct wf_sched *s;
    const struct wf_coll_args *a;
    const struct wf_coll_block *packed; /* blocks to send, in place */
    int n;                              /* steps in all */
};

static void order_after_window(struct wf_sched *s, int vertex,
                               const struct window *w, int slot)
{
    wf_sched_after(s, vertex, w->sent[slot]);
    wf_sched_after(s, vertex, w->received[slot]);
}

static int send_step(const struct pairs *x, int step)
{
    int dest = (x->a->comm->rank + step) % x->n;
    struct wf_coll_block b;

    if (dest >= x->a->comm->peers->size)
        return -1;
    b = x->packed ? x->packed[dest] : wf_coll_send_block(x->a, dest);
    return wf_coll_block_bytes(b)
               ? wf_sched_send(x->s, b.buf, b.count, b.type, dest)
               : -1;
}

static int recv_step(const struct pairs *x, int step)
{
    int source = (x->a->comm->rank - step + x->n) % x->n;
    struct wf_coll_block b;

    if (source >= x->a->comm->peers->size)
        return -1;
    b = wf_coll_recv_block(x->a, source);
    return wf_coll_block_bytes(b)
               ? wf_sched_recv(x->s, b.buf, b.count, b.type, source)
               : -1;
}

/* Adds steps [first, end), all sends before all receives. `before` is the
 * window of steps before these, or NULL. */
static void add_window(const struct pairs *x, int first, int end,
                       struct window *w, const struct window *before)
{
    for (int i = 0; first + i < end; i++) {
        w->sent[i] = send_step(x, first + i);
        if (before)
            order_after_window(x->s, w->sent[i], before, i);
    }
    for (int i = 0; first + i < end; i++) {
        w->received[i] = recv_step(x, first + i);
        if (before)
            order_after_window(x->s, w->received[i], before, i);
    }
}

static void build_pairwise(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rank = a->comm->rank, peers = a->comm->peers->size, turn = 0;
    struct pairs x = {s, a, is_in_place(a) ? pack_send_blocks(s, a) : NULL,
                      peers > a->comm->size ? peers : a->comm->size};
    struct window w[2], *before = NULL;

    if (is_in_place(a) && !x.packed)
        return;
    for (int i = a->comm->inter ? 0 : 1, end; i < x.n; i = end, turn ^= 1) {
        end = i + WF_ALLTOALL_WINDOW;
        add_window(&x, i, end < x.n ? end : x.n, &w[turn], before);
        before = &w[turn];
    }
    if (!a->comm->inter && !is_in_place(a))
        copy_block(s, wf_coll_send_block(a, rank), wf_coll_recv_block(a, rank));
}

/* ---- Bruck --------------------------------------------------------------- */

/* The blocks of a vector whose number has `bit`, and a dense buffer between
 * which they move. */
struct sift {
    char *vector, *dense;
    uint64_t block;
    int p, bit;
};

static int pick_blocks(void *arg)
{
    struct sift *f = arg;
    char *dense = f->dense;

    for (int j = 0; j < f->p; j++)
        if (j & f->bit) {
            memcpy(dense, f->vector + (uint64_t)j * f->block, f->block);
            dense += f->block;
        }
    return MPI_SUCCESS;
}

static int put_blocks_back(void *arg)
{
    struct sift *f = arg;
    char *dense = f->dense;

    for (int j = 0; j < f->p; j++)
        if (j & f->bit) {
            memcpy(f->vector + (uint64_t)j * f->block, dense, f->block);
            dense += f->block;
        }
    return MPI_SUCCESS;
}

/* Block j of the vector is the one for rank + j. */
static void pack_bruck(struct wf_sched *s, const struct wf_coll_args *a,
                       char *vector, uint64_t block)
{
    struct wf_coll_args from = *a;
    int p = a->comm->size, rank = a->comm->rank;
    uint64_t first = (uint64_t)(p - rank);

    if (is_in_place(a)) {
        from.sbuf = a->rbuf;
        from.scount = a->rcount;
        from.stype = a->rtype;
    }
    wf_sched_copy(s, wf_coll_sblock(&from, rank), first * from.scount,
                  from.stype, vector, first * block, wf_coll_byte());
    wf_sched_copy(s, from.sbuf, (uint64_t)rank * from.scount, from.stype,
                  vector + first * block, (uint64_t)rank * block,
                  wf_coll_byte());
    wf_sched_fence(s);
}

static void add_bruck_round(struct wf_sched *s, const struct wf_comm *g,
                            struct sift *out, struct sift *in)
{
    struct wf_type *byte = wf_coll_byte();
    int p = g->size;
    uint64_t n = 0;
    int sifted, sent;

    for (int j = 0; j < p; j++)
        n += j & out->bit ? out->block : 0;
    sifted = wf_sched_call(s, pick_blocks, out);
    sent = wf_sched_send(s, out->dense, n, byte, (g->rank + out->bit) % p);
    wf_sched_after(s, sent, sifted);
    wf_sched_recv(s, in->dense, n, byte, (g->rank - in->bit + p) % p);
    wf_sched_fence(s);
    wf_sched_call(s, put_blocks_back, in);
    wf_sched_fence(s);
}

/* The blocks that have arrived, and where they go. */
struct arrival {
    struct wf_coll_args args;
    const char *vector;
    uint64_t block;
};

/* Copies block j, which is now the one from rank - j, to its place. */
static int unpack_block(const struct arrival *in, int j)
{
    const struct wf_coll_args *a = &in->args;
    int p = a->comm->size, source = (a->comm->rank - j + p) % p;

    return wf_sched_copy_now(
        (struct wf_sched_block){
            (void *)(uintptr_t)(in->vector + (uint64_t)j * in->block),
            in->block, wf_coll_byte()},
        (struct wf_sched_block){wf_coll_rblock(a, source), a->rcount,
                                a->rtype});
}

static int unpack_blocks(void *arg)
{
    const struct arrival *in = arg;
    int rc = MPI_SUCCESS;

    for (int j = 1; !rc && j < in->args.comm->size; j++)
        rc = unpack_block(in, j);
    return rc;
}

/* One vertex copies the blocks of all others: a vertex for each would take more
 * memory than the blocks. That of the own block keeps the type until the
 * schedule ends. */
static void unpack_bruck(struct wf_sched *s, const struct arrival *in)
{
    const struct wf_coll_args *a = &in->args;

    wf_sched_call(s, unpack_blocks, (void *)(uintptr_t)in);
    wf_sched_copy(s, in->vector, in->block, wf_coll_byte(),
                  wf_coll_rblock(a, a->comm->rank), a->rcount, a->rtype);
}

static void build_bruck(struct wf_sched *s, const struct wf_coll_args *a)
{
    int p = a->comm->size;
    uint64_t block = a->rcount * (uint64_t)a->rtype->size;
    char *vector = wf_sched_alloc_temp(s, (size_t)p * block);
    char *dense[2] = {wf_sched_alloc_temp(s, (size_t)p * block),
                      wf_sched_alloc_temp(s, (size_t)p * block)};
    struct sift *f = wf_sched_alloc_temp(s, 64 * sizeof *f);
    struct arrival *in = wf_sched_alloc_temp(s, sizeof *in);

    if (!vector || !dense[0] || !dense[1] || !f || !in)
        return;
    *in = (struct arrival){*a, vector, block};
    pack_bruck(s, a, vector, block);
    for (int bit = 1; bit < p; bit *= 2, f += 2) {
        f[0] = (struct sift){vector, dense[0], block, p, bit};
        f[1] = (struct sift){vector, dense[1], block, p, bit};
        add_bruck_round(s, a->comm, &f[0], &f[1]);
    }
    unpack_bruck(s, in);
}

/* ---- building ------------------------------------------------------------ */

/* Compares the buffers; with displacements, the own blocks tell whether they
 * are the same. */
static int check_alias(const struct wf_coll_args *a)
{
    struct wf_coll_args own = *a;
    struct wf_coll_block from, to;

    if (!a->rcounts.base || a->comm->inter || is_in_place(a))
        return wf_coll_check_alias(a, a->rbuf);
    from = wf_coll_send_block(a, a->comm->rank);
    to = wf_coll_recv_block(a, a->comm->rank);
    own.sbuf = from.buf;
    own.stype = from.type;
    own.rtype = to.type;
    own.scount = to.count ? from.count : 0;
    return wf_coll_check_alias(&own, to.buf);
}

static int check_args(const struct wf_coll_args *a)
{
    int rc;

    if ((rc = wf_coll_check_in_place(a, true)))
        return rc;
    if (!a->rtypes && (rc = wf_coll_check_recv(a)))
        return rc;
    if (!a->stypes && !is_in_place(a) && (rc = wf_coll_check_send(a)))
        return rc;
    return check_alias(a);
}

int wf_build_alltoall(struct wf_sched *s, const struct wf_coll_args *a)
{
    uint64_t block;
    int rc = check_args(a);

    if (rc)
        return rc;
    block = a->rcount * (uint64_t)a->rtype->size;
    if (!a->comm->inter && wf_coll_choose(s, a->comm, WF_COLL_ALLTOALL, block,
                                          WF_ALG_ANY) == WF_ALG_BRUCK)
        build_bruck(s, a);
    else
        build_pairwise(s, a);
    return MPI_SUCCESS;
}

int wf_build_alltoallv(struct wf_sched *s, const struct wf_coll_args *a)
{
    int n = a->comm->peers->size, rc;

    if (!is_in_place(a) && (rc = wf_coll_check_counts(a->scounts, n, "send")))
        return rc;
    if ((rc = wf_coll_check_counts(a->rcounts, n, "receive")))
        return rc;
    if ((rc = check_args(a)))
        return rc;
    build_pairwise(s, a);
    return MPI_SUCCESS;
}

static int check_types(const MPI_Datatype *types, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        if (!wf_type_of(types[i]))
            return wf_error(MPI_ERR_TYPE,
                            "%s type of rank %d is not a "
                            "datatype",
                            what, i);
    return MPI_SUCCESS;
}

int wf_build_alltoallw(struct wf_sched *s, const struct wf_coll_args *a)
{
    int n = a->comm->peers->size, rc;

    if (!is_in_place(a) && (rc = check_types(a->stypes, n, "send")))
        return rc;
    if ((rc = check_types(a->rtypes, n, "receive")))
        return rc;
    return wf_build_alltoallv(s, a);
}
