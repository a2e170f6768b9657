/* Packets on the wire.
 *
 *   0  type          1 version      2 flags       4 to: the receiver's link id
 *   8  number        of this packet, never used twice on a link;
 *                    in HELLO and ANSWER: the sender's link id
 *  12  check         CRC-32C over everything else, where flag CHECK is set
 *  16  next          stream bytes received without a gap
 *  24  seen          highest packet number received
 *  28  room          stream bytes beyond next that will be taken
 *  32  offset        of the data in the stream
 *  40  [sack]        flag SACK: 4 words; bit i: packet seen-1-i has come
 *      data, or, where flag PAD is set, nothing of meaning
 *      [code]        flag MAC: 8 bytes that prove the packet (seal.c);
 *                    in HELLO and ANSWER the flag says that it is wanted
 *
 * Flag DRAINED: the sender had just found its sockets empty. Packets that were
 * sent to it well before this one, and that it does not acknowledge, are lost.
 *
 * All little-endian. Numbers are 32 bits of 64: the receiver knows the rest.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_UDP_PACKET_H
#define WF_UDP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    PACKET_HEAD = 40,
    SACK_WORDS = 4,
    PACKET_MAX = PACKET_HEAD + 32, /* of the header */
    PACKET_MAC = 8
};

enum wf_udp_type {
    UDP_HELLO = 1,
    UDP_ANSWER,
    UDP_PROOF,
    UDP_ACCEPT,
    UDP_DATA,
    UDP_ACK,
    UDP_RESET /* number: the link id that nobody has */
};

enum {
    UDP_ACK_NOW = 1,
    UDP_SACK = 2,
    UDP_CHECK = 4,
    UDP_MAC = 8,
    UDP_PAD = 16,
    UDP_DRAINED = 32
};

struct wf_udp_packet {
    uint8_t type;
    uint16_t flags;
    uint32_t to, number, seen, room;
    uint64_t next, offset, sack[SACK_WORDS];
};

/* Returns the bytes written: PACKET_HEAD or PACKET_MAX. */
size_t wf_udp_packet_pack(const struct wf_udp_packet *, uint8_t *out);
/* Returns the bytes of the header, 0: this is no packet of ours. */
size_t wf_udp_packet_unpack(struct wf_udp_packet *, const uint8_t *in,
                            size_t n);

/* The checksum covers the header and the data. */
void wf_udp_packet_seal(uint8_t *head, size_t n, const struct iovec *,
                        int count);
bool wf_udp_packet_intact(uint8_t *packet, size_t n);
uint32_t wf_udp_crc32c(uint32_t crc, const void *data, size_t n);

/* The number closest to `near` with these low bits. */
static inline uint64_t wf_udp_packet_number(uint64_t near, uint32_t low)
{
    return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

#endif
