/* Unexpected messages: storage of exactly the size that arrived.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "progress/progress.h"
#include "protocol/queues.h"

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
    struct wf_message *m = malloc(sizeof *m + room);

    if (!m)
        return NULL;
    memset(m, 0, sizeof *m);
    wf_object_init(&m->object, WF_KIND_MESSAGE);
    m->arrived.env0 = wf_le64(w->a);
    m->arrived.env1 = wf_le64(w->b);
    m->loc = loc;
    m->flags = wf_le16(w->flags);
    m->length = length;
    wf_match_store(&e->match, &m->arrived);
    m->queued = true;
    account(e, room + WF_MESSAGE_OVERHEAD);
    m->charge = room + WF_MESSAGE_OVERHEAD;
    if (loc->wf->api.on)
        wf_progress_notify(loc->wf); /* probes wait for it */
    return m;
}

void wf_unexpected_free(struct wf_message *m)
{
    struct wf_engine *e = m->loc->wf->engine;

    e->unexpected_bytes -= m->charge;
    if (m->queued)
        wf_match_unstore(&e->match, &m->arrived);
    if (m->comm)
        wf_comm_put(m->comm);
    m->object.kind = WF_KIND_DEAD;
    free(m);
}
