/* Reduction by blocks: every rank gets its block from every other and reduces
 * them, segment by segment.
 *
 *   block of rank j at all ranks     | segment 0 | segment 1 | ...
 *                                         |
 *   at rank j:  receive from all, reduce in rank order --> out, reduced()
 *
 * DESIGN  Each byte moves once and each element is computed once, so that all
 * that get it get the same bits. A segment is reduced while it is in the cache
 * and while the next ones are on their way, and the user of this file sends it
 * on as soon as it is reduced. A segment that arrives goes to `out` if that is
 * free, and else to one of a few slots that are used in turn: scratch memory
 * does not grow with the vector, so it is not new memory from the system in
 * every call.
 *
 * The order of operands is that of ranks. With a commutative operation the own
 * operand comes in where it costs no copy.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/blocks.h"

#include "coll/args.h"
#include "coll/bcast_pool.h"
#include "os/tuning.h"

enum { MAX_SEGMENTS = 512 /* of all blocks together: bounds the schedule */ };

/* Returns the elements of a segment of a block of `count` elements; the same on
 * all ranks. */
static uint64_t segment_elements(const struct wf_coll_blocks *b, uint64_t count)
{
    uint64_t bytes = count * (uint64_t)b->a->rtype->size;
    uint64_t most = MAX_SEGMENTS / (uint64_t)b->g->size;
    uint64_t n = bytes / WF_BLOCKS_SEGMENT + (bytes % WF_BLOCKS_SEGMENT != 0);

    if (n > most)
        n = most ? most : 1;
    return n ? count / n + (count % n != 0) : 1;
}

static bool is_block_empty(const struct wf_coll_blocks *b, int rank)
{
    return wf_coll_rbytes(b->a, rank) == 0;
}

/* ---- sending ------------------------------------------------------------- */

/* Sends segment `number` of the contribution to peer's block; false: there is
 * none. */
static bool send_segment(struct wf_coll_blocks *b, int peer, uint64_t number)
{
    struct wf_coll_args from = *b->a;
    uint64_t count = wf_coll_rcount(b->a, peer);
    uint64_t segment = segment_elements(b, count), first = number * segment;

    if (is_block_empty(b, peer) || first >= count)
        return false;
    from.rbuf = (void *)(uintptr_t)b->src;
    wf_sched_send(b->s,
                  wf_coll_element_at(wf_coll_rblock(&from, peer),
                                     (int64_t)first, b->a->rtype),
                  count - first < segment ? count - first : segment,
                  b->a->rtype, peer);
    return true;
}

/* Sends all segments, first those of all blocks that come first: no rank is to
 * wait for a whole block of another. */
static void send_all_segments(struct wf_coll_blocks *b)
{
    int p = b->g->size;
    bool any = p > 1;

    for (uint64_t number = 0; any; number++) {
        any = false;
        for (int step = 1; step < p; step++)
            any |= send_segment(b, (b->g->rank + step) % p, number);
    }
}

/* ---- receiving and reducing ---------------------------------------------- */

/* Memory for operands that arrive, used in turn. */
struct slots {
    void *memory[WF_BLOCKS_SLOTS_MAX];
    /* the reduction after which it is free, or -1 */
    int busy[WF_BLOCKS_SLOTS_MAX];
    int n, next;
};

/* One segment of the own block on its way through the operands. */
struct segment {
    uint64_t count;
    void *own, *out; /* own operand, place of the result: may be equal */
    void *sum;       /* where the sum is computed, or NULL: nothing yet */
    int last;        /* the vertex after which the sum is ready */
    int sum_slot;    /* the slot of the sum, or -1: it is in out */
};

static int recv_operand(struct wf_coll_blocks *b, int peer, void *into,
                        uint64_t count)
{
    return wf_sched_recv(b->s, into, count, b->a->rtype, peer);
}

static void reduce_operand(struct wf_coll_blocks *b, struct segment *x,
                           const void *in, int ready)
{
    int v = wf_sched_reduce(b->s, b->a->op, in, x->sum, x->count, b->a->rtype);

    wf_sched_after(b->s, v, x->last);
    wf_sched_after(b->s, v, ready);
    x->last = v;
}

static void fold_own_operand(struct wf_coll_blocks *b, struct segment *x)
{
    if (x->sum) {
        reduce_operand(b, x, x->own, -1);
        return;
    }
    x->sum = x->out;
    if (x->own != x->out)
        x->last = wf_sched_copy(b->s, x->own, x->count, b->a->rtype, x->out,
                                x->count, b->a->rtype);
}

