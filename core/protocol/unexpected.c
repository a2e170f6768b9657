/* Unexpected messages: they are stored in memory of about their size.
 *
 * A payload of up to 920 bytes is stored in an object of 128, 256, 512 or 1024
 * bytes from a slab, one of up to 64 KB in an object with room for 2 KB, 4 KB
 * and so on, a larger one in memory of its own: at most twice the bytes that
 * the sender's credit was charged, which bounds how much there can be
 * (credit.c). Slabs are kept: malloc would return the memory of a burst to the
 * kernel, and each page of the next burst would be a fault, which may take
 * longer than the message.
 *
 * Without memory a message stays in its transport and is offered again; after
 * STARVED_NS the peer is given up, with WEFT_ENOMEM for the operations that
 * wait for it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/unexpected.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/carrier.h"
#include "protocol/checked.h"
#include "protocol/failure.h"
#include "protocol/order.h"
#include "protocol/queues.h"
#include "protocol/traced.h"
#include "route/links.h"
#include "route/location.h"

#define STARVED_NS 2000000000u /* without memory; then the peer is given up */
enum {
    HEAD = offsetof(struct wf_message, data),
    SMALLEST = 128, /* bytes of the smallest objects */
    WITH_HEAD = 4   /* so many sizes include HEAD, the others come on top */
};
_Static_assert(HEAD + 24 <= SMALLEST,
               "24 bytes need no more than a rendezvous");

WF_COLD void wf_unexpected_init(struct wf_engine *e)
{
    for (int i = 0; i < WF_MESSAGE_SIZES; i++)
        wf_slab_init(&e->messages[i],
                      ((size_t)SMALLEST << i) + (i < WITH_HEAD ? 0 : HEAD));
}

WF_COLD void wf_unexpected_fini(struct wf_engine *e)
{
    for (int i = 0; i < WF_MESSAGE_SIZES; i++)
        wf_slab_fini(&e->messages[i]);
}

/* The slab of the smallest objects with room for this much payload; NULL: none
 * is large enough. */
static struct wf_slab *cells_for(struct wf_engine *e, size_t room)
{
    struct wf_slab *c = e->messages;

    if (wf_likely(HEAD + room <= SMALLEST))
        return c;
    while (c < e->messages + WF_MESSAGE_SIZES && c->size < HEAD + room)
        c++;
    return c < e->messages + WF_MESSAGE_SIZES ? c : NULL;
}

/* Undo a reservation in the slabs below `end`. */
static void unreserve_below(struct wf_engine *e, struct wf_slab *end,
                            uint64_t n)
{
    for (struct wf_slab *c = e->messages; c < end; c++)
        wf_slab_unreserve(c, n);
}

/* Shorter messages are stored in smaller objects, so each size has n. */
bool wf_unexpected_reserve(struct wf_engine *e, size_t room, uint64_t n)
{
    struct wf_slab *last = cells_for(e, room);

    for (struct wf_slab *c = e->messages; last && c <= last; c++)
        if (!wf_slab_reserve(c, n)) {
            unreserve_below(e, c, n);
            return false;
        }
    return last != NULL;
}

void wf_unexpected_unreserve(struct wf_engine *e, size_t room, uint64_t n)
{
    unreserve_below(e, cells_for(e, room) + 1, n);
}

static void release_message(struct wf_engine *e, struct wf_message *m)
{
    struct wf_slab *cells = cells_for(e, m->room);

    if (cells)
        wf_slab_free(cells, m);
    else
        free(m);
}

static struct wf_message *allocate_message(struct wf_engine *e, size_t room,
                                           bool arriving)
{
    struct wf_slab *cells = cells_for(e, room);
    struct wf_message *m = cells ? wf_slab_alloc(cells) : malloc(HEAD + room);

    if (!m)
        return NULL;
    m->room = (uint32_t)room;
    m->landing = NULL;
    if (!arriving)
        return m;
    m->landing = malloc(sizeof *m->landing);
    if (!m->landing) {
        release_message(e, m);
        return NULL;
    }
    m->landing->message = m;
    m->landing->claimed = NULL;
    return m;
}

static void count_stored(struct wf_engine *e, uint64_t charge, bool whole)
{
    struct wf_message_counts *c = &e->counts;

    c->stored += whole;
    c->growths++;
    c->length_sum += e->match.stored;
    if (e->match.stored > c->length_high)
        c->length_high = e->match.stored;
    e->unexpected_bytes += charge;
    c->bytes_sum += e->unexpected_bytes;
    if (e->unexpected_bytes > e->unexpected_high)
        e->unexpected_high = e->unexpected_bytes;
}

