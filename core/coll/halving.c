/* Reductions by recursive halving (Rabenseifner 2004; Thakur, Rabenseifner,
 * Gropp 2005): in each step a rank gives half of the elements that it is
 * responsible for to a partner, and reduces the other half.
 *
 *   allreduce        partners at distance 1, 2, 4, ...: the operands joined
 *                    always come from neighbouring ranges of ranks, so that
 *                    every operation keeps its order; then the way back
 *   reduce_scatter   distance p/2, p/4, ..., 1: every rank ends up with its
 *                    own block; the operation must commute
 *
 * With p not a power of two the first 2 * extra ranks work in pairs: the even
 * one gives its vector to the odd one and gets its result from it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/halving.h"

#include "coll/args.h"
#include "coll/coll.h"

/* A reduction under construction. */
struct halving {
    struct wf_sched *s;
    const struct wf_coll_args *a;
    int members, extra, me; /* me: -1 for the even rank of a pair */
    const void *src;        /* the own contribution */
    /* vector of all elements, in which sums are computed */
    void *sum;
    bool fresh; /* nothing is in sum yet */
};

static void init_halving(struct halving *h)
{
    int p = h->a->comm->size, rank = h->a->comm->rank;

    h->members = 1;
    while (2 * h->members <= p)
        h->members *= 2;
    h->extra = p - h->members;
    h->me = rank >= 2 * h->extra ? rank - h->extra : rank % 2 ? rank / 2 : -1;
    h->fresh = h->src != h->sum;
}

static int rank_of(const struct halving *h, int member)
{
    return member < h->extra ? 2 * member + 1 : member + h->extra;
}

static void *element_at(const struct halving *h, const void *vector,
                        uint64_t first)
{
    return wf_coll_element_at(vector, (int64_t)first, h->a->rtype);
}

static void copy_elements(const struct halving *h, const void *from, void *to,
                          uint64_t count)
{
    wf_sched_copy(h->s, from, count, h->a->rtype, to, count, h->a->rtype);
    wf_sched_fence(h->s);
}

/* One step: elements [first, first + count) of a partner are reduced with those
 * of this rank, while [give, give + given) go to the partner. */
struct step {
    int partner;
    bool lower; /* the partner's operand is the lower one */
    uint64_t first, count, give, given;
};

static void send_part(const struct halving *h, const struct step *x)
{
    if (x->given)
        wf_sched_send(h->s, element_at(h, h->fresh ? h->src : h->sum, x->give),
                      x->given, h->a->rtype, x->partner);
}

/* Reduces the first operand received straight into sum: the operands may be
 * swapped, or already stand where the result is wanted. */
static void join_first_operand(const struct halving *h, const struct step *x)
{
    wf_sched_recv(h->s, element_at(h, h->sum, x->first), x->count, h->a->rtype,
                  x->partner);
    wf_sched_fence(h->s);
    wf_sched_reduce(h->s, h->a->op, element_at(h, h->src, x->first),
                    element_at(h, h->sum, x->first), x->count, h->a->rtype);
}

static void join_operand(const struct halving *h, const struct step *x)
{
    void *theirs = wf_coll_alloc_temp(h->s, x->count, h->a->rtype);
    void *mine = element_at(h, h->sum, x->first);

    wf_sched_recv(h->s, theirs, x->count, h->a->rtype, x->partner);
    if (h->fresh)
        wf_sched_copy(h->s, element_at(h, h->src, x->first), x->count,
                      h->a->rtype, mine, x->count, h->a->rtype);
    wf_sched_fence(h->s);
    if (x->lower || h->a->op->commutes) {
        wf_sched_reduce(h->s, h->a->op, theirs, mine, x->count, h->a->rtype);
        return;
    }
    wf_sched_reduce(h->s, h->a->op, mine, theirs, x->count, h->a->rtype);
    wf_sched_fence(h->s);
    copy_elements(h, theirs, mine, x->count);
}

static void exchange_halves(struct halving *h, const struct step *x)
{
    send_part(h, x);
    if (x->count && h->fresh && (!x->lower || h->a->op->commutes))
        join_first_operand(h, x);
    else if (x->count)
        join_operand(h, x);
    wf_sched_fence(h->s);
    h->fresh = false;
}

/* Reduces the whole vector of the even rank of a pair, in the odd one. */
static void join_paired_rank(struct halving *h, uint64_t count)
{
    struct step x = {
        .partner = h->a->comm->rank - 1, .lower = true, .count = count};

    if (h->a->comm->rank < 2 * h->extra)
        exchange_halves(h, &x);
}

/* ---- allreduce ----------------------------------------------------------- */

/* Elements [lo, hi), of which this rank keeps a half in each step. */
struct range {
    uint64_t lo, hi;
};

static struct range half_of(struct range r, bool upper)
{
    uint64_t middle = r.lo + (r.hi - r.lo) / 2;

    return upper ? (struct range){middle, r.hi} : (struct range){r.lo, middle};
}

