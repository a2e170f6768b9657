/* Reductions from rank to rank, segment by segment: while one segment is
 * reduced here, the next one is on its way. Each byte is moved once per rank,
 * but the last rank waits for as many hops as there are ranks.
 *
 *   reduce   p-1 --> ... --> 1 --> 0     towards the root; where order matters
 *                                        towards rank 0, then to the root
 *   scan     0 --> 1 --> ... --> p-1
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/chain.h"

#include "coll/args.h"
#include "coll/coll.h"
#include "os/tuning.h"

enum { MAX_SEGMENTS = 256 /* bounds the schedule */ };

static uint64_t segment_elements(const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    uint64_t n = bytes / WF_CHAIN_SEGMENT + 1;

    if (n > MAX_SEGMENTS)
        n = MAX_SEGMENTS;
    return a->rcount / n + (a->rcount % n != 0);
}

/* Memory for segments under way, used in turn. */
struct slots {
    void *memory[WF_CHAIN_SLOTS];
    int busy[WF_CHAIN_SLOTS]; /* the vertex after which it is free, or -1 */
};

static bool init_slots(struct wf_sched *s, struct slots *t,
                       const struct wf_coll_args *a)
{
    for (int i = 0; i < WF_CHAIN_SLOTS; i++) {
        t->memory[i] = wf_coll_alloc_temp(s, segment_elements(a), a->rtype);
        t->busy[i] = -1;
        if (!t->memory[i])
            return false;
    }
    return true;
}

static void *element_at(const struct wf_coll_args *a, const void *buf,
                        uint64_t i)
{
    return wf_coll_element_at(buf, (int64_t)i, a->rtype);
}

static const void *own_operand(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf;
}

/* One segment on its way through this rank. */
struct hop {
    uint64_t first, count;
    int slot;
};

static bool next_hop(const struct wf_coll_args *a, struct hop *x)
{
    uint64_t segment = segment_elements(a);

    x->first += x->count;
    x->slot = (x->slot + 1) % WF_CHAIN_SLOTS;
    x->count = a->rcount - x->first < segment ? a->rcount - x->first : segment;
    return x->count > 0;
}

/* ---- reduce -------------------------------------------------------------- */

/* Adds the hop of one segment: the higher ranks' sum arrives, is reduced with
 * the own operand, and is sent on. The sum is the higher operand, where the
 * result is stored. Returns the vertex after which the own operand is not
 * needed any more. */
static int add_reduce_hop(struct wf_sched *s, const struct wf_coll_args *a,
                          struct slots *t, const struct hop *x, int from,
                          int to)
{
    const void *own = element_at(a, own_operand(a), x->first);
    bool final = to < 0, direct = final && a->sbuf != MPI_IN_PLACE;
    void *into = direct ? element_at(a, a->rbuf, x->first) : t->memory[x->slot];
    int received, v, reduced;

    received = wf_sched_recv(s, into, x->count, a->rtype, from);
    if (!direct)
        wf_sched_after(s, received, t->busy[x->slot]);
    v = wf_sched_reduce(s, a->op, own, into, x->count, a->rtype);
    wf_sched_after(s, v, received);
    reduced = v;
    if (!final) {
        int sent = wf_sched_send(s, into, x->count, a->rtype, to);
        wf_sched_after(s, sent, v);
        v = sent;
    } else if (!direct) {
        int copied =
            wf_sched_copy(s, into, x->count, a->rtype,
                          element_at(a, a->rbuf, x->first), x->count, a->rtype);
        wf_sched_after(s, copied, v);
        v = copied;
    }
    t->busy[x->slot] = v;
    return reduced;
}

/* Receives a segment at a root other than rank 0: rank 0 goes on when the root
 * has received one. The own operand may be in rbuf. */
static void recv_result(struct wf_sched *s, const struct wf_coll_args *a,
                        const struct hop *x, int operand_used)
{
    int received = wf_sched_recv(s, element_at(a, a->rbuf, x->first), x->count,
                                 a->rtype, 0);

    wf_sched_after(s, received, operand_used);
}

void wf_coll_reduce_chain(struct wf_sched *s, const struct wf_coll_args *a)
{
    int p = a->comm->size, rank = a->comm->rank;
    int end = a->op->commutes ? a->root : 0, place = (rank - end + p) % p;
    int from = place == p - 1 ? -1 : (rank + 1) % p;
    int to = place > 0 ? (rank - 1 + p) % p : end == a->root ? -1 : a->root;
    struct hop x = {0};
    struct slots t;

    if (!init_slots(s, &t, a))
        return;
    while (next_hop(a, &x)) {
        const void *own = element_at(a, own_operand(a), x.first);
        int used;
        if (from >= 0)
            used = add_reduce_hop(s, a, &t, &x, from, to);
        else if (to >= 0)
            used = wf_sched_send(s, own, x.count, a->rtype, to);
        else /* alone */
            used = a->sbuf == MPI_IN_PLACE
                       ? -1
                       : wf_sched_copy(s, own, x.count, a->rtype,
                                       element_at(a, a->rbuf, x.first), x.count,
                                       a->rtype);
        if (rank == a->root && end != a->root)
            recv_result(s, a, &x, used);
    }
}

/* ---- scan ---------------------------------------------------------------- */

/* Adds the hop of one segment: the sum of the lower ranks arrives in `lower`;
 * the sum that is sent on is computed in `sum`, where the own operand is. */
static void add_scan_hop(struct wf_sched *s, const struct wf_coll_args *a,
                         void *lower, void *sum, const struct hop *x)
{
    int rank = a->comm->rank, arrived = -1, sent;

    if (rank > 0) {
        int received = wf_sched_recv(s, lower, x->count, a->rtype, rank - 1);
        arrived = wf_sched_reduce(s, a->op, lower, sum, x->count, a->rtype);
        wf_sched_after(s, arrived, received);
    }
    if (rank == a->comm->size - 1)
        return;
    sent = wf_sched_send(s, sum, x->count, a->rtype, rank + 1);
    wf_sched_after(s, sent, arrived);
}

void wf_coll_scan_chain(struct wf_sched *s, const struct wf_coll_args *a,
                        void *lower, void *sum)
{
    struct hop x = {0};

    while (next_hop(a, &x))
        add_scan_hop(s, a, element_at(a, lower, x.first),
                     element_at(a, sum, x.first), &x);
}
