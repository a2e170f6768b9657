/* Is a silent peer still there?
 *
 * A process that has ended is reported by its kernel at the first packet to it,
 * and a host that is gone from a network by our own; but both only when
 * something is sent. So a peer that was silent for `keepalive` is asked: an empty
 * packet that wants an answer.
 *
 * Who computes answers late, and that is no failure. What answers all the same
 * is his kernel: the datagram to a port that nobody uses (discard, RFC 863)
 * comes back as an error. A host that has done so, and neither does any more
 * nor sends anything else, has stopped or cannot be reached: after `vanished`
 * the link is given up. Where a firewall swallows these datagrams there is no
 * telling, and the peer is asked on.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <netinet/in.h>

#include "udp.h"

enum { PORT_DISCARD = 9 };

void wf_udp_alive_begin(weft_peer *p, uint64_t now)
{
    p->alive = (struct wf_udp_alive){.heard = now, .asked = now};
    wf_ip_sooner(&p->ep->timer_at, wf_udp_alive_deadline(p));
}

uint64_t wf_udp_alive_deadline(const weft_peer *p)
{
    const struct wf_udp_alive *a = &p->alive;

    return p->ep->cfg.keepalive
               ? (a->heard > a->asked ? a->heard : a->asked) +
                     p->ep->cfg.keepalive
               : 0;
}

/* Where the peer's kernel answers. */
static struct wf_ip_path host_of(const struct wf_ip_path *path)
{
    struct wf_ip_path host = *path;
    struct wf_ip_addr at;

    wf_ip_from_sockaddr((const struct sockaddr *)&path->to, &at);
    at.port = PORT_DISCARD;
    host.to_len = wf_ip_to_sockaddr(&at, &host.to);
    return host;
}

static void ask_host(weft_peer *p)
{
    struct wf_ip_path host = host_of(&p->path.way);
    uint8_t nothing = 0;
    struct iovec v = {.iov_base = &nothing, .iov_len = 1};

    wf_udp_say(p->ep, &host, &v, 1);
}

/* Questions count, not time: we may have been away ourselves. */
static bool vanished(const weft_peer *p)
{
    const struct wf_udp_cfg *cfg = &p->ep->cfg;
    uint64_t most = cfg->vanished / cfg->keepalive;

    return cfg->vanished && p->alive.host &&
           p->alive.unanswered > (most > 1 ? most : 1);
}

void wf_udp_alive_ask(weft_peer *p, uint64_t now)
{
    struct wf_udp_alive *a = &p->alive;
    uint64_t at = wf_udp_alive_deadline(p);

    if (!at || at > now || p->party.state != PARTY_OPEN)
        return;
    if (a->heard >= a->asked || a->host >= a->asked)
        a->unanswered = 0;
    if (vanished(p)) {
        wf_udp_link_break(p, WEFT_ELINK,
                          "process %u has vanished: neither it nor its host "
                          "has answered for %llu s",
                          p->party.id,
                          (unsigned long long)(p->ep->cfg.vanished /
                                               1000000000u));
        return;
    }
    a->asked = now;
    a->unanswered++;
    p->flow.probe = true;
    wf_udp_transmit(p, now);
    ask_host(p);
}

/* A datagram to there was refused. True: a host has answered us. */
bool wf_udp_alive_host(weft_ep *ep, const struct wf_ip_path *to)
{
    bool any = false;

    for (weft_peer *p = ep->open; p; p = p->open_next) {
        struct wf_ip_path host = host_of(&p->path.way);
        if (!wf_ip_same_path(&host, to))
            continue;
        any = true;
        p->alive.host = wf_udp_now(ep);
    }
    return any;
}