static void add_scatter_steps(struct halving *h, struct range *kept)
{
    for (int bit = 1, k = 0; bit < h->members; bit *= 2, k++) {
        bool upper = h->me & bit;
        struct range mine = half_of(kept[k], upper);
        struct range theirs = half_of(kept[k], !upper);
        struct step x = {
            rank_of(h, h->me ^ bit), upper,     mine.lo,
            mine.hi - mine.lo,       theirs.lo, theirs.hi - theirs.lo};
        exchange_halves(h, &x);
        kept[k + 1] = mine;
    }
}

static void add_gather_steps(struct halving *h, const struct range *kept,
                             int steps)
{
    for (int k = steps - 1; k >= 0; k--) {
        bool upper = h->me >> k & 1;
        struct range mine = kept[k + 1], theirs = half_of(kept[k], !upper);
        int partner = rank_of(h, h->me ^ 1 << k);
        if (mine.hi > mine.lo)
            wf_sched_send(h->s, element_at(h, h->sum, mine.lo),
                          mine.hi - mine.lo, h->a->rtype, partner);
        if (theirs.hi > theirs.lo)
            wf_sched_recv(h->s, element_at(h, h->sum, theirs.lo),
                          theirs.hi - theirs.lo, h->a->rtype, partner);
        wf_sched_fence(h->s);
    }
}

void wf_coll_allreduce_halving(struct wf_sched *s, const struct wf_coll_args *a)
{
    const void *src = a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf;
    struct halving h = {.s = s, .a = a, .src = src, .sum = a->rbuf};
    struct range kept[32] = {{0, a->rcount}};
    int rank = a->comm->rank, steps = 0;

    init_halving(&h);
    if (h.me < 0) {
        wf_sched_send(s, src, a->rcount, a->rtype, rank + 1);
        wf_sched_fence(s);
        wf_sched_recv(s, a->rbuf, a->rcount, a->rtype, rank + 1);
        return;
    }
    join_paired_rank(&h, a->rcount);
    add_scatter_steps(&h, kept);
    while (1 << steps < h.members)
        steps++;
    add_gather_steps(&h, kept, steps);
    if (rank < 2 * h.extra)
        wf_sched_send(s, a->rbuf, a->rcount, a->rtype, rank - 1);
    else if (h.fresh) /* alone */
        copy_elements(&h, src, a->rbuf, a->rcount);
}

/* ---- reduce_scatter ------------------------------------------------------ */

/* Returns the first element of the blocks of members from this one on. */
static uint64_t first_element_of(const struct halving *h, int member)
{
    int rank = member < h->extra ? 2 * member : member + h->extra;
    int last = h->a->comm->size - 1;

    return rank > last ? (uint64_t)wf_int_at(h->a->rdispls, (size_t)last) +
                             wf_coll_rcount(h->a, last)
                       : (uint64_t)wf_int_at(h->a->rdispls, (size_t)rank);
}

static void halve_members(struct halving *h, int *lo, int *hi)
{
    int half = (*hi - *lo) / 2, middle = *lo + half;
    bool upper = h->me >= middle;
    uint64_t from = first_element_of(h, *lo), cut = first_element_of(h, middle);
    uint64_t to = first_element_of(h, *hi);
    struct step x = {.partner = rank_of(h, upper ? h->me - half : h->me + half),
                     .lower = upper};

    x.first = upper ? cut : from;
    x.count = upper ? to - cut : cut - from;
    x.give = upper ? from : cut;
    x.given = upper ? cut - from : to - cut;
    exchange_halves(h, &x);
    *lo = upper ? middle : *lo;
    *hi = upper ? *hi : middle;
}

static void hand_out_blocks(struct halving *h, void *out)
{
    const struct wf_coll_args *a = h->a;
    int rank = a->comm->rank;
    uint64_t own = wf_coll_rcount(a, rank);
    const void *sums = h->fresh ? h->src : h->sum;

    if (rank < 2 * h->extra && wf_coll_rcount(a, rank - 1))
        wf_sched_send(h->s, element_at(h, sums, first_element_of(h, h->me)),
                      wf_coll_rcount(a, rank - 1), a->rtype, rank - 1);
    if (own)
        wf_sched_copy(
            h->s,
            element_at(h, sums, (uint64_t)wf_int_at(a->rdispls, (size_t)rank)),
            own, a->rtype, out, own, a->rtype);
}

void wf_coll_scatter_halving(struct wf_sched *s, const struct wf_coll_args *a,
                             const void *src, uint64_t total, void *out)
{
    struct halving h = {.s = s, .a = a, .src = src};
    int rank = a->comm->rank, lo = 0, hi;
    uint64_t own = wf_coll_rcount(a, rank);

    init_halving(&h);
    if (h.me < 0) {
        wf_sched_send(s, src, total, a->rtype, rank + 1);
        wf_sched_fence(s);
        if (own)
            wf_sched_recv(s, out, own, a->rtype, rank + 1);
        return;
    }
    h.sum = wf_coll_alloc_temp(s, total, a->rtype);
    if (!h.sum)
        return;
    join_paired_rank(&h, total);
    for (hi = h.members; hi - lo > 1;)
        halve_members(&h, &lo, &hi);
    hand_out_blocks(&h, out);
}
