/* Matching: the queue of posted receives and the queue of unexpected messages,
 * in exact order whatever the wildcards, at a cost that does not depend on
 * depth.
 *
 *   posted      first <-> ... <-> ... <-> last      recent[]
 *               oldest <------------------------------------> newest
 *               ~~ last_tabled ~~>|                 at most 64, in the order
 *               each is in the table of its class   of posting
 *   unexpected  oldest <-> ... <-> ... <-> newest   in order of arrival
 *               ~~~~~~ indexed[c] ~~~~~>|           the table of class c has
 *                                                   the first part of it
 *
 * Classes: 0 source and tag, 1 any tag, 2 any source, 3 any of both.
 *
 * A receive is posted into recent[], whose entries move to the end of the list
 * when it is full. The one expected next is the oldest: when messages come in
 * the order of the receives, as most do, one comparison of two words under a
 * mask finds it, however many there are. Otherwise up to 8 recent ones are
 * compared; more than that join the list, and all of the list enters the tables
 * of their classes, once each. An arriving message then searches one bin of
 * each class in use, takes the oldest of these candidates (a stamp decides),
 * and else searches recent[], all of which is younger. Posting needs no memory,
 * and without memory for tables the list is walked.
 *
 * A message that no receive was posted for is only appended. A receive compares
 * the oldest one, then, while few wait, all. Otherwise it first enters the new
 * arrivals into the table of its own class: a class that no receive asks for is
 * never indexed, and each message is indexed at most once per class. Walking
 * the queue touches only its links; the place in the tables (wf_arrived_entry)
 * is in memory of its own.
 *
 * LOCK  the API section for every call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MATCH_H
#define WF_MATCH_H

#include "protocol/keys.h"
#include "protocol/slab.h"

enum {
    WF_CLASSES = 4,
    WF_RECENT = 64 /* entries of recent[]: one bit each in `live` */
};

/* Links of a queue whose order counts. */
struct wf_queue_link {
    struct wf_queue_link *prev, *next;
};

enum wf_posted_where {
    WF_UNPOSTED,
    WF_POSTED_RECENT,
    WF_LISTED,
    WF_TABLED /* in the list, and in the table of its class */
};

/* A receive that waits for its message. env1 is stored masked. */
struct wf_posted {
    uint64_t env0, env1;
    struct wf_queue_link order;    /* in the list */
    struct wf_posted_entry *entry; /* WF_TABLED */
    uint32_t room; /* for the owner: fills a hole in the layout */
    uint8_t class;
    uint8_t where; /* enum wf_posted_where */
};

/* A receive in the table of its class. It is memory of its own, one cache line,
 * so that a search follows one pointer and posted receives stay small. */
struct wf_posted_entry {
    uint64_t env0, env1;
    struct wf_posted *posted;
    uint64_t stamp; /* order of posting */
    struct wf_link link;
};

/* An entry of recent[]: a receive with a copy of its envelope. */
struct wf_recent {
    uint64_t env0, env1, mask;
    struct wf_posted *posted;
};

/* A message that waits for its receive. */
struct wf_arrived {
    uint64_t env0, env1;
    struct wf_queue_link order;
    struct wf_arrived_entry *index; /* NULL: in no table */
};

/* The place of a message in the tables. It is made when the first class indexes
 * the message, so that messages which are received in order stay small. */
struct wf_arrived_entry {
    uint64_t env0, env1;
    struct wf_arrived *arrived;
    uint64_t classes; /* bit c: in the table of class c */
    struct wf_link link[WF_CLASSES];
};

