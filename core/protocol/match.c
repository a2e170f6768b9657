/* Matching queues: match.h has the picture.
 *
 * INVARIANTS
 *   1. All receives in the list were posted before all in `recent`, and entries
 *      of one key stay in order: MPI-5.0 s3.5, "non-overtaking".
 *   2. A receive is in the table of its class if and only if it is in the list
 *      and not younger than `last_tabled`; a message is in the table of class c
 *      if and only if it is not younger than indexed[c].
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/match.h"

#include "os/tuning.h"

static unsigned class_of(uint64_t mask)
{
    return (mask & WF_MASK_TAG ? 0u : 1u) | (mask & WF_MASK_SOURCE ? 0u : 2u);
}

/* The offset at which key tables find a struct wf_envelope, from the link. */
#define ENVELOPE(type, link)                                                   \
    ((ptrdiff_t)offsetof(type, env0) - (ptrdiff_t)offsetof(type, link))
_Static_assert(offsetof(struct wf_posted_entry, env1) ==
                   offsetof(struct wf_posted_entry, env0) + sizeof(uint64_t),
               "an envelope");
_Static_assert(offsetof(struct wf_arrived_entry, env1) ==
                   offsetof(struct wf_arrived_entry, env0) + sizeof(uint64_t),
               "an envelope");

WF_COLD void wf_match_init(struct wf_match *m)
{
    memset(m, 0, sizeof *m);
    wf_slab_init(&m->entries, sizeof(struct wf_posted_entry));
    wf_slab_init(&m->indices, sizeof(struct wf_arrived_entry));
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        wf_keys_init(&m->posted[c], wf_class_mask(c),
                     ENVELOPE(struct wf_posted_entry, link));
        wf_keys_init(&m->arrived[c], wf_class_mask(c),
                     ENVELOPE(struct wf_arrived_entry, link[c]));
    }
}

WF_COLD void wf_match_fini(struct wf_match *m)
{
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        wf_keys_free(&m->posted[c]);
        wf_keys_free(&m->arrived[c]);
    }
    wf_slab_fini(&m->entries);
    wf_slab_fini(&m->indices);
}

/* ---- posted -------------------------------------------------------------- */

/* Move the live entries of recent[] to its beginning, in order. */
static void close_gaps(struct wf_match *m)
{
    uint32_t n = 0;

    for (uint64_t rest = m->live; rest; rest &= rest - 1)
        m->recent[n++] = m->recent[__builtin_ctzll(rest)];
    WF_ASSERT(n <= WF_RECENT / 2);
    m->live = (UINT64_C(1) << n) - 1;
}

/* Move all of recent[] to the end of the list. */
static void list_recent(struct wf_match *m)
{
    for (uint64_t rest = m->live; rest; rest &= rest - 1) {
        struct wf_posted *p = m->recent[__builtin_ctzll(rest)].posted;
        WF_ASSERT(p->where == WF_POSTED_RECENT && !(m->last && m->last->next));
        p->where = WF_LISTED;
        p->order = (struct wf_queue_link){m->last, NULL};
        *(m->last ? &m->last->next : &m->first) = &p->order;
        m->last = &p->order;
        m->listed++;
    }
    m->live = 0;
}

/* Half of recent[] must be free afterwards, or closing gaps would cost more
 * than it saves. */
void wf_match_make_room(struct wf_match *m)
{
    if (__builtin_popcountll(m->live) > WF_RECENT / 2)
        list_recent(m);
    else
        close_gaps(m);
}

static void unlist_receive(struct wf_match *m, struct wf_posted *p)
{
    struct wf_queue_link *prev = p->order.prev, *next = p->order.next;

    WF_ASSERT(p->where == WF_LISTED || p->where == WF_TABLED);
    WF_ASSERT(m->listed > 0 && (prev || m->first == &p->order));
    WF_ASSERT(next || m->last == &p->order);
    if (p->where == WF_TABLED) {
        WF_ASSERT(p->entry->posted == p && p->class < WF_CLASSES);
        wf_keys_remove(&m->posted[p->class], &p->entry->link);
        wf_slab_free(&m->entries, p->entry);
    }
    p->where = WF_UNPOSTED;
    if (m->last_tabled == &p->order)
        m->last_tabled = prev;
    *(prev ? &prev->next : &m->first) = next;
    *(next ? &next->prev : &m->last) = prev;
    m->listed--;
}

void wf_match_unpost(struct wf_match *m, struct wf_posted *p)
{
    WF_ASSERT(p->where != WF_UNPOSTED);
    if (p->where != WF_POSTED_RECENT) {
        unlist_receive(m, p);
        return;
    }
    p->where = WF_UNPOSTED;
    for (uint64_t rest = m->live; rest; rest &= rest - 1)
        if (m->recent[__builtin_ctzll(rest)].posted == p)
            m->live &= ~(rest & -rest);
}

