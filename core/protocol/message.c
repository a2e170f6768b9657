/* The bridge: protocol messages become containers on a lane.
 *
 * Plugins never queue; each lane has one FIFO for what its plugin would not
 * take. While the FIFO is not empty or the plugin said WEFT_EAGAIN, later
 * containers wait behind, so initial messages of a pair stay in order
 * (MPI-5.0 s3.5). Only urgent control messages may pass.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/message.h"

#include <stdlib.h>

#include "os/shortage.h"
#include "process/rank.h"
#include "protocol/carrier.h"
#include "protocol/eager.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/order.h"
#include "protocol/payload.h"
#include "report/error.h"

void wf_wire_init(struct wf_wire *w, enum wf_wire_type type, uint16_t flags)
{
    memset(w, 0, sizeof *w);
    w->type = (uint8_t)type;
    w->ver = WF_WIRE_VERSION;
    w->flags = wf_le16(flags);
}

static void number_next(struct wf_lane *l)
{
    l->seq++;
    l->cost += WF_MESSAGE_OVERHEAD;
}

/* Hand one container to the plugin. false: it was not taken, keep it. */
static bool offer_to_plugin(struct weft_loc *loc, struct wf_lane *l,
                            struct wf_tx *t)
{
    int r;

    WF_ASSERT(!l->blocked || t->tx.flags & WEFT_TX_URGENT);
    WF_ASSERT(t->done && t->tx.len <= l->max_payload);
    r = l->send(l->peer, &t->tx);
    if (r == WEFT_EAGAIN) {
        l->blocked = true;
        wf_location_update_fastpath(loc);
        return false;
    }
    if (r >= 0)
        l->cost += t->tx.len;
    if (r == WEFT_DONE)
        t->done(t, WEFT_OK);
    else if (r < 0) {
        t->done(t, r);
        wf_location_down(loc, r,
                         r == WEFT_ENOMEM ? "no memory for a message"
                                          : "the transport refused a message");
    }
    return true;
}

static void enqueue_container(struct weft_loc *loc, struct wf_lane *l,
                              struct wf_tx *t)
{
    WF_ASSERT(!*l->fifo_tail);
    loc->wf->engine->counts.late++;
    t->next = NULL;
    *l->fifo_tail = t;
    l->fifo_tail = &t->next;
    wf_location_update_fastpath(loc);
}

void wf_message_send(struct weft_loc *loc, unsigned lane, struct wf_tx *t)
{
    struct wf_lane *l = &loc->lane[lane];
    bool may_go;

    WF_ASSERT(loc->failed || lane < loc->lanes);
    wf_side_take_back(loc);
    if (loc->failed) {
        t->done(t, loc->down_status);
        return;
    }
    t->hdr.plen = wf_le32((uint32_t)t->tx.len);
    t->tx.hdr = (weft_hdr *)&t->hdr;
    number_next(l);
    if (weft_hdr_len(t->tx.hdr) == WEFT_HDR) {
        t->hdr.seq = wf_le32(l->seq);
        t->hdr.src = wf_le32(loc->wf->rank->id);
        t->hdr.dst = wf_le32(loc->index);
    }
    may_go = wf_lane_is_clear(l) || t->tx.flags & WEFT_TX_URGENT;
    if (!may_go || !offer_to_plugin(loc, l, t))
        enqueue_container(loc, l, t);
}

static void resume_lane(struct weft_loc *loc, struct wf_lane *l)
{
    l->blocked = false;
    while (l->fifo_head && !l->blocked && !loc->failed) {
        struct wf_tx *t = l->fifo_head;
        /* Unlink first: done() may send, which must see the true FIFO. A
         * refused container goes back to the head. */
        l->fifo_head = t->next;
        if (!l->fifo_head)
            l->fifo_tail = &l->fifo_head;
        if (offer_to_plugin(loc, l, t))
            continue;
        t->next = l->fifo_head;
        l->fifo_head = t;
        if (!t->next)
            l->fifo_tail = &t->next;
    }
    WF_ASSERT(l->fifo_head || l->fifo_tail == &l->fifo_head);
    wf_location_update_fastpath(loc);
}

void wf_message_unblock(struct weft_loc *loc)
{
    resume_lane(loc, &loc->lane[WF_LANE_ORDER]);
}

void wf_message_resume(struct weft_loc *loc, struct weft_core *core)
{
    if (wf_unlikely(loc->order)) {
        wf_carrier_resume(loc, core);
        return;
    }
    for (unsigned i = 0; i < loc->lanes; i++)
        if (loc->lane[i].core == core)
            resume_lane(loc, &loc->lane[i]);
}

