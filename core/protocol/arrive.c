/* The arrival unit matches a container and decides where its payload goes.
 *
 *   rx_words    header in registers --.
 *   rx          plain ----------------+-> the front: a whole message, expected
 *     `- numbers, checksums right ----'   or for the next receive, is copied
 *                                              | everything else
 *                                              v  arrive_generally, by type:
 *   EAGER     posted receive found -> straight into user memory
 *             none                 -> stored in the unexpected queue, in state
 *                                     ARRIVING until its payload is complete
 *   NOTIFY    posted receive found -> APPROVE;  none -> stored, no payload
 *   TRANSFER                       -> rendezvous.c, by id
 *   ACTIVE                         -> active.c, by space
 *   all others                     -> arrive_control.c
 *
 * Remote bytes never abort: nonsense is logged and skipped.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/arrive.h"

#include <stdlib.h>

#include "datatype/move.h"
#include "progress/wait.h"
#include "protocol/active.h"
#include "protocol/arrive_control.h"
#include "protocol/message.h"
#include "protocol/order.h"
#include "protocol/order_fast.h"
#include "protocol/payload.h"
#include "protocol/receive.h"
#include "protocol/rendezvous.h"
#include "protocol/unexpected.h"
#include "report/error.h"
#include "route/location.h"

/* The payload of a container: the first `have` of plen bytes are here. */
struct arrival {
    const void *data;
    size_t have;
    uint32_t plen;
    weft_sink **sink;
};

/* ---- eager, receive posted ----------------------------------------------- */

static void eager_landed(struct wf_sink *sink, int status)
{
    struct wf_p2p *p = wf_container(sink, struct wf_p2p, sink);

    wf_receive_finish(p,
                      status < 0 ? wf_req_mark_link_lost(&p->req, status) : 0);
}

static void answer_sync(struct weft_loc *from, uint64_t send_id)
{
    struct wf_wire w;

    wf_wire_init(&w, WF_SYNC, 0);
    w.d = wf_le64(send_id);
    wf_message_send_control(from, &w, true);
}

/* Deliver a whole message to a receive that has room and is off the queue. */
static inline __attribute__((always_inline)) void
land_in_receive(struct weft_loc *from, struct wf_p2p *p, uint64_t n,
                uint64_t env1, const void *data)
{
    WF_ASSERT(n <= p->posted.room && !wf_p2p_is_posted(p));
    wf_copy_short(p->block, data, n);
    p->loc = from;
    p->req.source = wf_env_source(env1);
    p->req.tag = wf_env_tag(env1);
    p->req.bytes = n;
    wf_credit_consumed(from, n + WF_MESSAGE_OVERHEAD);
    if (wf_likely(p->req.flags == WF_REQ_LIGHT && !(WF_BRIEF && p->home))) {
        wf_store_release(&p->req.done, 1); /* pairs with wf_req_done */
        if (from->wf->api.on)
            wf_progress_notify(from->wf);
    } else if (p->req.flags & WF_REQ_LIGHT)
        wf_req_complete(&p->req, 0);
    else { /* the receive may require a certain length */
        p->length = p->expected = n;
        wf_receive_finish(p, 0);
    }
}

/* Deliver a message, or the part of it that is here, to a receive that is off
 * the queue. */
static int receive_eager(struct wf_p2p *p, struct weft_loc *from,
                         const struct wf_wire *w, const struct arrival *a)
{
    uint64_t n = a->have;

    WF_ASSERT(n <= a->plen && p->req.type == WF_REQ_RECV);
    p->loc = from;
    wf_receive_match(p, wf_le64(w->b), a->plen);
    if (wf_le16(w->flags) & WF_FLAG_SYNC)
        answer_sync(from, wf_le64(w->d));
    wf_credit_consumed(from, a->plen + WF_MESSAGE_OVERHEAD);
    if (n > p->expected)
        n = p->expected;
    if (n && wf_likely(wf_type_is_contiguous(p->type)))
        memcpy(p->block, a->data, n);
    else if (n)
        wf_type_unpack(p->type, p->buf, p->count, 0, a->data, n);
    if (n == p->expected) {
        wf_receive_finish(p, 0);
        return a->have == a->plen ? WEFT_DONE : WEFT_SKIP;
    }
    *a->sink = wf_receive_set_sink(p, 0, p->expected, eager_landed);
    return WEFT_OK;
}