/* Enter a receive into the table of its class. false: out of memory. */
static bool table_receive(struct wf_match *m, struct wf_posted *p)
{
    struct wf_posted_entry *e = wf_slab_alloc(&m->entries);

    if (!e)
        return false;
    *e = (struct wf_posted_entry){
        .env0 = p->env0, .env1 = p->env1, .posted = p, .stamp = m->stamp++};
    if (wf_keys_append(&m->posted[p->class], &e->link) != 0) {
        wf_slab_free(&m->entries, e);
        return false;
    }
    p->entry = e;
    p->where = WF_TABLED;
    m->last_tabled = &p->order;
    return true;
}

/* Enter the whole list into the tables. false: out of memory. */
static bool table_all(struct wf_match *m)
{
    struct wf_queue_link *l = m->last_tabled ? m->last_tabled->next : m->first;

    for (; l; l = l->next)
        if (!table_receive(m, wf_posted_from_link(l)))
            return false;
    return true;
}

/* The oldest receive in the tables that matches; NULL: none. */
static struct wf_posted *find_tabled(const struct wf_match *m, uint64_t env0,
                                     uint64_t env1)
{
    struct wf_posted_entry *best = NULL;

    for (unsigned c = 0; c < WF_CLASSES; c++) {
        struct wf_link *l = wf_keys_find_oldest(&m->posted[c], env0, env1);
        struct wf_posted_entry *e =
            l ? wf_container(l, struct wf_posted_entry, link) : NULL;
        if (e && (!best || e->stamp < best->stamp))
            best = e;
    }
    return best ? best->posted : NULL;
}

static struct wf_posted *walk_posted(struct wf_match *m, uint64_t env0,
                                     uint64_t env1)
{
    for (struct wf_queue_link *l = m->first; l; l = l->next) {
        struct wf_posted *p = wf_posted_from_link(l);
        m->searched++;
        if (wf_match_posted_fits(p, env0, env1))
            return p;
    }
    return NULL;
}

static struct wf_posted *take_listed(struct wf_match *m, uint64_t env0,
                                     uint64_t env1)
{
    struct wf_posted *p =
        table_all(m) ? find_tabled(m, env0, env1) : walk_posted(m, env0, env1);

    m->searched += p != NULL;
    WF_ASSERT(!p || wf_match_posted_fits(p, env0, env1));
    if (p)
        unlist_receive(m, p);
    return p;
}

/* There is no branch per entry, because none could be predicted. */
static struct wf_posted *take_recent(struct wf_match *m, uint64_t env0,
                                     uint64_t env1)
{
    uint64_t hits = 0;

    m->searched += (unsigned)__builtin_popcountll(m->live);
    for (uint64_t rest = m->live; rest; rest &= rest - 1) {
        const struct wf_recent *r = &m->recent[__builtin_ctzll(rest)];
        hits |= rest & -rest & -(uint64_t)wf_match_recent_fits(r, env0, env1);
    }
    return hits ? wf_match_take_recent(m, (unsigned)__builtin_ctzll(hits))
                : NULL;
}

struct wf_posted *wf_match_take_any(struct wf_match *m, uint64_t env0,
                                    uint64_t env1)
{
    struct wf_posted *p = NULL;

    m->searches++;
    if (__builtin_popcountll(m->live) > WF_SCANNED)
        list_recent(m);
    WF_ASSERT(!m->listed == !m->first);
    if (m->first)
        p = take_listed(m, env0, env1);
    return p ? p : take_recent(m, env0, env1);
}

bool wf_match_may_take(const struct wf_match *m, uint64_t env0, uint64_t env1,
                       uint64_t mask)
{
    bool fits = false;

    if (mask != wf_class_mask(0) ||
        __builtin_popcountll(m->live) > WF_SCANNED || m->last_tabled != m->last)
        return true;
    for (uint64_t rest = m->live; rest; rest &= rest - 1)
        fits |=
            wf_match_recent_fits(&m->recent[__builtin_ctzll(rest)], env0, env1);
    return fits || find_tabled(m, env0, env1);
}

void wf_match_each_posted(struct wf_match *m,
                          void (*visit)(struct wf_posted *, void *), void *arg)
{
    for (struct wf_queue_link *next, *l = m->first; l; l = next) {
        next = l->next; /* visit may remove this one */
        visit(wf_posted_from_link(l), arg);
    }
    for (uint64_t rest = m->live; rest; rest &= rest - 1)
        visit(m->recent[__builtin_ctzll(rest)].posted, arg);
}

