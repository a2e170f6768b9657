/* Key tables: hash tables that find the entries of a matching queue by
 * envelope.
 *
 *   bin[] -> leader -chain-> leader     one leader per different envelope,
 *              | next                   in no order
 *              v
 *              o -next-> o              the others with that envelope, oldest
 *                                       first; the leader's prev is the last
 *
 * The leader is the oldest of its envelope. Thousands of entries with one
 * envelope cost a search for another envelope one comparison. The links are in
 * the entries, so that only the bins are allocated.
 *
 * INVARIANTS
 *   1. prev of a leader is the last with its envelope, whose next is NULL;
 *      prev of any other is the one whose next it is.
 *   2. At most half as many leaders as bins, unless memory has run out.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_KEYS_H
#define WF_KEYS_H

#include "protocol/wire.h"

struct wf_link {
    struct wf_link *chain, *next, *prev;
};

struct wf_keys {
    struct wf_link **bin; /* NULL until first used */
    uint32_t size;        /* bins, a power of two */
    uint32_t used;        /* leaders */
    uint64_t mask;        /* the part of env1 that counts */
    ptrdiff_t envelope;   /* offset of an entry's envelope from its link */
};

void wf_keys_init(struct wf_keys *, uint64_t mask, ptrdiff_t envelope);
void wf_keys_free(struct wf_keys *);
/* Append an entry to those of its envelope. 0 or WEFT_ENOMEM. */
int wf_keys_append(struct wf_keys *, struct wf_link *);
void wf_keys_remove(struct wf_keys *, struct wf_link *);

/* The envelope of an entry. */
static inline const struct wf_envelope *
wf_keys_envelope_of(const struct wf_keys *t, const struct wf_link *l)
{
    return (const struct wf_envelope *)((const char *)l + t->envelope);
}

/* The bin of an envelope. */
static inline struct wf_link **wf_keys_bin_of(const struct wf_keys *t,
                                              uint64_t env0, uint64_t env1)
{
    enum { LINE = WF_CACHE_LINE / sizeof(struct wf_link *) };
    uint64_t key = env1 & t->mask;
    uint64_t h = env0 * 0xc2b2ae3d27d4eb4fu ^ key / LINE;

    /* The hash multiplies twice, or tags and ranks at regular distances would
     * share bins. Consecutive tags share a cache line of bins: many programs
     * count tags up. */
    h *= 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
    return &t->bin[(h >> 32 ^ key % LINE) & (t->size - 1)];
}

/* The oldest entry with this envelope, or NULL. */
static inline struct wf_link *wf_keys_find_oldest(const struct wf_keys *t,
                                                  uint64_t env0, uint64_t env1)
{
    struct wf_link *l = t->used ? *wf_keys_bin_of(t, env0, env1) : NULL;

    for (; l; l = l->chain) {
        const struct wf_envelope *e = wf_keys_envelope_of(t, l);
        if (((e->env0 ^ env0) | ((e->env1 ^ env1) & t->mask)) == 0)
            break;
    }
    return l;
}

#endif