/* ---- eager, nothing posted ----------------------------------------------- */

static void unexpected_landed(struct wf_sink *sink, int status)
{
    struct wf_landing *l = wf_container(sink, struct wf_landing, sink);
    struct wf_message *m = l->message;
    struct wf_p2p *p = l->claimed;

    WF_ASSERT(m->state == WF_MSG_ARRIVING && m->landing == l);
    m->state = WF_MSG_COMPLETE;
    if (status < 0)
        m->error = wf_link_status(status);
    if (p)
        wf_receive_message(p, m);
}

static weft_sink *prepare_sink(struct wf_message *m, uint32_t n,
                               void (*done)(struct wf_sink *, int))
{
    struct wf_sink *s = &m->landing->sink;

    WF_ASSERT(m->landing && n <= m->room);
    wf_sink_set_block(s, m->data, n, done);
    return &s->sink;
}

static int store_eager(struct weft_loc *from, const struct wf_wire *w,
                       const struct arrival *a)
{
    struct wf_message *m =
        wf_unexpected_create(from, w, a->plen, a->plen, a->have);

    if (!m) /* out of memory: the plugin stops reading */
        return from->failed ? WEFT_SKIP : WEFT_EAGAIN;
    if (m->flags & WF_FLAG_SYNC)
        m->send_id = wf_le64(w->d);
    if (a->have)
        memcpy(m->data, a->data, a->have);
    if (a->have == a->plen)
        return WEFT_DONE;
    *a->sink = prepare_sink(m, a->plen, unexpected_landed);
    return WEFT_OK;
}

/* ---- matching ------------------------------------------------------------ */

/* The receive that takes this message, off its queue; NULL: there is none. */
static struct wf_p2p *take_posted(struct weft_loc *from,
                                  const struct wf_wire *w)
{
    struct wf_engine *e = from->wf->engine;
    uint64_t env0 = wf_le64(w->a), env1 = wf_le64(w->b);
    struct wf_posted *r = wf_match_take_posted(&e->match, env0, env1);

    if (r)
        return wf_container(r, struct wf_p2p, posted);
    return wf_expected_matches(&e->expected, env0, env1)
               ? wf_expected_claim(&e->expected)
               : NULL;
}

/* Whether the message is here, fits its receive, and need only be copied. */
static bool needs_only_copy(const struct wf_p2p *p, const struct wf_wire *w,
                            const struct arrival *a)
{
    return a->have == a->plen && a->plen <= p->posted.room &&
           !(wf_le16(w->flags) & WF_FLAG_SYNC) && !WF_TRACING(p->req.wf);
}

static int arrive_eager(struct weft_loc *from, const struct wf_wire *w,
                        const struct arrival *a)
{
    struct wf_p2p *p = take_posted(from, w);

    if (!p)
        return store_eager(from, w, a);
    if (!needs_only_copy(p, w, a))
        return receive_eager(p, from, w, a);
    land_in_receive(from, p, a->plen, wf_le64(w->b), a->data);
    return WEFT_DONE;
}

/* ---- announcements ------------------------------------------------------- */

static void key_landed(struct wf_sink *sink, int status)
{
    struct wf_landing *l = wf_container(sink, struct wf_landing, sink);
    struct wf_message *m = l->message;

    WF_ASSERT(m->state == WF_MSG_ARRIVING);
    m->state = WF_MSG_NOTIFIED;
    if (status < 0)
        m->key_bytes = 0; /* the peer is going down; nothing to pull */
    if (l->claimed)
        wf_receive_message(l->claimed, m);
}

/* Store a notification that no receive waits for, or whose key is incomplete. A
 * receive is taken for it only once there is memory, or it would be lost. */
