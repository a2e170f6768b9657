/* Matching queues: see match.h for the picture.
 *
 * INVARIANTS
 *   1. Whatever is hashed was posted before whatever is in `recent`, and
 *      entries of one key stay in order: MPI-5.0 s3.5, "non-overtaking".
 *   2. A message is in the table of class c if and only if it is not younger
 *      than indexed[c].
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/match.h"

static const uint64_t class_mask[WF_CLASSES] = {
    WF_MASK_SOURCE | WF_MASK_TAG, WF_MASK_SOURCE, WF_MASK_TAG, 0};

static unsigned class_of(uint64_t mask)
{
    return (mask & WF_MASK_TAG ? 0u : 1u) | (mask & WF_MASK_SOURCE ? 0u : 2u);
}

/* struct wf_envelope, as key tables read it */
#define ENVELOPE(type, link)                                                   \
    ((ptrdiff_t)offsetof(type, env0) - (ptrdiff_t)offsetof(type, link))
_Static_assert(offsetof(struct wf_posted, env1) ==
                   offsetof(struct wf_posted, env0) + sizeof(uint64_t),
               "an envelope");
_Static_assert(offsetof(struct wf_arrived, env1) ==
                   offsetof(struct wf_arrived, env0) + sizeof(uint64_t),
               "an envelope");

void wf_match_init(struct wf_match *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        wf_keys_init(&m->posted[c], class_mask[c],
                     ENVELOPE(struct wf_posted, link));
        wf_keys_init(&m->arrived[c], class_mask[c],
                     ENVELOPE(struct wf_arrived, link[c]));
    }
}

void wf_match_fini(struct wf_match *m)
{
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        wf_keys_free(&m->posted[c]);
        wf_keys_free(&m->arrived[c]);
    }
}

/* ---- posted -------------------------------------------------------------- */

/* Move the entries that are left together, in order. */
static void close_gaps(struct wf_match *m)
{
    uint32_t n = 0;

    for (uint64_t rest = m->live; rest; rest &= rest - 1)
        m->recent[n++] = m->recent[__builtin_ctzll(rest)];
    m->live = (UINT64_C(1) << n) - 1;
}

static int hash_recent(struct wf_match *m)
{
    for (uint64_t rest = m->live; rest; rest &= rest - 1) {
        struct wf_posted *p = m->recent[__builtin_ctzll(rest)].posted;
        unsigned c = class_of(p->mask);
        if (wf_keys_append(&m->posted[c], &p->link) != 0)
            return WEFT_ENOMEM;
        p->class = (uint8_t)c;
        p->stamp = m->stamp++;
        m->hashed++;
        m->live &= ~(rest & -rest);
    }
    return 0;
}

/* Half of it must be free afterwards, or closing gaps would cost more than it
 * saves. */
int wf_match_make_room(struct wf_match *m)
{
    if (__builtin_popcountll(m->live) > WF_RECENT / 2)
        return hash_recent(m);
    close_gaps(m);
    return 0;
}

static void unhash(struct wf_match *m, struct wf_posted *p)
{
    wf_keys_remove(&m->posted[p->class], &p->link);
    m->hashed--;
}

void wf_match_unpost(struct wf_match *m, struct wf_posted *p)
{
    if (p->class < WF_CLASSES) {
        unhash(m, p);
        return;
    }
    for (uint64_t rest = m->live; rest; rest &= rest - 1)
        if (m->recent[__builtin_ctzll(rest)].posted == p)
            m->live &= ~(rest & -rest);
}

static struct wf_posted *posted_of(struct wf_link *l)
{
    return l ? wf_container(l, struct wf_posted, link) : NULL;
}

static struct wf_posted *take_hashed(struct wf_match *m, uint64_t env0,
                                     uint64_t env1)
{
    struct wf_posted *best = NULL;

    for (unsigned c = 0; c < WF_CLASSES; c++) {
        struct wf_posted *p =
            posted_of(wf_keys_oldest(&m->posted[c], env0, env1));
        if (p && (!best || p->stamp < best->stamp))
            best = p;
    }
    if (best)
        unhash(m, best);
    return best;
}

/* No branch per entry: which one fits cannot be predicted. */
static struct wf_posted *take_recent(struct wf_match *m, uint64_t env0,
                                     uint64_t env1)
{
    uint64_t hits = 0;

    for (uint64_t rest = m->live; rest; rest &= rest - 1) {
        const struct wf_recent *r = &m->recent[__builtin_ctzll(rest)];
        hits |= rest & -rest & -(uint64_t)wf_match_fits(r, env0, env1);
    }
    return hits ? wf_match_take_recent(m, (unsigned)__builtin_ctzll(hits))
                : NULL;
}

