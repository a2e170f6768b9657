/* The lanes of a rank with a trace, and the records of its messages: traced.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/traced.h"

#include <stdlib.h>

#include "process/rank.h"
#include "protocol/fastpath.h"
#include "protocol/queues.h"
#include "protocol/send_side.h"
#include "route/links.h"
#include "route/location.h"

/* The functions that a lane had before, and their peer. */
struct wf_traced_lane {
    struct weft_loc *loc;
    weft_peer *peer;
    int (*send)(weft_peer *, weft_tx *);
    int (*send_short)(weft_peer *, const weft_hdr *, const void *, size_t,
                      unsigned);
    int (*send_words)(const void *, uint64_t, weft_peer *, uint64_t, uint64_t);
    int (*recv_words)(weft_peer *, weft_want *);
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

/* Returns the type of a container. One that the transport would not take may
 * have its checksum or number already when it is sent again. */
static unsigned type_of(const struct wf_wire *w)
{
    return w->type & ~(unsigned)(WF_CHECKED | WF_SEQUENCED);
}

/* Returns the event of a container that is sent; WF_TRACE_NONE: it has none. */
static enum wf_trace_event event_of(unsigned type)
{
    switch (type) {
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
    unsigned type = type_of(w);
    bool message = type == WF_EAGER || type == WF_NOTIFY;

    *a = (struct wf_trace_about){.peer = wf_trace_peer(loc), .bytes = len};
    if (message) {
        a->env0 = wf_le64(w->a);
        a->env1 = wf_le64(w->b);
    }
    if (type == WF_NOTIFY || type == WF_APPROVE)
        a->bytes = wf_le64(w->c);
    return event_of(type);
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

/* ---- lanes --------------------------------------------------------------- */

static void wrap_lane(struct weft_loc *loc, struct wf_lane *l,
                      struct wf_traced_lane *mine)
{
    /* The entry that wf_fastpath_prepare_lane makes is made again. */
    bool made = l->send_words == wf_fastpath_send_header;

    *mine = (struct wf_traced_lane){.loc = loc,
                                    .peer = l->peer,
                                    .send = l->send,
                                    .send_short = l->send_short,
                                    .send_words = made ? NULL : l->send_words,
                                    .recv_words = l->recv_words};
    l->peer = (weft_peer *)mine;
    l->send = send_container;
    if (l->send_short)
        l->send_short = send_short;
    l->send_words = NULL; /* what these move is seen by nothing else */
    l->recv_words = NULL;
}

static void unwrap_lanes(struct weft_loc *loc)
{
    for (unsigned i = 0; i < loc->lanes; i++) {
        const struct wf_traced_lane *mine = &loc->traced[i];
        struct wf_lane *l = &loc->lane[i];

        WF_ASSERT(l->send == send_container);
        l->peer = mine->peer;
        l->send = mine->send;
        l->send_short = mine->send_short;
        l->send_words = mine->send_words;
        l->recv_words = mine->recv_words;
    }
}

int wf_traced_wrap(struct weft_loc *loc)
{
    WF_ASSERT(WF_TRACING(loc->wf) && !loc->traced);
    wf_side_take_back(loc);
    loc->traced = calloc(WF_LANES, sizeof *loc->traced);
    if (!loc->traced)
        return WEFT_ENOMEM;
    for (unsigned i = 0; i < loc->lanes; i++)
        wrap_lane(loc, &loc->lane[i], &loc->traced[i]);
    return 0;
}

void wf_traced_wrap_lane(struct weft_loc *loc, unsigned i)
{
    WF_ASSERT(loc->traced && i < WF_LANES);
    wrap_lane(loc, &loc->lane[i], &loc->traced[i]);
}

int wf_traced_start(struct wf_instance *wf)
{
    struct weft_loc *loc;
    int r = 0;

    for (uint32_t at = 0; r == 0 && (loc = wf_links_next(wf->links, &at));) {
        if (!loc->lanes)
            continue;
        r = wf_traced_wrap(loc);
        if (r == 0)
            wf_fastpath_prepare_lane(loc);
    }
    return r;
}

void wf_traced_stop(struct wf_instance *wf)
{
    struct weft_loc *loc;

    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));) {
        if (!loc->lanes || !loc->traced)
            continue;
        unwrap_lanes(loc);
        wf_traced_free(loc);
        wf_fastpath_prepare_lane(loc);
    }
}

void wf_traced_free(struct weft_loc *loc)
{
    free(loc->traced);
    loc->traced = NULL;
}