static int store_notification(struct weft_core *core, struct weft_loc *from,
                              const struct wf_wire *w, const struct arrival *a)
{
    struct wf_p2p *p;
    struct wf_message *m =
        wf_unexpected_create(from, w, wf_le64(w->c), a->plen, a->have);

    if (!m)
        return from->failed ? WEFT_SKIP : WEFT_EAGAIN;
    m->endpoint = (uint32_t)core->index;
    m->send_id = wf_le64(w->d);
    m->key_bytes = (uint16_t)a->plen;
    if (a->have)
        memcpy(m->data, a->data, a->have);
    m->state = a->have == a->plen ? WF_MSG_NOTIFIED : WF_MSG_ARRIVING;
    if (m->state == WF_MSG_ARRIVING)
        *a->sink = prepare_sink(m, a->plen, key_landed);
    p = m->state == WF_MSG_ARRIVING ? take_posted(from, w) : NULL;
    if (p)
        wf_receive_message(p, m);
    return a->have == a->plen ? WEFT_DONE : WEFT_OK;
}

static int arrive_notify(struct weft_core *core, struct weft_loc *from,
                         const struct wf_wire *w, const struct arrival *a)
{
    struct wf_p2p *p;

    if (a->plen > WF_CONTROL_MAX) {
        wf_log(from->wf, WF_LOG_WARN,
               "process %u sent a notification of %u bytes; skipped", from->id,
               a->plen);
        return WEFT_SKIP;
    }
    p = a->have == a->plen ? take_posted(from, w) : NULL;
    if (!p)
        return store_notification(core, from, w, a);
    p->loc = from;
    wf_receive_match(p, wf_le64(w->b), wf_le64(w->c));
    wf_rendezvous_accept(p, from, core, wf_le64(w->d), a->data, a->plen);
    return WEFT_DONE;
}

/* A short header has no place for the id that a synchronous send needs. */
static bool is_well_formed(const struct wf_wire *w)
{
    enum { BOTH = WEFT_HDR_SHORT | WF_FLAG_SYNC };

    return (wf_le16(w->flags) & BOTH) != BOTH;
}

int wf_arrive_stalled(struct weft_core *core, struct weft_loc *from)
{
    WF_ASSERT(core->wf == from->wf);
    from->stalled |= 1u << core->index;
    wf_progress_request_resume(from->wf);
    return WEFT_EAGAIN;
}

static inline void count_arrival(struct weft_core *core, uint64_t n)
{
    core->rx_count++;
    core->rx_bytes += n;
}

static int arrive_by_type(struct weft_core *core, struct weft_loc *from,
                          const struct wf_wire *w, const struct arrival *a)
{
    int r;

    if (wf_likely(w->type == WF_EAGER && is_well_formed(w)))
        return arrive_eager(from, w, a);
    from->wf->engine->counts.others++;
    if (wf_unlikely(weft_hdr_len(w) != WEFT_HDR)) {
        wf_log(from->wf, WF_LOG_WARN,
               "process %u sent a short header of type 0x%02x; skipped",
               from->id, w->type);
        return a->have == a->plen ? WEFT_DONE : WEFT_SKIP;
    }
    if (w->type == WF_TRANSFER)
        return wf_rendezvous_transfer(from, w, a->data, a->have, a->sink);
    if (w->type == WF_NOTIFY)
        return arrive_notify(core, from, w, a);
    if (w->type == WF_ACTIVE)
        return wf_active_arrive(from, w, a->data, a->have, a->sink);
    r = wf_arrive_control(from, w);
    return r == WEFT_DONE && a->have != a->plen ? WEFT_SKIP : r;
}

/* Deliver any container: what the front does not. */
static int arrive_generally(struct weft_core *core, struct weft_loc *from,
                            const struct wf_wire *w, const void *data,
                            size_t have, weft_sink **sink)
{
    struct arrival a = {data, have, wf_le32(w->plen), sink};
    int r;

    r = arrive_by_type(core, from, w, &a);
    if (wf_unlikely(r == WEFT_EAGAIN))
        return wf_arrive_stalled(core, from);
    count_arrival(core, a.plen);
    return r;
}

