/* The sending half of an ordered pair: sequence numbers and retained
 * containers; and creating and freeing a pair. See order.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order.h"

#include <stdlib.h>

#include "config/config.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "protocol/carrier.h"
#include "protocol/carrier_seal.h"
#include "protocol/message.h"
#include "protocol/order_arrive.h"
#include "protocol/order_fast.h"
#include "protocol/payload.h"
#include "protocol/stripe.h"
#include "route/links.h"
#include "route/location.h"
#include "route/route.h"

static struct wf_ordered *create_order(struct weft_loc *loc)
{
    struct wf_ordered *o = calloc(1, sizeof *o);

    if (!o)
        return NULL;
    o->loc = loc;
    o->src_dst = loc->wf->rank->id | (uint64_t)loc->index << 32;
    o->next = o->una = o->expect = 1;
    o->last = &o->first;
    o->sum = wf_crc32c_choose();
    o->sums = wf_crc32c_message_choose();
    o->candidate = o->failback_to = -1;
    return o;
}

static void set_lane(struct wf_ordered *o)
{
    struct wf_lane *l = &o->loc->lane[WF_LANE_ORDER];

    l->order = o;
    l->peer = (weft_peer *)o;
    l->send_short = wf_order_send_short;
    l->send = wf_order_send;
    l->send_words = wf_order_send_words;
    l->recv_words = NULL; /* containers must be put in order first */
    l->max_payload = o->stripe ? WF_STRIPE_PIECE : WF_ORDER_CHUNK;
    for (int k = 0; k < o->carriers; k++) {
        const weft_attr *a = &o->carrier[k].core->attr;
        l->max_payload = wf_min_u64(l->max_payload, a->max_payload);
        if (o->carrier[k].seal)
            l->max_payload = wf_min_u64(
                l->max_payload,
                wf_min_u64(WF_SEAL_CHUNK, a->max_payload) - WEFT_HDR);
        if (o->loc->wf->rank->options->eager == WF_AUTO)
            l->max_eager = (uint32_t)wf_min_u64(l->max_eager, a->max_eager);
    }
    l->max_eager = (uint32_t)wf_min_u64(l->max_eager, l->max_payload);
    l->max_short = (uint32_t)wf_min_u64(l->max_eager, WF_ORDER_SHORT);
}

int wf_order_open(struct weft_loc *loc, const int *eps, int n,
                  const struct wf_route_failover *f)
{
    struct wf_instance *wf = loc->wf;
    struct wf_links *links = wf->links;
    struct wf_ordered *o = create_order(loc);

    if (!o)
        return WEFT_ENOMEM;
    for (int i = 0; i < n; i++)
        if (WEFT_HAS(links->eps[eps[i]].ops, weft_ops, send_short))
            o->carrier[o->carriers++].core = &links->eps[eps[i]];
    if (!o->carriers || o->carrier[0].core != &links->eps[eps[0]]) {
        free(o);
        return WEFT_ENOTSUP;
    }
    o->crc = f->crc && !f->encrypt; /* the seal covers more */
    o->measuring.every = o->carriers > 1 ? f->measure : 0;
    o->measuring.left = -1;
    o->failback = o->measuring.every ? 0 : f->failback;
    o->timeout = f->timeout;
    o->life_at = o->life_check_at = o->last_round_at = wf_now(wf);
    o->stripe = f->stripe && o->carriers > 1;
    if (f->encrypt && wf_carrier_add_seals(o) < 0) {
        wf_order_free(o);
        return WEFT_ENOMEM;
    }
    WF_ASSERT(o->carriers > 0 && o->carriers <= WF_EPS_MAX && !loc->order);
    o->carrier[0].state = WF_CARRIER_TRIED;
    loc->order = o;
    set_lane(o);
    o->next_order = links->orders;
    links->orders = o;
    return 0;
}

/* ---- retention ----------------------------------------------------------- */

static void retained_done(struct wf_tx *t, int status)
{
    struct wf_retained *r = wf_container(t, struct wf_retained, tx);

    WF_ASSERT(r->with_plugin);
    r->with_plugin = false;
    if (r->acked)
        wf_order_recycle_retained(r);
}

static int retained_seg(weft_tx *tx, uint64_t off, struct iovec *v, int max)
{
    struct wf_tx *t = wf_container(tx, struct wf_tx, tx);
    struct wf_retained *r = wf_container(t, struct wf_retained, tx);

    if (off >= tx->len || max < 1)
        return 0;
    if (r->p)
        return wf_payload_segments(r->p, r->offset + off, r->offset + tx->len,
                                   v, max);
    *v = (struct iovec){r->data + off, tx->len - off};
    return 1;
}

static struct wf_retained *alloc_retained(struct wf_ordered *o)
{
    struct wf_retained *r = o->spare;

