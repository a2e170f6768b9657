/* The 64-byte protocol header: layout, types and envelopes. Only files of
 * core/protocol know these offsets; plugins move the bytes.
 *
 *   off  0    1    2      4      8        16        24
 *       type ver  flags  plen   a/env0   b/env1    seq ...   short ends at 24
 *       24   28   32     40     48   52   56    58      59     60
 *       seq  ack  c      d      src  dst  check stream  epoch  crc
 *
 *   type       a               b            c                d
 *   EAGER      env0            env1         -                send_id if SYNC
 *   NOTIFY     env0            env1         message length   send_id
 *   APPROVE    -               recv_id      bytes granted    send_id
 *   TRANSFER   offset          recv_id      -                -
 *   FIN        status          -            -                send_id
 *   SYNC       -               -            -                send_id
 *   CANCEL     -               -            -                send_id
 *   CANCELLED  1 yes, 0 no     -            -                send_id
 *   CREDIT     -               -            bytes returned   -
 *   GONE       process         its key id   -                -
 *   UNMADE     origin          -            -                -
 *   ACTIVE     env0            env1         (active.h)       (active.h)
 *
 * Everything is little-endian on every machine. Ids are generation << 32 |
 * slot of the owner's table (slots.h).
 *
 * A short header (flag WEFT_HDR_SHORT) ends after env1: a plain eager message
 * on an ordered channel needs no more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WIRE_H
#define WF_WIRE_H

#include "base.h"
#include "group/envelope.h"
#include "os/byte_order.h"

enum wf_wire_type {
    WF_EAGER = 0x01,
    WF_NOTIFY = 0x02,
    WF_APPROVE = 0x03,
    WF_TRANSFER = 0x04,
    WF_FIN = 0x05,
    WF_ACK = 0x06,
    WF_SYNC = 0x07,
    WF_CANCEL = 0x08,
    WF_CANCELLED = 0x09,
    WF_CREDIT = 0x0a,
    WF_GONE = 0x0b,      /* the sender has lost that process: death.c */
    WF_UNMADE = 0x0c,    /* the sender failed to make that communicator */
    WF_ACTIVE = 0x0d,    /* to the handler of its space: active.h */
    WF_PING = 0x23,      /* probe of an ordered pair (order.h) */
    WF_PONG = 0x24,      /* answer to a PING */
    WF_SEALED = 0x25,    /* the payload is an encrypted container: seal.h */
    WF_SEQUENCED = 0x40, /* a bit: seq, ack, check, epoch and crc are set */
    WF_CHECKED = 0x80    /* a bit: seq and crc are checksums (checked.h) */
    /* 0xf0 and above belong to plugins' own framing */
};

enum wf_wire_flags {
    WF_FLAG_SYNC = 1u << 0,  /* answer SYNC when matched */
    WF_FLAG_READY = 1u << 1, /* sent in ready mode */
    WF_FLAG_RKEY = 1u << 2,  /* payload says where the receiver may pull */
    WF_FLAG_LAST = 1u << 3,  /* the last TRANSFER of its message */
    WF_FLAG_STRIPED = 1u << 4 /* the pair sends by several carriers at once */
};

enum { WF_WIRE_VERSION = 1 };
enum { WF_CONTROL_MAX = 256 }; /* bytes of payload of a control message */

/* The first word of a plain eager message with a short header, without the
 * payload's length, which belongs into its upper half. */
#define WF_SHORT_EAGER                                                         \
    ((uint64_t)WF_EAGER | WF_WIRE_VERSION << 8 | WEFT_HDR_SHORT << 16)

struct wf_wire {
    uint8_t type, ver;
    uint16_t flags;
    uint32_t plen;
    uint64_t a, b;
    uint32_t seq, ack;
    uint64_t c, d;
    uint32_t src, dst;
    uint16_t check;
    uint8_t stream, epoch;
    uint32_t crc;
};
_Static_assert(sizeof(struct wf_wire) == WEFT_HDR, "header is 64 bytes");
_Static_assert(offsetof(struct wf_wire, plen) == 4, "plen at 4");
_Static_assert(offsetof(struct wf_wire, a) == 8, "env0 at 8");
_Static_assert(offsetof(struct wf_wire, seq) == WEFT_HDR_MIN, "short is 24");
_Static_assert(offsetof(struct wf_wire, c) == 32, "c at 32");
_Static_assert(offsetof(struct wf_wire, src) == 48, "src at 48");
_Static_assert(offsetof(struct wf_wire, crc) == 60, "crc at 60");

/* Read a word of a header. Headers are written and read by words: a processor
 * that reads a larger piece than was written must wait for its store buffer. */
static inline uint64_t wf_wire_word(const void *hdr, int i)
{
    uint64_t word;

    memcpy(&word, (const char *)hdr + 8 * i, 8);
    return wf_le64(word);
}

/* Write a word of a header. */
static inline void wf_wire_set_word(void *hdr, int i, uint64_t word)
{
    word = wf_le64(word);
    memcpy((char *)hdr + 8 * i, &word, 8);
}

/* The part of the last header word that is checksummed: not the checksums. */
#define WF_WIRE_LAST_SUMMED UINT64_C(0xffff0000)

#endif