/* ---- unexpected ---------------------------------------------------------- */

static struct wf_arrived *arrived_of(struct wf_queue_link *order)
{
    return order ? wf_container(order, struct wf_arrived, order) : NULL;
}

void wf_match_store(struct wf_match *m, struct wf_arrived *a)
{
    WF_ASSERT(!m->newest == !m->oldest && !m->newest == !m->stored);
    a->index = NULL;
    a->order = (struct wf_queue_link){m->newest, NULL};
    if (m->newest)
        m->newest->next = &a->order;
    else
        m->oldest = &a->order;
    m->newest = &a->order;
    m->stored++;
}

static void unindex_message(struct wf_match *m, struct wf_arrived *a)
{
    struct wf_arrived_entry *x = a->index;

    WF_ASSERT(x->arrived == a && x->env0 == a->env0 && x->env1 == a->env1);
    for (unsigned c = 0; c < WF_CLASSES; c++) {
        if (!(x->classes & 1u << c))
            continue;
        wf_keys_remove(&m->arrived[c], &x->link[c]);
        if (m->indexed[c] == &a->order)
            m->indexed[c] = a->order.prev;
    }
    wf_slab_free(&m->indices, x);
}

void wf_match_unstore(struct wf_match *m, struct wf_arrived *a)
{
    struct wf_queue_link *prev = a->order.prev, *next = a->order.next;

    WF_ASSERT(m->stored > 0);
    WF_ASSERT(prev ? prev->next == &a->order : m->oldest == &a->order);
    WF_ASSERT(next ? next->prev == &a->order : m->newest == &a->order);
    if (a->index)
        unindex_message(m, a);
    if (next)
        __builtin_prefetch(next->next);
    *(prev ? &prev->next : &m->oldest) = next;
    *(next ? &next->prev : &m->newest) = prev;
    m->stored--;
}

/* The index of a message, made on first use; NULL: out of memory. */
static struct wf_arrived_entry *ensure_index(struct wf_match *m,
                                             struct wf_arrived *a)
{
    struct wf_arrived_entry *x =
        a->index ? a->index : wf_slab_alloc(&m->indices);

    if (!x || a->index)
        return x;
    x->env0 = a->env0;
    x->env1 = a->env1;
    x->arrived = a;
    x->classes = 0;
    return a->index = x;
}

/* Enter all new arrivals into the table of class c. false: out of memory. */
static bool index_class(struct wf_match *m, unsigned c)
{
    struct wf_queue_link *l = m->indexed[c] ? m->indexed[c]->next : m->oldest;

    for (; l; l = l->next) {
        struct wf_arrived_entry *x = ensure_index(m, arrived_of(l));
        if (!x || wf_keys_append(&m->arrived[c], &x->link[c]) != 0)
            return false;
        x->classes |= 1u << c;
        m->indexed[c] = l;
    }
    return true;
}

static bool arrived_fits(struct wf_queue_link *l, uint64_t env0, uint64_t env1,
                         uint64_t mask)
{
    const struct wf_arrived *a = arrived_of(l);

    return wf_match_is_equal(env0, env1 & mask, mask, a->env0, a->env1);
}

static struct wf_arrived *walk_arrived(struct wf_match *m, uint64_t env0,
                                       uint64_t env1, uint64_t mask)
{
    struct wf_queue_link *l = m->oldest;

    for (; l && !arrived_fits(l, env0, env1, mask); l = l->next)
        m->searched++;
    return arrived_of(l);
}

struct wf_arrived *wf_match_search(struct wf_match *m, uint64_t env0,
                                   uint64_t env1, uint64_t mask)
{
    unsigned c = class_of(mask);
    struct wf_link *l;

    WF_ASSERT(m->stored && m->oldest);
    WF_ASSERT(mask == wf_class_mask(c));
    /* most messages are received in the order of arrival */
    if (arrived_fits(m->oldest, env0, env1, mask))
        return arrived_of(m->oldest);
    m->searches++;
    if (m->stored <= WF_SCANNED || !index_class(m, c))
        return walk_arrived(m, env0, env1, mask);
    l = wf_keys_find_oldest(&m->arrived[c], env0, env1);
    m->searched++;
    return l ? wf_container(l, struct wf_arrived_entry, link[c])->arrived
             : NULL;
}

void wf_match_each_arrived(struct wf_match *m,
                           bool (*visit)(struct wf_arrived *, void *),
                           void *arg)
{
    for (struct wf_queue_link *next, *l = m->oldest; l; l = next) {
        next = l->next;
        if (!visit(arrived_of(l), arg))
            return;
    }
}
