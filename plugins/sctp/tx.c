/* Sending: containers become messages.
 *
 * A short container is one message on the stream of headers. A long one is
 * announced there, in its turn, and its payload follows in fragments on a stream
 * of its own: whatever is sent next overtakes it, and a lost fragment holds up
 * nothing but its own container. The protocol copies what it takes, and bulk
 * leaves part of its buffer to control messages.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "sctp.h"

static int again(weft_peer *p)
{
    p->want_ready = true;
    if (p->kernel)
        wf_sctp_wait_for(p);
    return WEFT_EAGAIN;
}

/* Why nothing can be sent now; WEFT_OK: it can. */
static int refuse(weft_peer *p)
{
    if (p->party.state == PARTY_IDLE)
        wf_ip_dial(&p->ep->calls, &p->party);
    else if (p->party.state == PARTY_LEFT || p->party.leaving)
        wf_sctp_link_break(p, WEFT_ELINK, "process %u has left", p->party.id);
    if (p->party.state == PARTY_BROKEN && p->reported)
        return WEFT_ELINK;
    return p->party.state == PARTY_OPEN && p->up ? WEFT_OK : again(p);
}

/* Headers on the first strand, payload on that of its stream, which never has
 * another. */
static int strand_of(int stream)
{
    int beyond = stream - STREAM_BULK - FIRST;

    return beyond < 0 ? 0 : 1 + beyond % (STRANDS - 1);
}

static int say(weft_peer *p, uint16_t stream, uint32_t kind, const void *data,
               size_t n)
{
    struct wf_sctp_message m = {.stream = stream, .kind = kind, .n = n};
    struct wf_sctp_strand *s = p->strand[strand_of(stream)];
    int rc = wf_sctp_strand_send(s, &m, data, kind == KIND_PAYLOAD);

    if (rc == WEFT_ELINK && s->sock) { /* there may be a goodbye to read */
        p->unread |= 1u << s->number;
        wf_sctp_attend(p);
    } else if (rc == WEFT_ELINK)
        wf_sctp_link_break(p, WEFT_ELINK,
                           "the association with process %u is broken",
                           p->party.id);
    return rc == WEFT_OK ? WEFT_OK : WEFT_EAGAIN;
}

static void counted(weft_ep *ep, uint64_t len)
{
    ep->count.tx_containers++;
    ep->count.tx_bytes += len;
}

/* ---- payload on its own stream ------------------------------------------- */

/* The next fragment of what a slot has; *data points to it. */
static size_t fragment(weft_peer *p, struct wf_sctp_out *o, const void **data)
{
    uint64_t left = o->tx->len - o->off;
    uint64_t at = weft_hdr_len(o->tx->hdr) + o->off;
    size_t n = left < p->fragment ? (size_t)left : p->fragment;
    struct iovec v;

    if (wf_ip_tx_pieces(o->tx, at, &v, 1) == 1 && v.iov_len >= n) {
        *data = v.iov_base;
        return n;
    }
    wf_ip_tx_copy(p->ep->host, o->tx, at, p->ep->scratch, n);
    *data = p->ep->scratch;
    return n;
}

/* One fragment of the slot; false: there is no room. */
static bool push_one(weft_peer *p, int slot)
{
    struct wf_sctp_out *o = &p->out[slot];
    const void *data;
    size_t n = fragment(p, o, &data);

    if (say(p, (uint16_t)(STREAM_BULK + slot), KIND_PAYLOAD, data, n) < 0)
        return false;
    o->off += n;
    return true;
}

/* Fragments of all containers in turn, as far as their strands have room.
 * False: something is left. */
bool wf_sctp_push(weft_peer *p)
{
    uint32_t full = 0; /* strands */
    int idle = 0;

    while (p->outs && idle < BULK && p->party.state == PARTY_OPEN) {
        int slot = p->next_out;
        struct wf_sctp_out *o = &p->out[slot];
        uint32_t strand = 1u << strand_of(STREAM_BULK + slot);
        bool left = o->tx && o->off < o->tx->len && !(full & strand);
        p->next_out = (slot + 1) % BULK;
        if (left && push_one(p, slot)) {
            idle = 0;
            continue;
        }
        full |= left ? strand : 0;
        idle++;
    }
    if (full && p->kernel)
        wf_sctp_wait_for(p);
    return full == 0;
}