    if (wf_likely(r != NULL)) {
        WF_ASSERT(o->spares > 0 && r->order == o && r->data == r->small);
        o->spare = r->next;
        o->spares--;
        return r;
    }
    r = aligned_alloc(WF_CACHE_LINE, (sizeof *r + WF_CACHE_LINE - 1) &
                                         ~(size_t)(WF_CACHE_LINE - 1));
    if (!r)
        return NULL;
    memset(r, 0, sizeof *r);
    r->order = o;
    r->data = r->small;
    r->tx.done = retained_done;
    r->tx.tx.size = sizeof r->tx.tx;
    r->tx.tx.seg = retained_seg;
    r->tx.tx.hdr = (weft_hdr *)&r->tx.hdr;
    return r;
}

static void write_header(const struct wf_ordered *o, void *to, const void *hdr,
                         uint64_t len)
{
    uint64_t first = wf_wire_word(hdr, 0) | WF_SEQUENCED |
                     (o->stripe ? (uint64_t)WF_FLAG_STRIPED << 16 : 0);
    bool brief = first & (uint64_t)WEFT_HDR_SHORT << 16;

    first &= ~((uint64_t)WEFT_HDR_SHORT << 16);
    wf_wire_set_word(to, 0, (uint32_t)first | len << 32);
    wf_wire_set_word(to, 1, wf_wire_word(hdr, 1));
    wf_wire_set_word(to, 2, wf_wire_word(hdr, 2));
    wf_wire_set_word(to, 4, brief ? 0 : wf_wire_word(hdr, 4));
    wf_wire_set_word(to, 5, brief ? 0 : wf_wire_word(hdr, 5));
} /* wf_order_finish_header writes the other words */

/* Make a retained container with a copy of the header and, if `copied`, room
 * for a copy of the payload. NULL: no memory. */
static struct wf_retained *retain_container(struct wf_ordered *o,
                                            const void *hdr, uint64_t len,
                                            bool copied)
{
    struct wf_retained *r = alloc_retained(o);

    if (!r)
        return NULL;
    if (copied && len > WF_RETAIN_INLINE && !(r->data = malloc(len))) {
        r->data = r->small;
        wf_order_recycle_retained(r);
        return NULL;
    }
    write_header(o, &r->tx.hdr, hdr, len);
    r->tx.tx.len = len;
    r->next = NULL;
    r->via = -1;
    r->with_plugin = r->acked = r->flying = false;
    return r;
}

/* Whether a new container could not leave at once. Then none is accepted: a
 * program may leave MPI once its sends are done. */
static bool is_window_closed(const struct wf_ordered *o)
{
    WF_ASSERT(!o->count == !o->first);
    return o->unsent || o->count >= WF_WINDOW || o->bytes >= WF_RETAIN_MAX;
}

static void append_retained(struct wf_ordered *o, struct wf_retained *r)
{
    WF_ASSERT(!*o->last && o->next - o->una == o->count && r->via < 0);
    r->seq = o->next++;
    *o->last = r;
    o->last = &r->next;
    o->count++;
    o->bytes += r->tx.tx.len;
    if (!o->unsent) {
        o->unsent = r;
        wf_order_send_waiting(o);
    }
}

/* Append a container if the carrier takes it at once. false: it was recycled,
 * and nothing else has happened. */
static bool try_append(struct wf_ordered *o, struct wf_retained *r)
{
    struct wf_retained **before = o->last;

    append_retained(o, r);
    if (wf_likely(o->unsent != r))
        return true;
    WF_ASSERT(o->count > 0 && r->seq == o->next - 1 && !r->with_plugin);
    o->unsent = NULL;
    *before = NULL;
    o->last = before;
    o->next--;
    o->count--;
    o->bytes -= r->tx.tx.len;
    wf_order_recycle_retained(r);
    return false;
}

void wf_order_resume_senders(struct wf_ordered *o)
{
    if (!o->sender_waits || is_window_closed(o) || o->at < 0 ||
        o->failback_to >= 0 || (o->carrier[o->at].blocked && !o->stripe))
        return;
    o->sender_waits = false;
    wf_message_unblock(o->loc);
}

/* ---- sending ------------------------------------------------------------- */

/* Continue the header's checksum over a payload in user memory. */
static void add_payload_sum(const struct wf_ordered *o, struct wf_retained *r)
{
    uint32_t sum = wf_le32(r->tx.hdr.crc);
    struct iovec v[8];
    int n;

    for (uint64_t off = 0; off < r->tx.tx.len;) {
        n = retained_seg(&r->tx.tx, off, v, 8);
        for (int i = 0; i < n; i++) {
            sum = o->sum(sum, v[i].iov_base, v[i].iov_len);
            off += v[i].iov_len;
        }
    }
    r->tx.hdr.crc = wf_le32(sum);
}

