/* Sends containers: adds them to the flow of their peer.
 *
 * Small containers are copied and done at once; the others are lent to the flow
 * until the peer has acknowledged them. Data for which the window has no room
 * waits in the flow, but only one lent container at a time: the core queues the
 * others.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "udp.h"

/* Has the core wait for tx_ready(). */
static int refuse_until_ready(weft_peer *p)
{
    p->ip.want_ready = true;
    return WEFT_EAGAIN;
}

/* Refuses a container while the link is not open; calls the peer if that was
 * not done. */
static int refuse_not_open(weft_peer *p)
{
    if (p->ip.state == PEER_IDLE)
        wf_ip_dial_party(&p->ep->calls, &p->party);
    else if (p->ip.state == PEER_LEFT)
        wf_ip_break_link(&p->ip, WEFT_ELINK, "process %u has left", p->ip.id);
    if (p->ip.state == PEER_BROKEN && p->ip.reported)
        return WEFT_ELINK;
    return refuse_until_ready(p);
}

/* Adds a container to the flow. Returns WEFT_DONE if it was copied, WEFT_OK if
 * it is lent. */
static int queue_container(weft_peer *p, weft_tx *tx, const void *data)
{
    weft_ep *ep = p->ep;
    bool small = tx->len <= UDP_SHORT_MAX;

    if (p->ip.state != PEER_OPEN)
        return refuse_not_open(p);
    if (p->ip.leaving) {
        wf_ip_break_link(&p->ip, WEFT_ELINK, "process %u has left", p->ip.id);
        return refuse_until_ready(p);
    }
    if (!small && wf_udp_flow_has_unsent(&p->flow)) /* some may be held back */
        wf_udp_transmit(p, wf_udp_now(ep));
    if (!small && wf_udp_flow_has_unsent(&p->flow))
        return refuse_until_ready(p);
    if (!(small ? wf_udp_flow_copy(&p->flow, tx, data)
                : wf_udp_flow_lend(&p->flow, tx)))
        return refuse_until_ready(p);
    ep->count.tx_containers++;
    ep->count.tx_bytes += tx->len;
    return small ? WEFT_DONE : WEFT_OK;
}

static int submit_container(weft_peer *p, weft_tx *tx, const void *data)
{
    int rc = queue_container(p, tx, data);

    if (rc >= 0)
        wf_udp_transmit(p, wf_udp_now(p->ep));
    return rc;
}

/* Sends one of a window of small messages: some of them wait for each other,
 * until the next poll at the latest. */
static int send_one_of_many(weft_peer *p, weft_tx *tx, const void *data)
{
    bool leaves = wf_ip_leaves_now(&p->ip, p->ep->poll_round);
    int rc;

    if (leaves || tx->len > p->ep->cfg.coalesce)
        return submit_container(p, tx, data);
    rc = queue_container(p, tx, data);
    if (rc != WEFT_DONE)
        return rc;
    if (wf_udp_flow_unsent(&p->flow) > IP_HELD_MOST) {
        wf_udp_transmit(p, wf_udp_now(p->ep));
        return WEFT_DONE;
    }
    wf_ip_mark_due(&p->ip);
    return WEFT_OK;
}

int wf_udp_send(weft_peer *p, weft_tx *tx)
{
    return submit_container(p, tx, NULL);
}

int wf_udp_send_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len, unsigned flags)
{
    weft_tx tx = {.hdr = (weft_hdr *)(uintptr_t)hdr, .len = len};

    if (len > UDP_SHORT_MAX)
        return WEFT_EINVAL;
    return flags & WEFT_TX_MORE ? send_one_of_many(p, &tx, data)
                                : submit_container(p, &tx, data);
}

bool wf_udp_queue_frame(weft_peer *p, uint8_t type)
{
    weft_hdr hdr;
    weft_tx tx = {.hdr = &hdr};
    uint8_t *h = (uint8_t *)&hdr;

    memset(&hdr, 0, sizeof hdr);
    h[0] = type;
    h[1] = 1;
    h[3] = WEFT_HDR_SHORT >> 8;
    return wf_udp_flow_copy(&p->flow, &tx, h);
}

void wf_udp_return_acknowledged(weft_peer *p)
{
    weft_ep *ep = p->ep;
    weft_tx *tx;

    while (p->ip.state == PEER_OPEN &&
           (tx = wf_udp_flow_return_lent(&p->flow, false)))
        ep->ip.host->tx_done(ep->ip.core, tx, WEFT_OK);
    if (p->ip.state == PEER_OPEN && p->ip.want_ready &&
        !wf_udp_flow_has_unsent(&p->flow)) {
        p->ip.want_ready = false;
        ep->ip.host->tx_ready(ep->ip.core, p->ip.loc);
    }
}

void wf_udp_tx_cancel(weft_peer *p, int status)
{
    weft_tx *tx;

    while (p->flow.item && (tx = wf_udp_flow_return_lent(&p->flow, true)))
        p->ep->ip.host->tx_done(p->ep->ip.core, tx, status);
}
