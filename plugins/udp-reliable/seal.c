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

enum { NONCE_LINK = 1, NONCE_IDS = 2 };
#define DIALLER (1ull << 63)

bool wf_udp_wants_mac(const weft_ep *ep, const struct wf_ip_addr *to)
{
    return WEFT_HAS(ep->host, weft_host, mac64) &&
           (ep->cfg.mac == CHECKSUM_ON ||
            (ep->cfg.mac == CHECKSUM_AUTO && !wf_ip_loopback(to)));
}

/* What makes this link different from all others, by its handshake. */
uint64_t wf_udp_salt(weft_ep *ep, const void *hello, const void *answer)
{
    struct iovec v[2] = {
        {.iov_base = (void *)(uintptr_t)hello, .iov_len = WEFT_AUTH_MSG},
        {.iov_base = (void *)(uintptr_t)answer, .iov_len = WEFT_AUTH_MSG}};

    return ep->host->mac64(ep->core, NONCE_LINK, v, 2);
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

/* ACCEPT and RESET: a header, and its code where the path wants one. */
void wf_udp_say_ids(weft_ep *ep, const struct wf_udp_path *path,
                    struct wf_udp_packet *k)
{
    uint8_t bytes[PACKET_MAX + PACKET_MAC];
    struct iovec v = {.iov_base = bytes};

    k->flags = UDP_CHECK;
    v.iov_len = wf_udp_packet_pack(k, bytes);
    if (path->mac) {
        write_code(ep, NONCE_IDS, &v, 1, bytes + v.iov_len);
        v.iov_len += PACKET_MAC;
    }
    wf_udp_packet_seal(bytes, v.iov_len, NULL, 0);
    wf_udp_say(ep, path, &v, 1);
}

/* The checksum was found right, and its field is zero again. */
bool wf_udp_ids_proved(weft_ep *ep, const struct wf_udp_path *path,
                       const uint8_t *bytes, size_t n)
{
    return !path->mac || (n == PACKET_HEAD + PACKET_MAC &&
                          proved(ep, NONCE_IDS, bytes, n));
}
