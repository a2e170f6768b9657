/* Reductions by a ring: blocks of the vector travel from rank to rank and
 * collect a contribution at each. After p - 1 steps rank r has block r; every
 * link carries the same amount, p - 1 blocks.
 *
 *   step k:  block r - k - 1  --> right         block r - k - 2 <-- left,
 *                                               joined by the own contribution
 *
 * The contributions to a block come in the order in which it passes the ranks,
 * so that the operation must commute.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/ring.h"

#include "coll/args.h"
#include "coll/coll.h"

enum { SLOTS = 3 /* one arrives, one is reduced, one leaves */ };

/* A reduction under construction. */
struct ring {
    struct wf_sched *s;
    const struct wf_comm *g;
    struct wf_coll_args from, to; /* blocks of the source and of rbuf */
    void *out; /* where the own block goes, or NULL: to its place */
    /* the source is rbuf, whose blocks are reduced in place */
    bool in_place;
    void *slot[SLOTS];
    int busy[SLOTS];   /* the vertex after which the slot is free, or -1 */
    const void *block; /* the block sent next, ready after the vertex `ready` */
    int ready;
};

static bool init_ring(struct ring *r)
{
    uint64_t most = 0;

    for (int i = 0; i < r->g->size; i++)
        if (wf_coll_rcount(&r->to, i) > most)
            most = wf_coll_rcount(&r->to, i);
    for (int i = 0; i < SLOTS; i++) {
        r->busy[i] = -1;
        r->slot[i] = r->in_place || r->out
                         ? wf_coll_alloc_temp(r->s, most, r->to.rtype)
                         : NULL;
    }
    return r->slot[0] || !(r->in_place || r->out);
}

/* Returns where block `b`, which arrives in this step, is to be when it is
 * reduced. */
static void *place_of(const struct ring *r, int step, int b)
{
    if (r->in_place || !r->out)
        return wf_coll_rblock(&r->to, b);
    return b == r->g->rank ? r->out : r->slot[step % SLOTS];
}

static void recv_and_reduce(struct ring *r, int step, int b, int left)
{
    uint64_t count = wf_coll_rcount(&r->to, b);
    void *place = place_of(r, step, b), *own = wf_coll_rblock(&r->from, b);
    void *into = r->in_place ? r->slot[step % SLOTS] : place;
    int received, reduced;

    r->block = place;
    r->ready = -1;
    if (wf_coll_rbytes(&r->to, b) == 0)
        return;
    received = wf_sched_recv(r->s, into, count, r->to.rtype, left);
    wf_sched_after(r->s, received, r->busy[step % SLOTS]);
    reduced = wf_sched_reduce(r->s, r->to.op, r->in_place ? into : own, place,
                              count, r->to.rtype);
    wf_sched_after(r->s, reduced, received);
    r->ready = reduced;
    if (r->in_place)
        r->busy[step % SLOTS] = reduced;
}

void wf_coll_reduce_ring(struct wf_sched *s, const struct wf_comm *g,
                         const struct wf_coll_args *a, const void *src,
                         void *out)
{
    int p = g->size, left = (g->rank - 1 + p) % p, right = (g->rank + 1) % p;
    struct ring r = {.s = s,
                     .g = g,
                     .from = *a,
                     .to = *a,
                     .out = out,
                     .in_place = !out && src == a->rbuf,
                     .ready = -1};

    r.from.rbuf = (void *)(uintptr_t)src;
    if (!init_ring(&r))
        return;
    r.block = wf_coll_rblock(&r.from, left);
    for (int step = 0; step < p - 1; step++) {
        int b = (g->rank - step - 1 + p) % p, sent = -1;
        if (wf_coll_rbytes(a, b)) {
            sent = wf_sched_send(s, r.block, wf_coll_rcount(a, b), a->rtype,
                                 right);
            wf_sched_after(s, sent, r.ready);
        }
        if (!r.in_place && step > 0 && sent >= 0)
            r.busy[(step - 1) % SLOTS] = sent; /* else an older one holds */
        recv_and_reduce(&r, step, (b - 1 + p) % p, left);
    }
}
