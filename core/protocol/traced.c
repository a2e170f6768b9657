/* The lanes of a rank with a trace, and the records of its messages: traced.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/traced.h"

#include <stdlib.h>

#include "protocol/queues.h"
#include "route/location.h"

/* The functions that a lane had before, and their peer. */
struct wf_traced_lane {
    struct weft_loc *loc;
    weft_peer *peer;
    int (*send)(weft_peer *, weft_tx *);
    int (*send_short)(weft_peer *, const weft_hdr *, const void *, size_t,
                      unsigned);
};

/* ---- records ------------------------------------------------------------- */

void wf_trace_note_receive(const struct wf_p2p *p, enum wf_trace_event event,
                           const struct weft_loc *loc, uint64_t env1,
                           uint64_t bytes)
{
    struct wf_trace_about a = {.peer = wf_trace_peer(loc),
                               .env0 = p->posted.env0,
                               .env1 = env1,
                               .bytes = bytes};

    wf_trace_note(p->req.wf, event, &a);
}

/* ---- sending ------------------------------------------------------------- */

/* Returns the event of a container that is sent; WF_TRACE_NONE: it has none. */
static enum wf_trace_event event_of(const struct wf_wire *w)
{
    switch (w->type) {
    case WF_EAGER:
        return WF_TRACE_SEND_EAGER;
    case WF_NOTIFY:
        return WF_TRACE_SEND_RENDEZVOUS;
    case WF_APPROVE:
        return WF_TRACE_APPROVE;
    case WF_TRANSFER:
        return WF_TRACE_DATA;
    case WF_FIN:
        return WF_TRACE_FINISH;
    default:
        return WF_TRACE_NONE;
    }
}

/* Describes a container before it is sent: afterwards it may be gone. */
static enum wf_trace_event describe_container(const struct weft_loc *loc,
                                              const weft_hdr *hdr, uint64_t len,
                                              struct wf_trace_about *a)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;
    enum wf_trace_event event = event_of(w);
    bool message = w->type == WF_EAGER || w->type == WF_NOTIFY;

    *a = (struct wf_trace_about){.peer = wf_trace_peer(loc), .bytes = len};
    if (message) {
        a->env0 = wf_le64(w->a);
        a->env1 = wf_le64(w->b);
    }
    if (w->type == WF_NOTIFY || w->type == WF_APPROVE)
        a->bytes = wf_le64(w->c);
    return event;
}

/* The time is that before the container was sent: an answer comes after it. */
static void note_sent(const struct wf_traced_lane *l, enum wf_trace_event event,
                      const struct wf_trace_about *a, uint64_t ticks, int r)
{
    if (r >= 0 && event != WF_TRACE_NONE)
        wf_trace_note_at(l->loc->wf, event, a, ticks);
}

static int send_container(weft_peer *peer, weft_tx *tx)
{
    struct wf_traced_lane *l = (struct wf_traced_lane *)peer;
    struct wf_trace_about a;
    enum wf_trace_event event =
        describe_container(l->loc, tx->hdr, tx->len, &a);
    uint64_t ticks = wf_trace_ticks();
    int r = l->send(l->peer, tx);

    note_sent(l, event, &a, ticks, r);
    return r;
}

static int send_short(weft_peer *peer, const weft_hdr *hdr, const void *data,
                      size_t n, unsigned flags)
{
    struct wf_traced_lane *l = (struct wf_traced_lane *)peer;
    struct wf_trace_about a;
    enum wf_trace_event event = describe_container(l->loc, hdr, n, &a);
    uint64_t ticks = wf_trace_ticks();
    int r = l->send_short(l->peer, hdr, data, n, flags);

    note_sent(l, event, &a, ticks, r);
    return r;
}

int wf_traced_wrap(struct weft_loc *loc, struct wf_lane *l)
{
    struct wf_traced_lane *mine;

    WF_ASSERT(WF_TRACING(loc->wf) && l->send != send_container);
    if (!loc->traced)
        loc->traced = calloc(WF_LANES, sizeof *loc->traced);
    if (!loc->traced)
        return WEFT_ENOMEM;
    mine = &loc->traced[l - loc->lane];
    *mine = (struct wf_traced_lane){.loc = loc,
                                    .peer = l->peer,
                                    .send = l->send,
                                    .send_short = l->send_short};
    l->peer = (weft_peer *)mine;
    l->send = send_container;
    if (l->send_short)
        l->send_short = send_short;
    l->send_words = NULL; /* what these move is seen by nothing else */
    l->recv_words = NULL;
    return 0;
}

void wf_traced_free(struct weft_loc *loc)
{
    free(loc->traced);
    loc->traced = NULL;
}
