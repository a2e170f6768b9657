/* Unexpected messages: storage of about the size that arrived.
 *
 * Short ones lie in cells, larger ones in memory of their own. How much there
 * can be is bounded by the credit of the senders (credit.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "progress/progress.h"
#include "protocol/queues.h"

enum { HEAD = sizeof(struct wf_message), SMALL = 384, MEDIUM = 1024 };
_Static_assert(HEAD <= SMALL, "the smallest cell has room for a message");
_Static_assert(offsetof(struct wf_message, arrived.link) == 2 * WF_CACHE_LINE,
               "a short message in order is in two lines");

void wf_unexpected_init(struct wf_engine *e)
{
    wf_cells_init(&e->messages[0], SMALL);
    wf_cells_init(&e->messages[1], MEDIUM);
}

void wf_unexpected_fini(struct wf_engine *e)
{
    wf_cells_fini(&e->messages[0]);
    wf_cells_fini(&e->messages[1]);
}

/* Which cells have room for this much payload; NULL: none. */
static struct wf_cells *cells_for(struct wf_engine *e, size_t room)
{
    if (room <= SMALL - HEAD)
        return &e->messages[0];
    return room <= MEDIUM - HEAD ? &e->messages[1] : NULL;
}

static struct wf_message *allocate(struct wf_engine *e, size_t room)
{
    struct wf_cells *cells = cells_for(e, room);
    struct wf_message *m = cells ? wf_cells_take(cells) : malloc(HEAD + room);

    if (m)
        m->data = room <= sizeof m->near ? m->near : m->far;
    return m;
}

static void account(struct wf_engine *e, uint64_t charge)
{
    e->unexpected_bytes += charge;
    if (e->unexpected_bytes > e->unexpected_high)
        e->unexpected_high = e->unexpected_bytes;
}

struct wf_message *wf_unexpected_create(struct weft_loc *loc,
                                        const struct wf_wire *w,
                                        uint64_t length, size_t room)
{
    struct wf_engine *e = loc->wf->engine;
    struct wf_message *m = allocate(e, room);

    if (!m)
        return NULL;
    wf_object_init(&m->object, WF_KIND_MESSAGE);
    m->arrived.env0 = wf_le64(w->a);
    m->arrived.env1 = wf_le64(w->b);
    m->loc = loc;
    m->comm = NULL;
    m->claimed = NULL;
    m->state = WF_MSG_ARRIVING;
    m->flags = wf_le16(w->flags);
    m->key_bytes = 0;
    m->error = 0;
    m->length = length;
    m->charge = room + WF_MESSAGE_OVERHEAD;
    wf_match_store(&e->match, &m->arrived);
    m->queued = true;
    account(e, m->charge);
    if (loc->wf->api.on)
        wf_progress_notify(loc->wf); /* probes wait for it */
    return m;
}

void wf_unexpected_free(struct wf_message *m)
{
    struct wf_engine *e = m->loc->wf->engine;
    struct wf_cells *cells = cells_for(e, m->charge - WF_MESSAGE_OVERHEAD);

    e->unexpected_bytes -= m->charge;
    if (m->queued)
        wf_match_unstore(&e->match, &m->arrived);
    if (m->comm)
        wf_comm_put(m->comm);
    m->object.kind = WF_KIND_DEAD;
    if (cells)
        wf_cells_give(cells, m);
    else
        free(m);
}

bool wf_unexpected_take(struct wf_arrived *a, void *buf, uint64_t room,
                        struct wf_envelope_length *got)
{
    struct wf_message *m = wf_container(a, struct wf_message, arrived);
    struct weft_loc *loc = m->loc;
    uint64_t charge = m->charge;

    if (m->state != WF_MSG_COMPLETE || m->flags & WF_FLAG_SYNC || m->error ||
        m->length > room)
        return false;
    *got = (struct wf_envelope_length){a->env1, m->length};
    wf_copy_short(buf, m->data, m->length);
    wf_unexpected_free(m);
    wf_credit_consumed(loc, charge);
    return true;
}
