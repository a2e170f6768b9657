/* The authentication code of a packet, which proves that the packet belongs to
 * this link and is undamaged.
 *
 * The last eight bytes of a packet are a code that takes the job key to make,
 * on loopback too, where every user of the host can send; only where the
 * configuration trusts the network a checksum takes its place. The code is the
 * host's keyed function (mac64) over a digest of the packet (digest.h), whose
 * key belongs to the link and is made by the same function. The digest makes it
 * fast: of 1400 bytes mac64 reads 56. The code also covers the full number of
 * the packet, of which 32 bits travel, the direction, and the hello and answer
 * of the handshake: a packet of another link, of the other direction, or from
 * before the number wrapped does not pass. A packet that comes again does, and
 * does no harm: the flow expects that of any network.
 *
 * ACCEPT and RESET belong to no flow; their code covers the ids alone. Between
 * jobs it is of the pair's key: so they count for a call or a link whose peer
 * is known on both sides, and else silence decides.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <endian.h>

#include "udp.h"

enum { NONCE_IDS = 2 }; /* 1: plugins/ip/call.c */
#define DIALLER (1ull << 63)

bool wf_udp_wants_code(const weft_ep *ep)
{
    return WEFT_HAS(ep->ip.host, weft_host, mac64) &&
           (ep->cfg.mac == CHECKSUM_ON ||
            (ep->cfg.mac == CHECKSUM_AUTO && !ep->trusted));
}

/* The two directions of a link have different nonces. */
static uint64_t nonce_of_direction(const weft_peer *p, bool out)
{
    return p->salt ^ (p->dialled == out ? DIALLER : 0);
}

static struct wf_ip_key key_of(const weft_ep *ep, weft_loc *loc)
{
    return (struct wf_ip_key){ep->ip.host, ep->ip.core, loc, NULL};
}

/* One key serves both directions. */
void wf_udp_make_digest_key(weft_peer *p)
{
    for (uint32_t i = 0; i < DIGEST_KEY; i++) {
        uint64_t label[2] = {htole64(0x6b65792077656674u), htole64(i)};
        struct iovec v = {.iov_base = label, .iov_len = sizeof label};
        p->digest_key[i] =
            wf_ip_mac64(key_of(p->ep, p->ip.loc), p->salt, &v, 1);
    }
}

static uint64_t code_of(weft_peer *p, uint64_t nonce, const struct iovec *v,
                        int n)
{
    uint64_t digest[DIGEST_MAX];
    struct iovec of = {.iov_base = digest};

    of.iov_len = wf_udp_digest(p->digest_key, v, n, digest) * sizeof *digest;
    return wf_ip_mac64(key_of(p->ep, p->ip.loc), nonce, &of, 1);
}

static void write_code(uint64_t code, uint8_t *bytes)
{
    for (int i = 0; i < PACKET_MAC; i++)
        bytes[i] = (uint8_t)(code >> 8 * i);
}

/* Tells whether these bytes are that code, in a time that does not depend on
 * where they differ. */
static bool holds_code(const uint8_t *bytes, uint64_t code)
{
    uint8_t differ = 0;

    for (int i = 0; i < PACKET_MAC; i++)
        differ |= bytes[i] ^ (uint8_t)(code >> 8 * i);
    return differ == 0;
}

void wf_udp_write_code(weft_peer *p, const struct iovec *v, int n,
                       uint8_t *code)
{
    write_code(code_of(p, nonce_of_direction(p, true) ^ p->flow.number, v, n),
               code);
}

size_t wf_udp_check_packet(weft_peer *p, const struct wf_udp_packet *k,
                           uint8_t *bytes, size_t n)
{
    uint64_t number = wf_udp_flow_full_number(&p->flow, k->number);
    struct iovec v = {.iov_base = bytes, .iov_len = n - PACKET_MAC};

    if (!p->path.mac)
        return !p->path.check || wf_udp_packet_is_intact(bytes, n) ? n : 0;
    if (!(k->flags & UDP_MAC) || n < PACKET_HEAD + PACKET_MAC ||
        !holds_code(bytes + v.iov_len,
                    code_of(p, nonce_of_direction(p, false) ^ number, &v, 1)))
        return 0;
    return v.iov_len;
}

static uint64_t code_of_ids(weft_ep *ep, weft_loc *loc, const uint8_t *bytes,
                            size_t n)
{
    struct iovec v = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n};

    return wf_ip_mac64(key_of(ep, loc), NONCE_IDS, &v, 1);
}

size_t wf_udp_append_code_of_ids(weft_ep *ep, weft_loc *loc, uint8_t *bytes,
                                 size_t n)
{
    write_code(code_of_ids(ep, loc, bytes, n), bytes + n);
    return n + PACKET_MAC;
}

/* The caller has checked the checksum, which left zero in its field. */
bool wf_udp_are_ids_proved(weft_ep *ep, weft_loc *loc, const uint8_t *bytes,
                           size_t n)
{
    return !wf_udp_wants_code(ep) ||
           (n == PACKET_HEAD + PACKET_MAC &&
            holds_code(bytes + PACKET_HEAD,
                       code_of_ids(ep, loc, bytes, PACKET_HEAD)));
}
