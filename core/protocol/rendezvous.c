/* Rendezvous: the payload moves only when both sides know where to.
 *
 *      sender                                  receiver
 *      PENDING   -- NOTIFY length, send_id -->  (matched now or later)
 *                <- APPROVE send_id, recv_id,   MATCHED
 *                          bytes granted --
 *      SENDING   -- TRANSFER recv_id, offset -> payload lands in user memory
 *                   ... one chunk at a time     RECEIVED after the last byte
 *      DONE after the last tx_done
 *
 *   PENDING   in the pending table; no payload is with a plugin
 *   SENDING   0 <= moved < expected; one chunk is with a plugin or its lane
 *   MATCHED   in the matched table; 0 <= moved < expected
 *
 * The receiver grants only the bytes that fit its buffer, so no more move if
 * the message is truncated. A grant of 0 completes the send at once.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/rendezvous.h"

#include "datatype/move.h"
#include "protocol/comm_route.h"
#include "protocol/failure.h"
#include "protocol/message.h"
#include "protocol/payload.h"
#include "protocol/pull.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/send.h"
#include "protocol/traced.h"
#include "report/error.h"
#include "route/location.h"

/* ---- the sender ---------------------------------------------------------- */

int wf_slot_add_pending(struct wf_p2p *p)
{
    int r = wf_slots_put(&p->req.wf->engine->pending, p, &p->id);

    p->has_id = r == 0;
    return r;
}

void wf_slot_release(struct wf_engine *e, struct wf_p2p *p)
{
    if (!p->has_id)
        return;
    WF_ASSERT(p->req.wf->engine == e && p->req.type <= WF_REQ_RECV);
    wf_slots_remove(p->req.type == WF_REQ_SEND ? &e->pending : &e->matched,
                    p->id);
    p->has_id = false;
}

int wf_rendezvous_notify(struct wf_p2p *p)
{
    struct wf_comm *c = p->req.comm;
    uint8_t key[WF_CONTROL_MAX];
    struct wf_wire w;
    size_t n;

    WF_ASSERT(p->req.type == WF_REQ_SEND && !p->has_id && p->loc);
    if (wf_slot_add_pending(p) != 0)
        return wf_fail(WEFT_ENOMEM, "out of memory for a send");
    p->req.wf->engine->counts.late++;
    wf_wire_init(&w, WF_NOTIFY, 0);
    w.a = wf_le64(wf_env0(p->space, c->send_context, (uint32_t)p->peer));
    w.b = wf_le64(wf_env1((uint32_t)c->rank, (uint32_t)p->tag));
    w.c = wf_le64(p->bytes);
    w.d = wf_le64(p->id);
    p->waits = WF_WAITS_ANSWER;
    n = wf_pull_offer(p, key);
    WF_ASSERT(n <= sizeof key);
    if (n)
        w.flags = wf_le16(WF_FLAG_RKEY);
    wf_message_send_control_on(p->loc, p->lane, &w, key, n);
    return 0;
}

/* The last lane whose size range has begun. */
unsigned wf_bulk_lane(const struct weft_loc *loc, uint64_t bytes)
{
    unsigned lane = 0;

    for (unsigned i = 1; i < loc->lanes; i++)
        if (bytes >= loc->lane[i].from_size)
            lane = i;
    return lane;
}

/* The lane of the payload. One that cannot be found is no reason to fail: the
 * envelope has found its own. */
static unsigned lane_of_payload(struct wf_p2p *p)
{
    uint32_t keys = wf_comm_route_keys(p->req.comm, p->space);
    unsigned lane = p->lane;

    if (wf_likely(!keys))
        return wf_bulk_lane(p->loc, p->expected);
    return wf_comm_route_find_lane(p->loc, keys, p->expected, &lane) == 0
               ? lane
               : p->lane;
}

static void send_chunk(struct wf_p2p *p);

static void on_chunk_sent(struct wf_tx *t, int status)
{
    struct wf_p2p *p = wf_container(t, struct wf_p2p, tx);

    WF_ASSERT(p->waits & WF_WAITS_TX && p->moved < p->expected);
    p->waits &= (uint8_t)~WF_WAITS_TX;
    if (status < 0) {
        p->req.error = wf_req_mark_link_lost(&p->req, status);
        p->moved = p->expected;
    } else
        p->moved += p->tx.tx.len;
    if (p->moved < p->expected)
        send_chunk(p);
    else
        wf_send_answered(p, 0);
}

static void send_chunk(struct wf_p2p *p)
{
    unsigned lane = lane_of_payload(p);
    uint64_t max = p->loc->lane[lane].max_payload;
    uint64_t n = p->expected - p->moved;
    bool last = n <= max;

    WF_ASSERT(max > 0 && p->moved < p->expected && p->expected <= p->bytes);
    WF_ASSERT(!(p->waits & WF_WAITS_TX));
    if (!last)
        n = max;
    wf_wire_init(&p->tx.hdr, WF_TRANSFER, last ? WF_FLAG_LAST : 0);
    p->tx.hdr.a = wf_le64(p->moved);
    p->tx.hdr.b = wf_le64(p->length); /* the recv_id, which is kept there */
    wf_send_set_payload(p, p->moved, n);
    p->tx.done = on_chunk_sent;
    p->waits |= WF_WAITS_TX;
    wf_message_send(p->loc, lane, &p->tx);
}

