/* Sending: makes messages of containers.
 *
 * A short container is one message on the stream of headers. A long one is
 * announced there in its turn, and its payload follows in fragments on a stream
 * of its own: what is sent next overtakes it, and a lost fragment delays only
 * its own container. The protocol copies what it takes, and bulk payload leaves
 * part of its buffer to control messages.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "sctp.h"

static int wait_for_room(weft_peer *p)
{
    p->ip.want_ready = true;
    if (p->kernel)
        wf_sctp_update_epoll(p);
    return WEFT_EAGAIN;
}

/* Returns WEFT_OK if containers can be sent now, else the reason. Dials if the
 * link is idle. */
static int check_open(weft_peer *p)
{
    if (p->ip.state == PEER_IDLE)
        wf_ip_dial_party(&p->ep->calls, &p->party);
    else if (p->ip.state == PEER_LEFT || p->ip.leaving)
        wf_ip_break_link(&p->ip, WEFT_ELINK, "process %u has left", p->ip.id);
    if (p->ip.state == PEER_BROKEN && p->ip.reported)
        return WEFT_ELINK;
    return p->ip.state == PEER_OPEN && p->up ? WEFT_OK : wait_for_room(p);
}

/* Returns the association of a stream, which is always the same: the first one
 * for headers. */
static int assoc_of(int stream)
{
    int beyond = stream - STREAM_BULK - FIRST_STREAMS;

    return beyond < 0 ? 0 : 1 + beyond % (ASSOCS_MAX - 1);
}

static int send_message(weft_peer *p, uint16_t stream, uint32_t kind,
                        const void *data, size_t n)
{
    struct wf_sctp_message m = {.stream = stream, .kind = kind, .n = n};
    struct wf_sctp_assoc *s = p->assoc[assoc_of(stream)];
    int rc = wf_sctp_assoc_send(s, &m, data, kind == KIND_PAYLOAD);

    if (rc == WEFT_ELINK && s->sock) { /* there may be a goodbye to be read */
        p->unread |= 1u << s->number;
        wf_ip_mark_due(&p->ip);
    } else if (rc == WEFT_ELINK)
        wf_ip_break_link(&p->ip, WEFT_ELINK,
                         "the association with process %u is broken", p->ip.id);
    return rc == WEFT_OK ? WEFT_OK : WEFT_EAGAIN;
}

static void count_container(weft_ep *ep, uint64_t len)
{
    ep->count.tx_containers++;
    ep->count.tx_bytes += len;
}

/* ---- payload on its own stream ------------------------------------------- */

/* Returns the bytes of the next fragment of a container; *data points to it. */
static size_t next_fragment(weft_peer *p, struct wf_sctp_out *o,
                            const void **data)
{
    uint64_t left = o->tx->len - o->off;
    uint64_t at = weft_hdr_len(o->tx->hdr) + o->off;
    size_t n = left < p->fragment ? (size_t)left : p->fragment;
    struct iovec v;

    if (wf_ip_tx_pieces(o->tx, at, &v, 1) == 1 && v.iov_len >= n) {
        *data = v.iov_base;
        return n;
    }
    wf_ip_tx_copy(o->tx, at, p->ep->scratch, n);
    *data = p->ep->scratch;
    return n;
}

/* Sends a fragment of the slot. Returns false if there is no room. */
static bool push_fragment(weft_peer *p, int slot)
{
    struct wf_sctp_out *o = &p->out[slot];
    const void *data;
    size_t n = next_fragment(p, o, &data);

    if (send_message(p, (uint16_t)(STREAM_BULK + slot), KIND_PAYLOAD, data, n) <
        0)
        return false;
    o->off += n;
    return true;
}

/* Sends fragments of all containers in turn, as far as their associations have
 * room. */
bool wf_sctp_push_payload(weft_peer *p)
{
    uint32_t full = 0; /* bits of associations without room */
    int idle = 0;

    while (p->outs && idle < BULK_STREAMS && p->ip.state == PEER_OPEN) {
        int slot = p->next_out;
        struct wf_sctp_out *o = &p->out[slot];
        uint32_t assoc = 1u << assoc_of(STREAM_BULK + slot);
        bool left = o->tx && o->off < o->tx->len && !(full & assoc);
        p->next_out = (slot + 1) % BULK_STREAMS;
        if (left && push_fragment(p, slot)) {
            idle = 0;
            continue;
        }
        full |= left ? assoc : 0;
        idle++;
    }
    if (full && p->kernel)
        wf_sctp_update_epoll(p);
    return full == 0;
}

/* Returns the next free stream of an association, or BULK_STREAMS if there is
 * none. */