struct wf_match {
    uint64_t live;                      /* bit i: recent[i] holds a receive */
    uint32_t listed;                    /* receives in the list */
    uint32_t stored;                    /* unexpected messages */
    struct wf_queue_link *first, *last; /* the list of receives */
    struct wf_queue_link *last_tabled;  /* the last one in a table */
    struct wf_recent recent[WF_RECENT];
    struct wf_keys posted[WF_CLASSES];
    uint64_t stamp;
    struct wf_queue_link *oldest, *newest;
    struct wf_queue_link *indexed[WF_CLASSES]; /* the last one in the table */
    struct wf_keys arrived[WF_CLASSES];
    struct wf_slab entries, indices;
    /* Searches that the oldest entry did not end, in both queues, and the
     * entries that they looked at; one in a table counts as one entry. */
    uint64_t searches, searched;
};

/* The class of a receive or probe with these arguments. */
static inline uint8_t wf_match_class(int source, int tag)
{
    return (uint8_t)((tag == MPI_ANY_TAG) | (source == MPI_ANY_SOURCE) << 1);
}

/* The part of env1 that counts in a class. */
static inline uint64_t wf_class_mask(unsigned class)
{
    return (class & 2 ? 0 : WF_MASK_SOURCE) | (class & 1 ? 0 : WF_MASK_TAG);
}

static inline uint64_t wf_match_mask(int source, int tag)
{
    return wf_class_mask(wf_match_class(source, tag));
}

/* Whether a receive's envelope, masked, matches a message's. */
static inline bool wf_match_is_equal(uint64_t env0, uint64_t env1,
                                     uint64_t mask, uint64_t message_env0,
                                     uint64_t message_env1)
{
    return ((env0 ^ message_env0) | (env1 ^ (message_env1 & mask))) == 0;
}

static inline bool wf_match_recent_fits(const struct wf_recent *r,
                                        uint64_t env0, uint64_t env1)
{
    return wf_match_is_equal(r->env0, r->env1, r->mask, env0, env1);
}

void wf_match_init(struct wf_match *);
void wf_match_fini(struct wf_match *);

/* ---- posted -------------------------------------------------------------- */

/* The index behind the last live entry of recent[]: older entries come
 * first. */
static inline unsigned wf_match_recent_end(const struct wf_match *m)
{
    return m->live ? 64 - (unsigned)__builtin_clzll(m->live) : 0;
}

/* Make room at the end of recent[]. */
void wf_match_make_room(struct wf_match *);
/* wf_match_take_posted for a message that is not for the receive expected
 * next. */
struct wf_posted *wf_match_take_any(struct wf_match *, uint64_t env0,
                                    uint64_t env1);

static inline uint32_t wf_match_posted_count(const struct wf_match *m)
{
    return m->listed + (uint32_t)__builtin_popcountll(m->live);
}

static inline bool wf_match_none_posted(const struct wf_match *m)
{
    return !(m->live | m->listed);
}

static inline void wf_match_post(struct wf_match *m, struct wf_posted *p)
{
    unsigned i = wf_match_recent_end(m);
    uint64_t mask;

    if (wf_unlikely(i == WF_RECENT)) {
        wf_match_make_room(m);
        i = wf_match_recent_end(m);
    }
    WF_ASSERT(i < WF_RECENT && !(m->live >> i));
    mask = wf_class_mask(p->class);
    p->env1 &= mask;
    p->where = WF_POSTED_RECENT;
    m->live |= UINT64_C(1) << i;
    m->recent[i] = (struct wf_recent){p->env0, p->env1, mask, p};
}

/* Remove a receive from the queue. */
void wf_match_unpost(struct wf_match *, struct wf_posted *);

/* Take entry i of recent[] off the queue. */
static inline struct wf_posted *wf_match_take_recent(struct wf_match *m,
                                                     unsigned i)
{
    struct wf_posted *p = m->recent[i].posted;

    WF_ASSERT(i < WF_RECENT && m->live >> i & 1);
    WF_ASSERT(p->where == WF_POSTED_RECENT);
    m->live &= ~(UINT64_C(1) << i);
    p->where = WF_UNPOSTED;
    return p;
}

static inline struct wf_posted *wf_posted_from_link(struct wf_queue_link *order)
{
    return wf_container(order, struct wf_posted, order);
}

