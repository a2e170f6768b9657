/* Matching: the request (posted) queue and the unexpected queue, both hashed,
 * both in exact order whatever the wildcards.
 *
 * A posted receive belongs to one of four classes by its wildcards:
 *   0 source and tag given   1 any tag   2 any source   3 any source and tag
 * and lies in the bin of that class's table that its known words hash to. An
 * arriving message looks at one bin per non-empty class and takes the oldest
 * of the (at most four) candidates. An unexpected message lies in all four
 * tables, so that a receive of any class finds its oldest match in one bin.
 *
 * Cost: independent of depth; only entries with equal hash are compared.
 *
 * LOCK  the API section for every call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MATCH_H
#define WF_MATCH_H

#include "protocol/wire.h"

enum { WF_CLASSES = 4 };

struct wf_bins {
    struct wf_list *bins; /* power of two of them; NULL until first used */
    uint32_t size, count;
};

/* A receive waiting for its message. env1 is stored masked. */
struct wf_posted {
    struct wf_list link;
    uint64_t env0, env1, mask;
    uint64_t stamp; /* order of posting */
    uint8_t class;
};

/* A message waiting for its receive. */
struct wf_arrived {
    struct wf_list link[WF_CLASSES];
    uint64_t env0, env1;
};

struct wf_match {
    struct wf_bins posted[WF_CLASSES];
    struct wf_bins arrived[WF_CLASSES];
    uint64_t stamp;
};

/* The mask of a receive or probe with these arguments. */
static inline uint64_t wf_match_mask(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? 0 : WF_MASK_SOURCE) |
           (tag == MPI_ANY_TAG ? 0 : WF_MASK_TAG);
}

void wf_match_fini(struct wf_match *);

/* Posting and arriving return 0 or WEFT_ENOMEM. */
int wf_match_post(struct wf_match *, struct wf_posted *);
void wf_match_unpost(struct wf_match *, struct wf_posted *);
/* The oldest posted receive that matches, taken off the queue, or NULL. */
struct wf_posted *wf_match_take_posted(struct wf_match *, uint64_t env0,
                                       uint64_t env1);

int wf_match_store(struct wf_match *, struct wf_arrived *);
void wf_match_unstore(struct wf_match *, struct wf_arrived *);
/* The oldest unexpected message that matches; it stays on the queue. */
struct wf_arrived *wf_match_find_arrived(struct wf_match *, uint64_t env0,
                                         uint64_t env1, uint64_t mask);

/* Call visit for every posted receive or stored message; visit may remove the
 * entry it is given. */
void wf_match_each_posted(struct wf_match *,
                          void (*visit)(struct wf_posted *, void *), void *);
void wf_match_each_arrived(struct wf_match *,
                           void (*visit)(struct wf_arrived *, void *), void *);

static inline uint32_t wf_match_posted_count(const struct wf_match *m)
{
    return m->posted[0].count + m->posted[1].count + m->posted[2].count +
           m->posted[3].count;
}

static inline uint32_t wf_match_arrived_count(const struct wf_match *m)
{
    return m->arrived[0].count;
}

#endif