static int find_free_slot_of(weft_peer *p, int assoc)
{
    for (int i = 0; i < BULK_STREAMS; i++) {
        int slot = (p->next_slot + i) % BULK_STREAMS;
        if (p->out[slot].tx || assoc_of(STREAM_BULK + slot) != assoc)
            continue;
        p->next_slot = (slot + 1) % BULK_STREAMS;
        return slot;
    }
    return BULK_STREAMS;
}

/* Returns a stream for one more container, or BULK_STREAMS if all are taken.
 * The associations take turns, so that they have equal shares. */
static int find_free_slot(weft_peer *p)
{
    for (int i = 0; i < p->spread.now; i++) {
        int assoc = (p->next_assoc + i) % p->spread.now, slot;
        if (!p->assoc[assoc] || !p->assoc[assoc]->up)
            continue;
        slot = find_free_slot_of(p, assoc);
        if (slot == BULK_STREAMS)
            continue;
        p->next_assoc = assoc + 1;
        return slot;
    }
    return BULK_STREAMS;
}

static int send_bulk(weft_peer *p, weft_tx *tx, uint16_t stream)
{
    int slot = find_free_slot(p);

    if (slot == BULK_STREAMS ||
        send_message(p, stream, KIND_ANNOUNCE | (uint32_t)(STREAM_BULK + slot),
                     tx->hdr, weft_hdr_len(tx->hdr)) < 0)
        return wait_for_room(p);
    p->out[slot] = (struct wf_sctp_out){.tx = tx};
    p->outs++;
    count_container(p->ep, tx->len);
    wf_sctp_push_payload(p);
    if (p->out[slot].off < tx->len)
        return WEFT_OK;
    p->out[slot].tx = NULL;
    p->outs--;
    return WEFT_DONE;
}

/* ---- containers ---------------------------------------------------------- */

int wf_sctp_tx(weft_peer *p, weft_tx *tx)
{
    uint16_t stream = tx->flags & WEFT_TX_URGENT ? STREAM_URGENT : STREAM_ORDER;
    size_t n = (size_t)wf_ip_tx_bytes(tx);

    if (check_open(p) < 0)
        return p->ip.reported ? WEFT_ELINK : WEFT_EAGAIN;
    if (tx->len > SCTP_SHORT_MAX)
        return send_bulk(p, tx, stream);
    wf_ip_tx_copy(tx, 0, p->ep->scratch, n);
    if (send_message(p, stream, KIND_WHOLE, p->ep->scratch, n) < 0)
        return wait_for_room(p);
    count_container(p->ep, tx->len);
    return WEFT_DONE;
}

int wf_sctp_tx_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                     size_t len, unsigned flags)
{
    uint32_t hl = weft_hdr_len(hdr);

    (void)flags;
    if (len > SCTP_SHORT_MAX)
        return WEFT_EINVAL;
    if (check_open(p) < 0)
        return p->ip.reported ? WEFT_ELINK : WEFT_EAGAIN;
    memcpy(p->ep->scratch, hdr, hl);
    if (len)
        memcpy(p->ep->scratch + hl, data, len);
    if (send_message(p, STREAM_ORDER, KIND_WHOLE, p->ep->scratch, hl + len) < 0)
        return wait_for_room(p);
    count_container(p->ep, len);
    return WEFT_DONE;
}

bool wf_sctp_send_frame(weft_peer *p, uint8_t type)
{
    uint8_t h[SCTP_FRAME] = {type, 1, 0, WEFT_HDR_SHORT >> 8};

    return send_message(p, STREAM_ORDER, KIND_WHOLE, h, sizeof h) == WEFT_OK;
}

void wf_sctp_finish_sends(weft_peer *p)
{
    weft_ep *ep = p->ep;
    bool room;

    if (p->ip.state != PEER_OPEN || !p->up)
        return;
    room = wf_sctp_push_payload(p);
    for (int i = 0; i < BULK_STREAMS && p->outs; i++) {
        weft_tx *tx = p->out[i].tx;
        if (!tx || p->out[i].off < tx->len)
            continue;
        p->out[i].tx = NULL;
        p->outs--;
        ep->ip.host->tx_done(ep->ip.core, tx, WEFT_OK);
        if (p->ip.state != PEER_OPEN)
            return;
    }
    if (p->ip.want_ready && (room || p->outs < BULK_STREAMS)) {
        p->ip.want_ready = false;
        ep->ip.host->tx_ready(ep->ip.core, p->ip.loc);
    }
}

void wf_sctp_tx_cancel(weft_peer *p, int status)
{
    for (int i = 0; i < BULK_STREAMS; i++) {
        weft_tx *tx = p->out[i].tx;
        p->out[i].tx = NULL;
        if (tx)
            p->ep->ip.host->tx_done(p->ep->ip.core, tx, status);
    }
    p->outs = 0;
}