struct wf_posted *wf_match_take_any(struct wf_match *m, uint64_t env0,
                                    uint64_t env1)
{
    struct wf_posted *p = NULL;

    if (__builtin_popcountll(m->live) > WF_SCANNED)
        hash_recent(m); /* without memory for it they are all compared */
    if (m->hashed)
        p = take_hashed(m, env0, env1);
    return p ? p : take_recent(m, env0, env1);
}

/* visit may take l away: what follows it is noted before. */
static void each_of_key(struct wf_link *l,
                        void (*visit)(struct wf_posted *, void *), void *arg)
{
    for (struct wf_link *next; l; l = next) {
        next = l->next;
        visit(posted_of(l), arg);
    }
}

static void each_hashed(struct wf_keys *t,
                        void (*visit)(struct wf_posted *, void *), void *arg)
{
    for (uint32_t i = 0; i < t->size; i++)
        for (struct wf_link *chain, *l = t->bin[i]; l; l = chain) {
            chain = l->chain;
            each_of_key(l, visit, arg);
        }
}

void wf_match_each_posted(struct wf_match *m,
                          void (*visit)(struct wf_posted *, void *), void *arg)
{
    for (unsigned c = 0; c < WF_CLASSES; c++)
        each_hashed(&m->posted[c], visit, arg);
    for (uint64_t rest = m->live; rest; rest &= rest - 1)
        visit(m->recent[__builtin_ctzll(rest)].posted, arg);
}

/* ---- unexpected ---------------------------------------------------------- */

static struct wf_arrived *arrived_of(struct wf_order *order)
{
    return order ? wf_container(order, struct wf_arrived, order) : NULL;
}

void wf_match_store(struct wf_match *m, struct wf_arrived *a)
{
    a->indexed = 0;
    a->order = (struct wf_order){m->newest, NULL};
    if (m->newest)
        m->newest->next = &a->order;
    else
        m->oldest = &a->order;
    m->newest = &a->order;
    m->stored++;
}

static void unindex(struct wf_match *m, struct wf_arrived *a)
{
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        if (!(a->indexed & 1u << c))
            continue;
        wf_keys_remove(&m->arrived[c], &a->link[c]);
        if (m->indexed[c] == &a->order)
            m->indexed[c] = a->order.prev;
    }
}

void wf_match_unstore(struct wf_match *m, struct wf_arrived *a)
{
    struct wf_order *prev = a->order.prev, *next = a->order.next;

    if (a->indexed)
        unindex(m, a);
    *(prev ? &prev->next : &m->oldest) = next;
    *(next ? &next->prev : &m->newest) = prev;
    m->stored--;
}

/* Let class c know all messages. false: out of memory. */
static bool catch_up(struct wf_match *m, unsigned c)
{
    struct wf_order *l = m->indexed[c] ? m->indexed[c]->next : m->oldest;

    for (; l; l = l->next) {
        struct wf_arrived *a = arrived_of(l);
        if (wf_keys_append(&m->arrived[c], &a->link[c]) != 0)
            return false;
        a->indexed |= (uint8_t)(1u << c);
        m->indexed[c] = l;
    }
    return true;
}

static bool fits(struct wf_order *l, uint64_t env0, uint64_t env1,
                 uint64_t mask)
{
    const struct wf_arrived *a = arrived_of(l);

    return wf_match_equal(env0, env1 & mask, mask, a->env0, a->env1);
}

static struct wf_arrived *walk(struct wf_match *m, uint64_t env0, uint64_t env1,
                               uint64_t mask)
{
    struct wf_order *l = m->oldest;

    while (l && !fits(l, env0, env1, mask))
        l = l->next;
    return arrived_of(l);
}

struct wf_arrived *wf_match_search(struct wf_match *m, uint64_t env0,
                                   uint64_t env1, uint64_t mask)
{
    unsigned c = class_of(mask);
    struct wf_link *l;

    if (fits(m->oldest, env0, env1, mask)) /* received as they were sent */
        return arrived_of(m->oldest);
    if (m->stored <= WF_SCANNED || !catch_up(m, c))
        return walk(m, env0, env1, mask);
    l = wf_keys_oldest(&m->arrived[c], env0, env1);
    return l ? wf_container(l, struct wf_arrived, link[c]) : NULL;
}

void wf_match_each_arrived(struct wf_match *m,
                           bool (*visit)(struct wf_arrived *, void *),
                           void *arg)
{
    for (struct wf_order *next, *l = m->oldest; l; l = next) {
        next = l->next;
        if (!visit(arrived_of(l), arg))
            return;
    }
}
