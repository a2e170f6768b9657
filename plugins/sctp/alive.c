/* Finds out whether a silent peer is still there; see ../ip/alive.h.
 *
 * The peer is asked by a probe on every path (path.c), whether there is traffic
 * or not. Its host is asked by one path after the other: else a process that
 * computes might be out of reach by the path that carries the packets without
 * notice. Where the kernel's SCTP carries the link, the kernel asks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sctp.h"

static void ask_peer(void *peer, uint64_t now)
{
    weft_peer *p = peer;
    weft_ep *ep = p->ep;
    const struct wf_ip_path *to = &p->path[p->next_path++ % p->paths].to;
    struct wf_ip_addr host;

    wf_ip_from_sockaddr((const struct sockaddr *)&to->to, &host);
    wf_sctp_probe_paths(p, now);
    wf_ip_alive_ask_host(&ep->watch, &p->alive, now, &host,
                    &ep->ip.use[to->socket].addr);
}

uint64_t wf_sctp_alive_check(weft_peer *p, uint64_t now)
{
    struct wf_ip_watch *w = &p->ep->watch;
    char why[IP_REASON_BYTES];

    if (wf_ip_alive_check(w, &p->alive, now, ask_peer, p, why))
        return wf_ip_alive_deadline(w, &p->alive);
    wf_ip_break_link(&p->ip, WEFT_ELINK, "process %u %s", p->ip.id, why);
    return 0;
}

/* The answer counts as a sign of life unless the peer has an acknowledgement to
 * send: probes are small and may pass where data is dropped. */
void wf_sctp_alive_note_echo(weft_peer *p, uint64_t now)
{
    if (p->kernel || !wf_sctp_awaits_ack(p))
        wf_ip_alive_note_answer(&p->alive, now);
    else
        wf_ip_alive_note_running(&p->ep->watch, &p->alive, now);
}

/* weft_ops.silent */
uint64_t wf_sctp_silent_for(weft_peer *p, uint64_t within)
{
    if (p->ip.state != PEER_OPEN)
        return wf_ip_calls_silent_ns(&p->ep->calls, &p->party, within);
    if (p->kernel)
        return UINT64_MAX;
    p->alive.within = within;
    return wf_ip_alive_silent_ns(&p->ep->watch, &p->alive,
                                 wf_sctp_now_ns(p->ep));
}
