/* The packets on the wire.
 *
 *   0  type          1 version      2 flags       4 to: the receiver's link id
 *   8  number        of this packet, never used twice on a link;
 *                    in HELLO and ANSWER: the sender's link id
 *  12  check         CRC-32C over everything else, where flag CHECK is set
 *  16  next          stream bytes received without a gap
 *  24  seen          highest packet number received
 *  28  room          stream bytes beyond next that will be accepted
 *  32  offset        of the data in the stream
 *  40  [sack]        flag SACK: 4 words; bit i: packet seen-1-i has come
 *      data, or, where flag PAD is set, padding without meaning
 *      [code]        flag MAC: 8 bytes that authenticate the packet (seal.c);
 *                    in HELLO and ANSWER the flag says that they are wanted
 *
 * Flag ACK_NOW: the receiver is to acknowledge the packet at once.
 *
 * Flag DRAINED: the sender had just found its sockets empty. Packets that were
 * sent to it well before this one, and that it does not acknowledge, are lost.
 *
 * All fields are little-endian. Packet numbers have 64 bits, of which 32
 * travel: the receiver infers the rest.
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
    PACKET_HEAD = 40, /* bytes of the shortest header */
    SACK_WORDS = 4,
    PACKET_MAX = PACKET_HEAD + 32, /* bytes of the longest header */
    PACKET_MAC = 8                 /* bytes of the code */
};

enum wf_udp_type {
    UDP_HELLO = 1,
    UDP_ANSWER,
    UDP_PROOF,
    UDP_ACCEPT,
    UDP_DATA,
    UDP_ACK,
    UDP_RESET /* number: the link id that belongs to no link */
};

enum { /* flags */
       UDP_ACK_NOW = 1,
       UDP_SACK = 2,
       UDP_CHECK = 4,
       UDP_MAC = 8,
       UDP_PAD = 16,
       UDP_DRAINED = 32
};

/* The header of a packet, decoded. */
struct wf_udp_packet {
    uint8_t type;
    uint16_t flags;
    uint32_t to, number, seen, room;
    uint64_t next, offset, sack[SACK_WORDS];
};

/* Encodes a header. Returns the bytes written: PACKET_HEAD or PACKET_MAX. */
size_t wf_udp_packet_pack(const struct wf_udp_packet *, uint8_t *out);
/* Decodes a header. Returns its bytes; 0: no packet of this protocol. */
size_t wf_udp_packet_unpack(struct wf_udp_packet *, const uint8_t *in,
                            size_t n);

/* Writes the checksum over header and data into the header. */
void wf_udp_packet_set_checksum(uint8_t *head, size_t n, const struct iovec *,
                        int count);
/* Tells whether the packet has a checksum, and it is right. Leaves zero in its
 * place. */
bool wf_udp_packet_is_intact(uint8_t *packet, size_t n);
uint32_t wf_udp_crc32c(uint32_t crc, const void *data, size_t n);

/* Returns the number closest to `near` that has these low 32 bits. */
static inline uint64_t wf_udp_packet_full_number(uint64_t near, uint32_t low)
{
    return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

#endif
