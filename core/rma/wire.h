/* The messages of one-sided communication: active messages (protocol/active.h)
 * in the space WF_SPACE_RMA.
 *
 *   word   kind 5 | flags 5 | operation 8 | basic type 10 | 0
 *   c      PUT .. CAS: place of the data in the window, in bytes from its base,
 *          or an address in a dynamic one; TYPE: words of the description;
 *          ACK, FAIL: an error class; KEY: the window's address
 *   d      GET .. CAS, RESULT, FAIL: id of the operation at its origin;
 *          FLUSH, UNLOCK, ACK: number of the question; TYPE: first word
 *          KEY: WEFT_ACCESS_*
 *   payload   PUT .. CAS, RESULT: an extent, unless WHOLE, and data;
 *          TYPE: words; LIST: messages; KEY: name of the plugin, key
 *
 * Small messages share a container, a LIST. Each begins at a multiple of 8:
 *
 *   0  word 32 | bytes of the payload 32
 *   8  c
 *   16 d
 *   24 payload, to a multiple of 8
 *
 *   PUT, ACC, GET, GET_ACC, CAS    origin -> target
 *   TYPE, FLUSH, UNLOCK, COMPLETE  origin -> target
 *   EXPOSE                         origin -> target
 *   RESULT, ACK, FAIL, POST, KEY   target -> origin
 *   LIST                           both ways
 *
 * Everything is little-endian on every machine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_WIRE_H
#define WF_RMA_WIRE_H

#include "base.h"

enum wf_rma_kind {
    WF_RMA_PUT = 1,
    WF_RMA_ACC,
    WF_RMA_GET,
    WF_RMA_GET_ACC,
    WF_RMA_CAS,
    WF_RMA_TYPE,
    WF_RMA_FLUSH,
    WF_RMA_UNLOCK,
    WF_RMA_COMPLETE,
    WF_RMA_RESULT,
    WF_RMA_ACK,
    WF_RMA_FAIL,
    WF_RMA_POST,
    WF_RMA_LIST,
    WF_RMA_EXPOSE,
    WF_RMA_KEY
};

enum wf_rma_flags {
    WF_RMA_LOCK_SHARED = 1u << 5, /* asks for the lock first */
    WF_RMA_LOCK_EXCLUSIVE = 1u << 6,
    WF_RMA_BY_MESSAGE = 1u << 7, /* the data are a message of their own */
    WF_RMA_TYPED = 1u << 8,      /* the place is described by the last TYPE */
    WF_RMA_WHOLE = 1u << 9 /* no extent: the data are all of the operation */
};

static inline enum wf_rma_kind wf_rma_kind_of(uint32_t word)
{
    return (enum wf_rma_kind)(word & 31);
}

static inline uint32_t wf_rma_op_of(uint32_t word)
{
    return word >> 10 & 0xff;
}

static inline uint32_t wf_rma_type_of(uint32_t word)
{
    return word >> 18 & 0x3ff;
}

/* Three words in front of the data. */
struct wf_rma_extent {
    uint64_t
        offset;     /* of this piece in the operation's data; BY_MESSAGE: tag */
    uint64_t bytes; /* of the operation */
    uint64_t count; /* TYPED: elements */
};

enum {
    WF_RMA_EXTENT = sizeof(struct wf_rma_extent),
    WF_RMA_ENTRY = 24,       /* bytes in front of a payload in a LIST */
    WF_RMA_LISTED = 1024,    /* most bytes of a payload in a LIST */
    WF_RMA_LIST_FULL = 4096, /* bytes with which a LIST leaves at the latest */
    WF_RMA_LIST_ROOM = WF_RMA_LIST_FULL + WF_RMA_ENTRY + WF_RMA_LISTED,
    WF_RMA_INLINE = 8192, /* most bytes of a put or get beside its header */
    WF_RMA_CHUNK = 32768, /* bytes of a piece of an accumulate */
    WF_RMA_EARLY = 8192,  /* bytes sent before the lock is known to be held */
    WF_RMA_KEPT_MOST = 8 * WF_RMA_EARLY, /* bytes kept for one that waits */
    WF_RMA_IN_FLIGHT = 8 * WF_RMA_CHUNK, /* bytes that wait in the transport */
    WF_RMA_TAG_RESULT = 0x40000000       /* a bit of the tag of what was read */
};

#endif