void wf_message_drop_fifo(struct weft_loc *loc, int status)
{
    for (unsigned i = 0; i < loc->lanes; i++) {
        struct wf_lane *l = &loc->lane[i];
        struct wf_tx *t = l->fifo_head;
        l->fifo_head = NULL;
        l->fifo_tail = &l->fifo_head;
        while (t) {
            struct wf_tx *next = t->next;
            t->done(t, status);
            t = next;
        }
    }
}

/* ---- containers that own their payload ----------------------------------- */

struct owned {
    struct wf_tx tx;
    uint8_t payload[];
};

static void owned_done(struct wf_tx *t, int status)
{
    free(wf_container(t, struct owned, tx));
}

struct wf_tx *wf_message_alloc(size_t n)
{
    size_t size = (sizeof(struct owned) + n + WF_CACHE_LINE - 1) &
                  ~(size_t)(WF_CACHE_LINE - 1);
    struct owned *c = aligned_alloc(WF_CACHE_LINE, size);

    if (!c)
        return NULL;
    memset(c, 0, sizeof *c);
    c->tx.done = owned_done;
    c->tx.tx.hdr = (weft_hdr *)&c->tx.hdr;
    wf_tx_set_block(&c->tx, c->payload, n);
    return &c->tx;
}

void wf_message_gather(weft_tx *tx, void *to)
{
    struct iovec v[8];
    uint64_t off = 0;
    int n;

    WF_ASSERT(tx->seg || !tx->len);
    while (off < tx->len && (n = tx->seg(tx, off, v, 8)) > 0)
        for (int i = 0; i < n; i++) {
            memcpy((char *)to + off, v[i].iov_base, v[i].iov_len);
            off += v[i].iov_len;
        }
}

/* ---- control messages ---------------------------------------------------- */

/* Make a container that can wait in a FIFO or with a plugin. It waits for
 * memory, because the peer may wait for the message. NULL: there is none. */
static struct wf_tx *make_control(const struct wf_wire *w, const void *payload,
                                  size_t n)
{
    struct wf_tx *t;
    unsigned attempts = 0;

    do
        t = wf_message_alloc(n);
    while (!t && wf_shortage_wait(&attempts));
    if (!t)
        return NULL;
    if (n)
        memcpy(t->tx.one.iov_base, payload, n);
    t->hdr = *w;
    return t;
}

/* Let the plugin copy the message at once, which needs no memory and no
 * completion. false: it was not sent. */
static bool try_control_short(struct weft_loc *loc, struct wf_wire *w,
                              const void *payload, size_t n)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];
    int r;

    WF_ASSERT(n <= WF_CONTROL_MAX);
    wf_side_take_back(loc);
    if (!wf_eager_takes_copy(loc, n))
        return false;
    w->plen = wf_le32((uint32_t)n);
    w->seq = wf_le32(l->seq + 1);
    w->src = wf_le32(loc->wf->rank->id);
    w->dst = wf_le32(loc->index);
    r = l->send_short(l->peer, (const weft_hdr *)w, payload, n, 0);
    if (r == WEFT_DONE) {
        number_next(l);
        return true;
    }
    if (r == WEFT_EAGAIN) {
        l->blocked = true;
        wf_location_update_fastpath(loc);
    }
    return false;
}

/* Connect to a peer that connected first, if no lane to it exists yet. false:
 * the location has failed. */
static bool ensure_connected(struct weft_loc *loc)
{
    if (loc->lanes || wf_location_connect(loc) == 0)
        return true;
    wf_location_down(loc, WEFT_EUNREACH, wf_error_last()->text);
    return false;
}

void wf_message_send_control(struct weft_loc *loc, struct wf_wire *w,
                             bool urgent)
{
    struct wf_tx *t;

    if (loc->failed || !ensure_connected(loc) ||
        try_control_short(loc, w, NULL, 0))
        return;
    t = make_control(w, NULL, 0);
    if (!t) {
        wf_location_down(loc, WEFT_ENOMEM, "no memory for an answer to it");
        return;
    }
    t->tx.flags = urgent ? WEFT_TX_URGENT : 0;
    wf_message_send(loc, WF_LANE_ORDER, t);
}

void wf_message_send_control_on(struct weft_loc *loc, unsigned lane,
                                struct wf_wire *w, const void *payload,
                                size_t n)
{
    struct wf_tx *t;

    if (loc->failed ||
        (lane == WF_LANE_ORDER && try_control_short(loc, w, payload, n)))
        return;
    t = make_control(w, payload, n);
    if (t)
        wf_message_send(loc, lane, t);
    else
        wf_location_down(loc, WEFT_ENOMEM, "no memory for a message to it");
}