/* Send a container by carrier k. false: it was not taken and stays unsent. */
static bool send_on_carrier(struct wf_ordered *o, int k, struct wf_retained *r)
{
    struct wf_carrier *c = &o->carrier[k];
    weft_peer *peer = o->loc->peers[c->core->index];
    weft_tx *tx = &r->tx.tx;
    int rc;

    WF_ASSERT(k >= 0 && k < o->carriers && !r->with_plugin && !r->acked);
    wf_order_finish_header(o, &r->tx.hdr, r->seq, r->data, r->p ? 0 : tx->len);
    if (o->crc && r->p)
        add_payload_sum(o, r);
    if (c->seal) {
        rc = wf_seal_send(c->seal, c->core, peer, &r->tx.hdr, tx);
    } else if (!r->p && (!tx->len || tx->len <= c->core->attr.max_short)) {
        rc = c->core->ops->send_short(peer, tx->hdr, r->data, tx->len, 0);
    } else {
        r->with_plugin = true;
        rc = c->core->ops->send(peer, tx);
        if (rc != WEFT_OK)
            r->with_plugin = false;
    }
    if (wf_likely(rc >= 0))
        return true;
    if (rc == WEFT_EAGAIN)
        wf_carrier_note_blocked(o, k);
    else
        wf_carrier_give_up(o, k, "it refused a message");
    return false;
}

/* Choose a carrier for the container and send it. false: it has to wait. */
static bool hand_to_carrier(struct wf_ordered *o, struct wf_retained *r)
{
    bool piece = o->stripe && r->p;
    int k = wf_unlikely(piece) ? wf_stripe_choose(o, r) : o->at;
    struct wf_carrier *c = &o->carrier[k < 0 ? 0 : k];

    if (k < 0 || c->blocked || c->give_up || c->state == WF_CARRIER_BROKEN ||
        r->with_plugin || !send_on_carrier(o, k, r))
        return false;
    r->via = (int8_t)k;
    c->sent++;
    c->sent_bytes += r->tx.tx.len;
    if (wf_unlikely(piece))
        wf_stripe_note_sent(o, k, r);
    return true;
}

void wf_order_send_waiting(struct wf_ordered *o)
{
    struct wf_retained *r;

    while ((r = o->unsent) && o->at >= 0 && o->failback_to < 0) {
        if (r->via < 0 && !hand_to_carrier(o, r))
            return;
        WF_ASSERT(r->via >= 0 && r->via < o->carriers);
        o->unsent = r->next;
    }
}

void wf_order_mark_resend(struct wf_ordered *o, int carrier)
{
    uint64_t before = o->counts[WF_ORDER_RESENT];

    for (struct wf_retained *r = o->first; r; r = r->next) {
        if (r->via != carrier)
            continue;
        wf_stripe_end_flight(o, r);
        r->via = -1;
        o->counts[WF_ORDER_RESENT]++;
    }
    wf_order_close_fast_path(o);
    if (o->counts[WF_ORDER_RESENT] != before)
        o->unsent = o->first; /* push skips those that another carrier has */
}

int wf_order_send_short(weft_peer *peer, const weft_hdr *hdr, const void *data,
                        size_t len, unsigned flags)
{
    struct wf_ordered *o = (struct wf_ordered *)peer;
    struct wf_retained *r =
        is_window_closed(o) ? NULL : retain_container(o, hdr, len, true);

    (void)flags; /* a copy is retained, so there is nothing to hold back */
    if (r && len)
        wf_copy_short(r->data, data, len);
    if (wf_likely(r && try_append(o, r))) {
        wf_order_open_fast_path(o);
        return WEFT_DONE;
    }
    o->sender_waits = true;
    return WEFT_EAGAIN;
}

/* Urgent containers pass a full window: they are answers that the peer may need
 * to empty it. */
int wf_order_send(weft_peer *peer, weft_tx *tx)
{
    struct wf_ordered *o = (struct wf_ordered *)peer;
    struct wf_tx *t = wf_container(tx, struct wf_tx, tx);
    bool refer = t->hdr.type == WF_TRANSFER && t->tx.len;
    bool last = refer && wf_le16(t->hdr.flags) & WF_FLAG_LAST;
    bool urgent = t->tx.flags & WEFT_TX_URGENT;
    struct wf_retained *r = NULL;

    if (!is_window_closed(o) || urgent)
        r = retain_container(o, &t->hdr, t->tx.len, !refer);
    if (!r) {
        o->sender_waits = true;
        return WEFT_EAGAIN;
    }
    if (refer) {
        r->p = wf_container(t, struct wf_p2p, tx);
        r->offset = r->p->offset;
        r->whole = last ? t : NULL;
        if (wf_type_is_contiguous(r->p->type))
            r->tx.tx.one = t->tx.one;
    } else {
        wf_message_gather(&t->tx, r->data);
    }
    if (urgent) {
        append_retained(o, r);
    } else if (!try_append(o, r)) {
        o->sender_waits = true;
        return WEFT_EAGAIN;
    }
    return last ? WEFT_OK : WEFT_DONE;
}

void wf_order_free(struct wf_ordered *o)
{
    if (!o)
        return;
    wf_order_drop_retained(o->loc, WEFT_ECANCEL);
    WF_ASSERT(!o->first && o->count == 0 && o->bytes == 0);
    for (int k = 0; k < o->carriers; k++) {
        wf_order_free_staged(&o->carrier[k]);
        wf_seal_free(o->carrier[k].seal);
    }
    while (o->spare) {
        struct wf_retained *r = o->spare;
        o->spare = r->next;
        free(r);
    }
    free(o);
}