static void fold_peer_operand(struct wf_coll_blocks *b, struct segment *x,
                              int peer, struct slots *slots)
{
    int slot, received;

    if (!x->sum && x->own != x->out) {
        x->sum = x->out;
        x->last = recv_operand(b, peer, x->sum, x->count);
        return;
    }
    slot =
        slots->next != x->sum_slot ? slots->next : (slots->next + 1) % slots->n;
    slots->next = (slot + 1) % slots->n;
    received = recv_operand(b, peer, slots->memory[slot], x->count);
    wf_sched_after(b->s, received, slots->busy[slot]);
    if (x->sum) {
        reduce_operand(b, x, slots->memory[slot], received);
    } else { /* out holds an operand: the slot is where the sum is computed */
        x->sum = slots->memory[slot];
        x->sum_slot = slot;
        x->last = received;
    }
    slots->busy[slot] = x->last;
}

/* Reduces in the order of ranks, from the highest down. The own operand of a
 * commutative operation comes first where it is in place, and second where it
 * would have to be copied. */
static void reduce_segment(struct wf_coll_blocks *b, struct segment *x,
                           struct slots *slots)
{
    int p = b->g->size, me = b->g->rank, when = me, copied;

    if (b->a->op->commutes)
        when = x->own == x->out || p == 1 ? p - 1 : p - 2;
    for (int turn = p - 1, peer = p - 1; turn >= 0; turn--) {
        if (turn == when) {
            fold_own_operand(b, x);
            continue;
        }
        if (peer == me)
            peer--;
        fold_peer_operand(b, x, peer--, slots);
    }
    if (x->sum == x->out)
        return;
    copied = wf_sched_copy(b->s, x->sum, x->count, b->a->rtype, x->out,
                           x->count, b->a->rtype);
    wf_sched_after(b->s, copied, x->last);
    slots->busy[x->sum_slot] = x->last = copied;
}

static bool init_slots(struct wf_coll_blocks *b, struct slots *slots,
                       uint64_t segment, bool several)
{
    int p = b->g->size;

    slots->n = several ? 2 * p : p;
    if (slots->n > WF_BLOCKS_SLOTS_MAX)
        slots->n = WF_BLOCKS_SLOTS_MAX;
    slots->next = 0;
    if (p == 2 && b->a->op->commutes && !b->in_place)
        slots->n = 0; /* everything arrives in its place */
    for (int i = 0; i < slots->n; i++) {
        slots->busy[i] = -1;
        slots->memory[i] = wf_coll_alloc_temp(b->s, segment, b->a->rtype);
        if (!slots->memory[i])
            return false;
    }
    return true;
}

/* Receives segment `number` of rank's reduced block; false: there is none. */
static bool recv_segment(struct wf_coll_blocks *b, int rank, uint64_t number)
{
    struct wf_type *type = b->a->rtype;
    uint64_t count = wf_coll_rcount(b->a, rank);
    uint64_t segment = segment_elements(b, count), first = number * segment;
    uint64_t n = count - first < segment ? count - first : segment;
    void *into;

    if (is_block_empty(b, rank) || first >= count)
        return false;
    into = wf_coll_element_at(wf_coll_rblock(b->a, rank), (int64_t)first, type);
    if (b->to_all && wf_bcast_pool_fits_elements(b->g, type, n))
        wf_bcast_pool_get(b->s, b->g, into, n * (uint64_t)type->size, rank);
    else
        recv_operand(b, rank, into, n);
    return true;
}

void wf_coll_recv_reduced(struct wf_coll_blocks *b)
{
    int p = b->g->size;
    bool any = p > 1;

    for (uint64_t number = 0; any; number++) {
        any = false;
        for (int step = 1; step < p; step++)
            any |= recv_segment(b, (b->g->rank - step + p) % p, number);
    }
}

void wf_coll_reduce_blocks(struct wf_coll_blocks *b)
{
    struct wf_coll_args from = *b->a;
    int me = b->g->rank;
    uint64_t count = wf_coll_rcount(b->a, me);
    uint64_t segment = segment_elements(b, count);
    struct slots slots;

    from.rbuf = (void *)(uintptr_t)b->src;
    b->in_place = wf_coll_rblock(&from, me) == b->out;
    send_all_segments(b);
    if (is_block_empty(b, me) ||
        !init_slots(b, &slots, segment, segment < count))
        return;
    for (uint64_t first = 0; first < count; first += segment) {
        struct segment x = {
            .count = count - first < segment ? count - first : segment,
            .own = wf_coll_element_at(wf_coll_rblock(&from, me), (int64_t)first,
                                      b->a->rtype),
            .out = wf_coll_element_at(b->out, (int64_t)first, b->a->rtype),
            .last = -1,
            .sum_slot = -1};
        reduce_segment(b, &x, &slots);
        if (b->reduced)
            b->reduced(b, first, x.count, x.last);
    }
}
