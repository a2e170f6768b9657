/* Broadcast as scatter and allgather (van de Geijn; Barnett et al. 1994): the
 * root sends one block to each rank by a binomial tree, then the blocks travel
 * around a ring. Every rank sends and receives about two times the vector,
 * however many ranks there are.
 *
 * Ranks count from the root: position 0 is the root.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/bcast_scatter.h"

#include "coll/args.h"
#include "coll/bcast.h"
#include "coll/coll.h"

/* A broadcast under construction. */
struct scatter_ring {
    struct wf_sched *s;
    int p, position, root;
    char *data;
    uint64_t bytes;
};

static int rank_at(const struct scatter_ring *x, int position)
{
    return (position % x->p + x->p + x->root) % x->p;
}

/* Returns the first byte of the block of a position. */
static uint64_t block_start(const struct scatter_ring *x, int position)
{
    uint64_t p = (uint64_t)x->p, i = (uint64_t)position;

    return x->bytes / p * i + (x->bytes % p < i ? x->bytes % p : i);
}

static void add_scatter(struct scatter_ring *x)
{
    struct wf_type *byte = wf_coll_byte();
    int bit = 1, end;

    while (bit < x->p && !(x->position & bit))
        bit *= 2;
    end = bit < x->p - x->position ? x->position + bit : x->p;
    if (x->position > 0 && block_start(x, end) > block_start(x, x->position))
        wf_sched_recv(x->s, x->data + block_start(x, x->position),
                      block_start(x, end) - block_start(x, x->position), byte,
                      rank_at(x, x->position - bit));
    wf_sched_fence(x->s);
    for (bit /= 2; bit > 0; bit /= 2) {
        int first = x->position + bit;
        int last = first + bit < x->p ? first + bit : x->p;
        if (first < x->p && block_start(x, last) > block_start(x, first))
            wf_sched_send(x->s, x->data + block_start(x, first),
                          block_start(x, last) - block_start(x, first), byte,
                          rank_at(x, first));
    }
}

static void add_ring(struct scatter_ring *x)
{
    struct wf_type *byte = wf_coll_byte();
    int arrived = -1;

    for (int step = 0; step < x->p - 1; step++) {
        int out = (x->position - step + x->p) % x->p;
        int in = (out - 1 + x->p) % x->p;
        if (block_start(x, out + 1) > block_start(x, out))
            wf_sched_after(
                x->s,
                wf_sched_send(x->s, x->data + block_start(x, out),
                              block_start(x, out + 1) - block_start(x, out),
                              byte, rank_at(x, x->position + 1)),
                arrived);
        arrived = -1;
        if (block_start(x, in + 1) > block_start(x, in))
            arrived = wf_sched_recv(x->s, x->data + block_start(x, in),
                                    block_start(x, in + 1) - block_start(x, in),
                                    byte, rank_at(x, x->position - 1));
    }
}

void wf_coll_bcast_scatter(struct wf_sched *s, const struct wf_coll_args *a)
{
    struct scatter_ring x = {.s = s,
                             .p = a->comm->size,
                             .root = a->root,
                             .bytes = a->rcount * (uint64_t)a->rtype->size};

    x.position = (a->comm->rank - a->root + x.p) % x.p;
    x.data = wf_coll_pack_bcast(s, a, x.bytes);
    if (!x.data)
        return; /* remembered by the schedule */
    add_scatter(&x);
    wf_sched_fence(s); /* the ring delivers blocks to where they already are */
    add_ring(&x);
    wf_coll_unpack_bcast(s, a, x.data, x.bytes);
}
