/* Control messages of carriers: acknowledgements, probes and their answers. See
 * order.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/carrier_control.h"

#include "protocol/carrier.h"
#include "protocol/message.h"
#include "protocol/order.h"
#include "protocol/order_fast.h"
#include "route/location.h"

/* Send an ACK, PING or PONG. WEFT_DONE; WEFT_EAGAIN, also on a broken carrier;
 * or an error, and the carrier is given up. */
static int send_control(struct wf_ordered *o, int k, enum wf_wire_type type)
{
    struct wf_carrier *c = &o->carrier[k];
    struct wf_wire w;
    int r;

    if (c->blocked || c->give_up || c->state == WF_CARRIER_BROKEN)
        return WEFT_EAGAIN;
    wf_wire_init(&w, type, 0);
    w.type |= WF_SEQUENCED;
    if (type == WF_ACK && c->landed)
        w.a = wf_le64((uint64_t)1 << 32 | c->landed_seq);
    wf_order_finish_header(o, &w, 0, NULL, 0);
    r = c->seal ? wf_seal_send(c->seal, c->core, o->loc->peers[c->core->index],
                               &w, NULL)
                : c->core->ops->send_short(o->loc->peers[c->core->index],
                                           (const weft_hdr *)&w, NULL, 0, 0);
    if (r == WEFT_EAGAIN)
        wf_carrier_note_blocked(o, k);
    else if (r < 0)
        wf_carrier_give_up(o, k, "it refused a message");
    else if (type == WF_ACK)
        c->landed = false;
    return r;
}

void wf_carrier_send_ack(struct wf_ordered *o, struct weft_core *core)
{
    int k = o->at >= 0 ? o->at : wf_carrier_index_of(o, core);

    if (o->candidate >= 0)
        k = o->candidate; /* the peer is heard there */
    if (k >= 0 && send_control(o, k, WF_ACK) < 0 && !o->owed)
        o->owed = 1; /* the maintenance round tries again */
}

void wf_carrier_note_piece(struct wf_ordered *o, int k, uint32_t seq)
{
    o->carrier[k].landed = true;
    o->carrier[k].landed_seq = seq;
}

void wf_carrier_request_probe(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];

    if (c->state == WF_CARRIER_BROKEN || c->probed_at)
        return;
    c->state = WF_CARRIER_TRIED;
    c->probe = true;
    c->probed_at = wf_now(o->loc->wf);
}

void wf_carrier_send_due(struct wf_ordered *o, int k)
{
    struct wf_carrier *c = &o->carrier[k];

    if (c->pong && send_control(o, k, WF_PONG) >= 0)
        c->pong = false;
    if (c->probe && send_control(o, k, WF_PING) >= 0)
        c->probe = false;
    if (c->landed)
        send_control(o, k, WF_ACK);
}