/* ---- the front: a whole message, expected or next ------------------------ */

/* Deliver the message if a receive polls for it. */
static inline bool land_expected(struct weft_loc *from, uint64_t n,
                                 uint64_t env0, uint64_t env1, const void *data)
{
    struct wf_expected *x = &from->wf->engine->expected;

    if (!wf_expected_matches(x, env0, env1) || wf_unlikely(n > x->bytes))
        return false;
    wf_copy_short(x->buf, data, n);
    x->env0 = WF_ENV0_NONE;
    x->env1 = env1;
    x->bytes = n;
    wf_store_relaxed(&x->state, WF_EXPECTED_HERE);
    wf_credit_consumed(from, n + WF_MESSAGE_OVERHEAD);
    return true;
}

/* Deliver the message if it is for the posted receive expected next. With a
 * trace the general way does that, which records it. */
static inline bool land_posted(struct weft_loc *from, uint64_t n, uint64_t env0,
                               uint64_t env1, const void *data)
{
    struct wf_match *m = &from->wf->engine->match;
    struct wf_posted *next = wf_match_next_posted(m, env0, env1);

    if (wf_unlikely(!next || n > next->room || WF_TRACING(from->wf)))
        return false;
    wf_match_take_next(m, next);
    land_in_receive(from, wf_container(next, struct wf_p2p, posted), n, env1,
                    data);
    return true;
}

static inline bool land_whole(struct weft_core *core, struct weft_loc *from,
                              uint64_t n, uint64_t env0, uint64_t env1,
                              const void *data)
{
    if (!land_expected(from, n, env0, env1, data) &&
        !land_posted(from, n, env0, env1, data))
        return false;
    count_arrival(core, n);
    return true;
}

/* ---- entrances ----------------------------------------------------------- */

static __attribute__((noinline)) int
arrive_words_generally(struct weft_core *core, struct weft_loc *from,
                       uint64_t h0, uint64_t h1, uint64_t h2, const void *data)
{
    uint64_t w[WEFT_HDR / 8] = {wf_le64(h0), wf_le64(h1), wf_le64(h2)};
    weft_sink *sink = NULL;
    int r = arrive_generally(core, from, (const struct wf_wire *)w, data,
                             h0 >> 32, &sink);

    return r == WEFT_EAGAIN ? r : WEFT_DONE;
}

int wf_arrive_words(struct weft_core *core, struct weft_loc *from, uint64_t h0,
                    uint64_t h1, uint64_t h2, const void *data)
{
    if (wf_likely((uint32_t)h0 == WF_SHORT_EAGER &&
                  land_whole(core, from, h0 >> 32, h1, h2, data)))
        return WEFT_DONE;
    return arrive_words_generally(core, from, h0, h1, h2, data);
}

int wf_arrive_plain(struct weft_core *core, struct weft_loc *from,
                    const weft_hdr *hdr, const void *data, size_t have,
                    weft_sink **sink)
{
    uint64_t first = wf_wire_word(hdr, 0) | (uint64_t)WEFT_HDR_SHORT << 16;

    if (first == (WF_SHORT_EAGER | (uint64_t)have << 32) &&
        land_whole(core, from, have, wf_wire_word(hdr, 1), wf_wire_word(hdr, 2),
                   data))
        return WEFT_DONE;
    return arrive_generally(core, from, (const struct wf_wire *)hdr, data, have,
                            sink);
}

int wf_arrive(struct weft_core *core, struct weft_loc *from,
              const weft_hdr *hdr, const void *data, size_t have,
              weft_sink **sink)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;

    if (wf_likely(from->plain && !(w->type & (WF_SEQUENCED | WF_CHECKED))))
        return wf_arrive_plain(core, from, hdr, data, have, sink);
    return wf_arrive_marked(core, from, hdr, data, have, sink);
}