static inline bool wf_match_posted_fits(const struct wf_posted *p,
                                        uint64_t env0, uint64_t env1)
{
    return wf_match_is_equal(p->env0, p->env1, wf_class_mask(p->class), env0,
                             env1);
}

/* The receive expected next, if the message is for it. */
static inline struct wf_posted *
wf_match_next_posted(const struct wf_match *m, uint64_t env0, uint64_t env1)
{
    const struct wf_recent *r;
    struct wf_posted *p;

    if (m->first) {
        p = wf_posted_from_link(m->first);
        return wf_match_posted_fits(p, env0, env1) ? p : NULL;
    }
    if (!m->live)
        return NULL;
    r = &m->recent[__builtin_ctzll(m->live)];
    return wf_likely(wf_match_recent_fits(r, env0, env1)) ? r->posted : NULL;
}

/* Take p, the receive expected next, off the queue, and prefetch the one that
 * the message after the next will touch. */
static inline void wf_match_take_next(struct wf_match *m, struct wf_posted *p)
{
    struct wf_queue_link *next;

    if (!m->first) {
        WF_ASSERT(m->live && m->recent[__builtin_ctzll(m->live)].posted == p);
        m->live &= m->live - 1;
        p->where = WF_UNPOSTED;
        return;
    }
    if (m->last_tabled) {
        wf_match_unpost(m, p);
        return;
    }
    p->where = WF_UNPOSTED;
    WF_ASSERT(m->first == &p->order && m->listed > 0);
    next = p->order.next;
    m->first = next;
    m->listed--;
    if (next) {
        next->prev = NULL;
        __builtin_prefetch(next->next, 1);
        __builtin_prefetch((char *)next->next + WF_CACHE_LINE, 1);
    } else {
        m->last = NULL;
    }
}

/* The oldest posted receive that matches, taken off the queue, or NULL. */
static inline struct wf_posted *
wf_match_take_posted(struct wf_match *m, uint64_t env0, uint64_t env1)
{
    struct wf_posted *p = wf_match_next_posted(m, env0, env1);

    if (wf_likely(p != NULL)) {
        wf_match_take_next(m, p);
        return p;
    }
    return wf_match_none_posted(m) ? NULL : wf_match_take_any(m, env0, env1);
}

/* false: no posted receive takes a message that a receive with this envelope
 * waits for. true: one may; so it is, too, where the envelope has a wildcard,
 * or where the answer needs more than a few steps. */
bool wf_match_may_take(const struct wf_match *, uint64_t env0, uint64_t env1,
                       uint64_t mask);

/* Call visit for every posted receive; visit may remove the one it is given. */
void wf_match_each_posted(struct wf_match *,
                          void (*visit)(struct wf_posted *, void *), void *);

/* ---- unexpected ---------------------------------------------------------- */

/* Append a message; it needs no memory. */
void wf_match_store(struct wf_match *, struct wf_arrived *);
void wf_match_unstore(struct wf_match *, struct wf_arrived *);
/* wf_match_find_arrived where messages are stored. */
struct wf_arrived *wf_match_search(struct wf_match *, uint64_t env0,
                                   uint64_t env1, uint64_t mask);

/* The oldest unexpected message that matches; it stays on the queue. */
static inline struct wf_arrived *wf_match_find_arrived(struct wf_match *m,
                                                       uint64_t env0,
                                                       uint64_t env1,
                                                       uint64_t mask)
{
    return wf_likely(!m->stored) ? NULL : wf_match_search(m, env0, env1, mask);
}

/* Call visit for the stored messages, oldest first, as long as it returns
 * true; visit may remove the one it is given. */
void wf_match_each_arrived(struct wf_match *,
                           bool (*visit)(struct wf_arrived *, void *), void *);

static inline uint32_t wf_match_arrived_count(const struct wf_match *m)
{
    return m->stored;
}

#endif
