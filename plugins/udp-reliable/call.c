/* Converts words of the handshake to packets and back; ../ip/call.h describes
 * the handshake.
 *
 * HELLO, ANSWER, PROOF   `number` is the sender's link id; the body is a
 *                        message of auth_step()
 * ACCEPT                 `number` is the sender's link id; there is no body
 * RESET                  `number` is the id that belongs to no link at its
 *                        sender; `to` is 0 if it answers DATA, which does not
 *                        contain the id of its sender
 *
 * All have a checksum. ACCEPT and RESET end or begin something by their ids
 * alone, so they carry a code where packets do.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "udp.h"

static const uint8_t types[] = {[IP_HELLO] = UDP_HELLO,
                                [IP_ANSWER] = UDP_ANSWER,
                                [IP_PROOF] = UDP_PROOF,
                                [IP_ACCEPT] = UDP_ACCEPT,
                                [IP_RESET] = UDP_RESET};

void wf_udp_send_word(weft_ep *ep, const struct wf_ip_path *path,
                      const struct wf_ip_word *w, const void *body, size_t n)
{
    uint8_t bytes[PACKET_HEAD + WEFT_AUTH_MSG + PACKET_MAC];
    bool ids = w->verb == IP_ACCEPT || w->verb == IP_RESET;
    struct wf_udp_packet k = {.type = types[w->verb],
                              .flags = ids        ? UDP_CHECK
                                       : w->coded ? UDP_MAC
                                                  : 0,
                              .to = w->to,
                              .number = w->from,
                              .room = w->room};
    struct iovec v = {.iov_base = bytes};

    v.iov_len = wf_udp_packet_pack(&k, bytes);
    if (n)
        memcpy(bytes + v.iov_len, body, n);
    v.iov_len += n;
    if (ids && w->coded)
        v.iov_len = wf_udp_append_code_of_ids(ep, w->loc, bytes, v.iov_len);
    wf_udp_packet_set_checksum(bytes, v.iov_len, NULL, 0);
    wf_udp_send_datagram(ep, path, &v, 1);
}

/* Returns the own id of the link whose id at the peer was `unknown`. */
static uint32_t find_link(const weft_ep *ep, const struct wf_ip_path *path,
                          uint32_t unknown)
{
    for (const weft_peer *p = ep->open; p; p = p->open_next)
        if (p->remote_link == unknown && wf_ip_is_same_path(&p->path.way, path))
            return p->link;
    return 0;
}

static bool acts_by_ids(const struct wf_ip_word *w)
{
    return w->verb == IP_ACCEPT || w->verb == IP_RESET;
}

/* Tells whether a word about an open link comes from another address. */
static bool is_from_elsewhere(weft_ep *ep, const struct wf_ip_path *path,
                              uint32_t id)
{
    const struct wf_ip_id *s = wf_ip_find_id(&ep->calls, id);

    return s && s->party &&
           !wf_ip_is_same_path(&s->party->peer->path.way, path);
}

static enum wf_ip_verb verb_of(uint8_t type)
{
    for (int v = IP_HELLO; v < IP_RESET; v++)
        if (types[v] == type)
            return (enum wf_ip_verb)v;
    return IP_RESET;
}

void wf_udp_take_word(weft_ep *ep, const struct wf_ip_path *path,
                      const struct wf_udp_packet *k, uint8_t *bytes, size_t n)
{
    struct wf_ip_word w = {.verb = verb_of(k->type),
                           .to = k->to,
                           .from = k->number,
                           .room = k->room,
                           .coded = k->flags & UDP_MAC};

    if (w.verb == IP_RESET && !w.to)
        w.to = find_link(ep, path, w.from);
    if (!wf_udp_packet_is_intact(bytes, n) ||
        (acts_by_ids(&w) &&
         !wf_udp_are_ids_proved(ep, wf_ip_find_loc(&ep->calls, w.to), bytes,
                                n)) ||
        is_from_elsewhere(ep, path, w.to))
        ep->calls.foreign_packets++;
    else
        wf_ip_take_word(&ep->calls, path, &w, bytes + PACKET_HEAD,
                        n - PACKET_HEAD);
}