void wf_rendezvous_approved(struct weft_loc *from, const struct wf_wire *w)
{
    struct wf_p2p *p = wf_slots_get(&from->wf->engine->pending, wf_le64(w->d));
    uint64_t granted = wf_le64(w->c);

    if (!p || p->loc != from || p->waits != WF_WAITS_ANSWER ||
        granted > p->bytes) {
        wf_log(from->wf, WF_LOG_DEBUG,
               "process %u approved a send that is not pending", from->id);
        return;
    }
    if (WF_TRACING(from->wf))
        wf_trace_note(from->wf, WF_TRACE_APPROVED,
                      &(struct wf_trace_about){.peer = wf_trace_peer(from),
                                               .bytes = granted});
    wf_slot_release(from->wf->engine, p);
    from->approves |= p->pull.core != NULL;
    wf_req_needs_progress(&p->req);
    wf_pull_release(p);
    p->expected = granted;
    p->moved = 0;
    p->length = wf_le64(w->b);
    if (granted)
        send_chunk(p);
    else
        wf_send_answered(p, 0);
}

/* ---- the receiver -------------------------------------------------------- */

/* Approve a rendezvous: let the sender push the payload. */
static void send_approve(struct wf_p2p *p, struct weft_loc *from,
                         uint64_t send_id)
{
    struct wf_wire w;
    bool empty = p->expected == 0;

    WF_ASSERT(p->req.type == WF_REQ_RECV && !p->has_id && p->moved == 0);
    wf_wire_init(&w, WF_APPROVE, 0);
    if (!empty) {
        if (wf_slots_put(&from->wf->engine->matched, p, &p->id) != 0) {
            wf_location_down(from, WEFT_ENOMEM,
                             "no memory for a large message from it");
            wf_receive_finish(p, WEFT_ENOMEM);
            return;
        }
        p->has_id = true;
        w.b = wf_le64(p->id);
    }
    w.c = wf_le64(p->expected);
    w.d = wf_le64(send_id);
    wf_message_send_control(from, &w, true);
    if (empty)
        wf_receive_finish(p, 0);
}

void wf_rendezvous_accept(struct wf_p2p *p, struct weft_loc *from,
                          struct weft_core *core, uint64_t send_id,
                          const uint8_t *key, size_t n)
{
    p->req.wf->engine->counts.rendezvous++;
    if (from->failed)
        wf_receive_finish(p, wf_req_mark_link_lost(&p->req, from->down_status));
    else if (!n || !wf_pull_start(p, from, core, send_id, key, n))
        send_approve(p, from, send_id);
}

/* Count received bytes; complete the receive after the last or a failure. */
static void count_moved(struct wf_p2p *p, uint64_t n, int status)
{
    WF_ASSERT(p->has_id && n <= p->expected - p->moved);
    p->moved += n;
    if (WF_TRACING(p->req.wf))
        wf_trace_note(p->req.wf, WF_TRACE_DATA_HERE,
                      &(struct wf_trace_about){.peer = wf_trace_peer(p->loc),
                                               .bytes = n});
    if (status >= 0 && p->moved < p->expected)
        return;
    wf_slot_release(p->req.wf->engine, p);
    wf_receive_finish(p,
                      status < 0 ? wf_req_mark_link_lost(&p->req, status) : 0);
}

static void on_chunk_received(struct wf_sink *sink, int status)
{
    struct wf_p2p *p = wf_container(sink, struct wf_p2p, sink);

    count_moved(p, sink->sink.len, status);
}

int wf_rendezvous_transfer(struct weft_loc *from, const struct wf_wire *w,
                           const void *data, size_t have, weft_sink **sink)
{
    struct wf_p2p *p = wf_slots_get(&from->wf->engine->matched, wf_le64(w->b));
    uint64_t offset = wf_le64(w->a), plen = wf_le32(w->plen);

    if (!p || p->loc != from || offset != p->moved ||
        plen > p->expected - offset) {
        wf_log(from->wf, WF_LOG_WARN,
               "process %u sent a payload that nothing waits for; skipped",
               from->id);
        return have == plen ? WEFT_DONE : WEFT_SKIP;
    }
    if (have)
        wf_type_unpack(p->type, p->buf, p->count, offset, data, have);
    if (have == plen) {
        count_moved(p, plen, 0);
        return WEFT_DONE;
    }
    *sink = wf_receive_set_sink(p, offset, plen, on_chunk_received);
    return WEFT_OK;
}
