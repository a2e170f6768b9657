/* What proves that a packet is of our link, and whole.
 *
 * A checksum is enough where nobody else can send; elsewhere eight bytes at the
 * end are a code that takes the job key to make. It covers the packet, the full
 * number of which 32 bits travel, the direction, and what both sides said in
 * the handshake: a packet of another link, of the other direction, or from
 * before the number went round does not pass. One that comes again does, and
 * does no harm: the flow expects that of any network.
 *
 * ACCEPT and RESET belong to no flow; their code covers the ids alone.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>

#include "udp.h"

enum { NONCE_IDS = 2 }; /* 1: plugins/ip/call.c */
#define DIALLER (1ull << 63)

bool wf_udp_wants_code(weft_ep *ep, const struct wf_ip_path *path)
{
    struct wf_ip_addr to;

    wf_ip_from_sockaddr((const struct sockaddr *)&path->to, &to);
    return WEFT_HAS(ep->host, weft_host, mac64) &&
           (ep->cfg.mac == CHECKSUM_ON ||
            (ep->cfg.mac == CHECKSUM_AUTO && !wf_ip_loopback(&to)));
}

static uint64_t direction(const weft_peer *p, bool out)
{
    return p->salt ^ (p->dialled == out ? DIALLER : 0);
}

static void write_code(weft_ep *ep, uint64_t nonce, const struct iovec *v,
                       int n, uint8_t *code)
{
    uint64_t mac = ep->host->mac64(ep->core, nonce, v, n);

    for (int i = 0; i < PACKET_MAC; i++)
        code[i] = (uint8_t)(mac >> 8 * i);
}

static bool proved(weft_ep *ep, uint64_t nonce, const uint8_t *packet, size_t n)
{
    struct iovec v = {.iov_base = (void *)(uintptr_t)packet,
                      .iov_len = n - PACKET_MAC};
    uint8_t code[PACKET_MAC], differ = 0;

    write_code(ep, nonce, &v, 1, code);
    for (int i = 0; i < PACKET_MAC; i++)
        differ |= code[i] ^ packet[n - PACKET_MAC + (size_t)i];
    return differ == 0;
}

void wf_udp_seal(weft_peer *p, const struct iovec *v, int n, uint8_t *code)
{
    write_code(p->ep, direction(p, true) ^ p->flow.number, v, n, code);
}

/* Bytes of the packet that remain when its proof is taken off; 0: not ours. */
size_t wf_udp_open_packet(weft_peer *p, const struct wf_udp_packet *k,
                          uint8_t *bytes, size_t n)
{
    uint64_t number = wf_udp_flow_number(&p->flow, k->number);

    if (!p->path.mac)
        return !p->path.check || wf_udp_packet_intact(bytes, n) ? n : 0;
    if (!(k->flags & UDP_MAC) || n < PACKET_HEAD + PACKET_MAC ||
        !proved(p->ep, direction(p, false) ^ number, bytes, n))
        return 0;
    return n - PACKET_MAC;
}

size_t wf_udp_seal_ids(weft_ep *ep, uint8_t *bytes, size_t n)
{
    struct iovec v = {.iov_base = bytes, .iov_len = n};

    write_code(ep, NONCE_IDS, &v, 1, bytes + n);
    return n + PACKET_MAC;
}

/* The checksum was found right, and its field is zero again. */
bool wf_udp_ids_proved(weft_ep *ep, const struct wf_ip_path *path,
                       const uint8_t *bytes, size_t n)
{
    return !wf_udp_wants_code(ep, path) ||
           (n == PACKET_HEAD + PACKET_MAC && proved(ep, NONCE_IDS, bytes, n));
}