/* The next free stream of a strand; BULK: there is none. */
static int free_slot_of(weft_peer *p, int strand)
{
    for (int i = 0; i < BULK; i++) {
        int slot = (p->next_slot + i) % BULK;
        if (p->out[slot].tx || strand_of(STREAM_BULK + slot) != strand)
            continue;
        p->next_slot = (slot + 1) % BULK;
        return slot;
    }
    return BULK;
}

/* A stream for one more container, of the next strand, for them to have equal
 * shares. BULK: all are taken. */
static int free_slot(weft_peer *p)
{
    for (int i = 0; i < p->spread.now; i++) {
        int strand = (p->next_strand + i) % p->spread.now, slot;
        if (!p->strand[strand] || !p->strand[strand]->up)
            continue;
        slot = free_slot_of(p, strand);
        if (slot == BULK)
            continue;
        p->next_strand = strand + 1;
        return slot;
    }
    return BULK;
}

static int bulk(weft_peer *p, weft_tx *tx, uint16_t stream)
{
    int slot = free_slot(p);

    if (slot == BULK ||
        say(p, stream, KIND_ANNOUNCE | (uint32_t)(STREAM_BULK + slot), tx->hdr,
            weft_hdr_len(tx->hdr)) < 0)
        return again(p);
    p->out[slot] = (struct wf_sctp_out){.tx = tx};
    p->outs++;
    counted(p->ep, tx->len);
    wf_sctp_push(p);
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

    if (refuse(p) < 0)
        return p->reported ? WEFT_ELINK : WEFT_EAGAIN;
    if (tx->len > SCTP_SHORT_MAX)
        return bulk(p, tx, stream);
    wf_ip_tx_copy(p->ep->host, tx, 0, p->ep->scratch, n);
    if (say(p, stream, KIND_WHOLE, p->ep->scratch, n) < 0)
        return again(p);
    counted(p->ep, tx->len);
    return WEFT_DONE;
}

int wf_sctp_tx_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                     size_t len)
{
    uint32_t hl = weft_hdr_len(hdr);

    if (len > SCTP_SHORT_MAX)
        return WEFT_EINVAL;
    if (refuse(p) < 0)
        return p->reported ? WEFT_ELINK : WEFT_EAGAIN;
    memcpy(p->ep->scratch, hdr, hl);
    if (len)
        memcpy(p->ep->scratch + hl, data, len);
    if (say(p, STREAM_ORDER, KIND_WHOLE, p->ep->scratch, hl + len) < 0)
        return again(p);
    counted(p->ep, len);
    return WEFT_DONE;
}

bool wf_sctp_frame(weft_peer *p, uint8_t type)
{
    uint8_t h[SCTP_FRAME] = {type, 1, 0, WEFT_HDR_SHORT >> 8};

    return say(p, STREAM_ORDER, KIND_WHOLE, h, sizeof h) == WEFT_OK;
}

/* Give back what has left, and say that there is room. */
void wf_sctp_flush(weft_peer *p)
{
    weft_ep *ep = p->ep;
    bool room;

    if (p->party.state != PARTY_OPEN || !p->up)
        return;
    room = wf_sctp_push(p);
    for (int i = 0; i < BULK && p->outs; i++) {
        weft_tx *tx = p->out[i].tx;
        if (!tx || p->out[i].off < tx->len)
            continue;
        p->out[i].tx = NULL;
        p->outs--;
        ep->host->tx_done(ep->core, tx, WEFT_OK);
        if (p->party.state != PARTY_OPEN)
            return;
    }
    if (p->want_ready && (room || p->outs < BULK)) {
        p->want_ready = false;
        ep->host->tx_ready(ep->core, p->loc);
    }
}

void wf_sctp_tx_cancel(weft_peer *p, int status)
{
    for (int i = 0; i < BULK; i++) {
        weft_tx *tx = p->out[i].tx;
        p->out[i].tx = NULL;
        if (tx)
            p->ep->host->tx_done(p->ep->core, tx, status);
    }
    p->outs = 0;
}
