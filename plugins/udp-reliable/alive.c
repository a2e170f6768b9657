/* Notices that a silent peer is gone, by its signs of life: ../ip/alive.h.
 *
 * The kernel of a process that has ended reports that at the first packet to
 * it, and this kernel reports a host that is gone from the network; but both
 * only when something is sent. So a peer that has acknowledged nothing for a
 * while is asked, by an empty packet that wants an answer, and its host beside
 * it. A packet that arrives is no sign of life unless it acknowledges one that
 * was not acknowledged before: where one direction is cut the other still
 * delivers.
 *
 * A peer may run and yet confirm nothing for long, because many packets of
 * others stand before those of this process in its socket. So a packet counts
 * as evidence that the latter are lost only if the peer had found its socket
 * empty when it sent it (UDP_DRAINED), or if it acknowledges a later packet
 * than the data that it lacks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "udp.h"

void wf_udp_alive_begin(weft_peer *p, uint64_t now)
{
    wf_ip_alive_begin(&p->alive, now);
    p->confirmed = p->flow.peer_seen;
    p->acked = p->flow.una;
    wf_ip_set_sooner(&p->ep->timer_at, wf_udp_alive_deadline(p));
}

uint64_t wf_udp_alive_deadline(const weft_peer *p)
{
    return wf_ip_alive_deadline(&p->ep->watch, &p->alive);
}

static void ask_peer(void *peer, uint64_t now)
{
    weft_peer *p = peer;
    const struct wf_ip_path *way = &p->path.way;
    struct wf_ip_addr host;

    wf_ip_from_sockaddr((const struct sockaddr *)&way->to, &host);
    p->flow.probe = true;
    wf_udp_transmit(p, now);
    wf_ip_alive_ask_host(&p->ep->watch, &p->alive, now, &host,
                    &p->ep->ip.use[way->socket].addr);
}

void wf_udp_alive_check(weft_peer *p, uint64_t now)
{
    char why[IP_REASON_BYTES];

    if (p->ip.state == PEER_OPEN &&
        !wf_ip_alive_check(&p->ep->watch, &p->alive, now, ask_peer, p, why))
        wf_ip_break_link(&p->ip, WEFT_ELINK, "process %u %s", p->ip.id, why);
}

/* While data is unacknowledged only its acknowledgement is a sign of life, for
 * packets without data may get through where those with data do not. */
void wf_udp_alive_note_packet(weft_peer *p, bool drained, uint64_t now)
{
    const struct wf_udp_flow *f = &p->flow;
    bool seen = f->peer_seen != p->confirmed, owes = f->una < f->sent;

    if (f->una != p->acked || (seen && !owes))
        wf_ip_alive_note_answer(&p->alive, now);
    else if (seen || drained)
        wf_ip_alive_note_running(&p->ep->watch, &p->alive, now);
    p->confirmed = f->peer_seen;
    p->acked = f->una;
}

uint64_t wf_udp_alive_silent_ns(weft_peer *p, uint64_t within)
{
    uint64_t now = wf_udp_now(p->ep);

    if (p->ip.state != PEER_OPEN)
        return wf_ip_calls_silent_ns(&p->ep->calls, &p->party, within);
    if (p->alive.within != within) {
        p->alive.within = within;
        wf_ip_set_sooner(&p->ep->timer_at, wf_udp_alive_deadline(p));
    }
    return wf_ip_alive_silent_ns(&p->ep->watch, &p->alive, now);
}