/* The message waits in its transport, in the hope that some memory is freed;
 * but not for ever, for the program may post the receive only after another
 * message, which cannot be stored either. */
WF_COLD void wf_unexpected_note_starvation(struct weft_loc *loc, size_t room)
{
    uint64_t now = wf_now(loc->wf);
    char why[120];

    if (!loc->starved_since)
        loc->starved_since = now;
    if (now - loc->starved_since < STARVED_NS || loc->failed)
        return;
    snprintf(why, sizeof why,
             "no memory to keep a message of %zu bytes from it for which no "
             "receive was ready",
             room);
    wf_location_down(loc, WEFT_ENOMEM, why);
}

struct wf_message *wf_unexpected_create(struct weft_loc *loc,
                                        const struct wf_wire *w,
                                        uint64_t length, size_t room,
                                        size_t have)
{
    struct wf_engine *e = loc->wf->engine;
    struct wf_message *m = allocate_message(e, room, have < room);

    WF_ASSERT(have <= room && room <= UINT32_MAX);
    if (wf_unlikely(!m)) {
        wf_unexpected_note_starvation(loc, room);
        return NULL;
    }
    if (wf_unlikely(loc->starved_since))
        loc->starved_since = 0;
    wf_object_init(&m->object, WF_KIND_MESSAGE);
    m->arrived.env0 = wf_le64(w->a);
    m->arrived.env1 = wf_le64(w->b);
    m->loc = loc;
    m->comm = NULL;
    m->state = have < room ? WF_MSG_ARRIVING : WF_MSG_COMPLETE;
    m->flags = wf_le16(w->flags);
    m->key_bytes = 0;
    m->error = 0;
    m->length = length;
    wf_match_store(&e->match, &m->arrived);
    WF_ASSERT(m->room >= have && (have == room) == !m->landing);
    m->queued = true;
    count_stored(e, wf_message_charge(m),
                 (w->type & ~(WF_SEQUENCED | WF_CHECKED)) == WF_EAGER);
    if (WF_TRACING(loc->wf))
        wf_trace_note(loc->wf, WF_TRACE_UNEXPECTED,
                      &(struct wf_trace_about){.peer = wf_trace_peer(loc),
                                               .env0 = m->arrived.env0,
                                               .env1 = m->arrived.env1,
                                               .bytes = length});
    if (loc->wf->api.on)
        wf_progress_notify(loc->wf); /* probes may wait for it */
    return m;
}

void wf_unexpected_free(struct wf_message *m)
{
    struct wf_engine *e = m->loc->wf->engine;

    WF_ASSERT(m->object.kind == WF_KIND_MESSAGE);
    WF_ASSERT(e->unexpected_bytes >= wf_message_charge(m));
    e->unexpected_bytes -= wf_message_charge(m);
    if (m->queued)
        wf_match_unstore(&e->match, &m->arrived);
    if (m->comm)
        wf_comm_put(m->comm);
    m->object.kind = WF_KIND_DEAD;
    if (wf_unlikely(m->landing != NULL))
        free(m->landing);
    release_message(e, m);
}

bool wf_unexpected_take(struct wf_arrived *a, void *buf, uint64_t room,
                        struct wf_envelope_length *got)
{
    struct wf_message *m = wf_container(a, struct wf_message, arrived);
    struct weft_loc *loc = m->loc;
    uint64_t charge = wf_message_charge(m);

    if (m->state != WF_MSG_COMPLETE || m->flags & WF_FLAG_SYNC || m->error ||
        m->length > room)
        return false;
    WF_ASSERT(m->length <= m->room && m->queued);
    *got = (struct wf_envelope_length){a->env1, m->length};
    wf_copy_short(buf, m->data, m->length);
    wf_unexpected_free(m);
    wf_credit_consumed(loc, charge);
    return true;
}

void wf_arrive_resume(struct wf_instance *wf)
{
    struct wf_links *links = wf->links;
    struct weft_loc *loc;

    wf_orders_maintain(wf);
    for (uint32_t at = 0; (loc = wf_links_next(links, &at));) {
        uint32_t stalled;
        wf_checks_end_damaged(loc);
        stalled = loc->stalled;
        if (!stalled)
            continue;
        WF_ASSERT(stalled >> links->ep_count == 0 && loc->wf == wf);
        loc->stalled = 0;
        for (int k = 0; k < links->ep_count; k++)
            if (stalled & 1u << k && loc->peers[k] &&
                WEFT_HAS(links->eps[k].ops, weft_ops, rx_resume))
                links->eps[k].ops->rx_resume(loc->peers[k]);
    }
}
