/* What two processes share: slots, credits, byte rings, and the bell page.
 *
 *   segment of a pair (one memfd, made by the side that accepted)
 *     page 0    line of direction 0, line of direction 1, shares of both,
 *               first slots of both
 *     then      slots 0, slots 1, cells 0, cells 1        reserved at once
 *     then      first bulk 0, first bulk 1                reserved at first use
 *     then      bulk 0, bulk 1                            reserved when they follow
 *   Direction 0 carries what the dialler sends, direction 1 the answer.
 *
 *   slot, 64 bytes        word   8   stored last, with release
 *                         body  56   env0, env1, 40 bytes of payload; or the
 *                                    rest of a full header
 *   word      bits  0-31  first four bytes of the protocol header, unchanged
 *             bits 32-57  payload bytes (of the container, or of this chunk)
 *             bits 58-60  kind
 *             bits 61-63  lap: which turn of the ring this slot belongs to;
 *                         the first is 1, so that fresh memory has no message
 *
 * DESIGN  The lap tag in the slot says "new" by itself, so a short message
 * moves one cache line and neither side ever reads the other's index
 * (FastForward, Giacomoni et al. 2008). Version and length of a short header
 * are in the word, so that header and 40 bytes of payload fit in the line.
 * Payload above 40 bytes lies in a byte ring; where, both sides compute from
 * the lengths alone, so no position is ever read from shared memory.
 *
 * A direction begins with a ring of few slots in page 0, which is all that most
 * pairs ever need. A sender that has filled it, or used it much, announces the
 * position, a later turn of that ring, from which on it uses the large ring, and
 * both sides change there, once. In the same way it begins with a bulk ring of few
 * chunks, for which the large one follows at the position announced.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_LAYOUT_H
#define WF_SHM_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weft_transport.h"

enum {
    SHM_LINE = 128, /* two cache lines: the neighbour is prefetched with it */
    SHM_INLINE = 40,
    SHM_PAGE = 4096,
    SHM_FIRST = 16, /* slots of the ring to begin with */
    SHM_CHUNKS = 256, /* at most, per direction, */
    SHM_FIRST_CHUNKS = 4, /* to begin with, and at least: room may be withheld up to one, skipped
                             at the end of a turn up to one, and the next must fit */
    SHM_FETCHES = 8,  /* transfers that both sides work on at a time */
    SHM_RANG = 2048   /* callers a bell page can tell apart */
};

#define SHM_LEN_MAX ((1u << 26) - 1)

enum shm_kind {
    SHM_HEAD = 1, /* a container; its first chunk is inline or in a ring */
    SHM_DATA = 2, /* the next chunk of the container that is under way */
    SHM_BYE = 3,  /* the last thing that this side sends */
    SHM_HELP = 4, /* copy with me: direct.c */
    SHM_ASK = 5,  /* push or write what you have offered: fetch.c */
    SHM_PIECE = 6 /* some of it: offer.c */
};

struct shm_slot {
    alignas(64) _Atomic uint64_t word;
    union {
        unsigned char body[56];
        uint64_t env[2];
    };
};
_Static_assert(sizeof(struct shm_slot) == 64, "a slot is one cache line");

/* How a chunk of a large payload is copied into the ring: way.c. Into cells: by a
 * loop. */
enum shm_way { SHM_BY_MEMCPY, SHM_AROUND, SHM_WAYS, SHM_BY_LOOP = SHM_WAYS };
#define SHM_TIMED (1u << 8) /* beside one: and say how long each chunk takes */

/* One per direction. */
struct shm_line {
    /* Written by the receiver, lazily: how much it has consumed so far. */
    alignas(SHM_LINE) _Atomic uint32_t slots;
    _Atomic uint32_t cells, bulk;
    _Atomic uint32_t way; /* enum shm_way, SHM_TIMED: how both are to copy */
    /* Written by the sender before it sleeps: it waits for room. */
    alignas(SHM_LINE) _Atomic uint32_t waiting_for_space;
    /* Written by the sender: SHM_LARGE and the position of the first slot in
     * the large ring. Before the slot before that one is published. */
    _Atomic uint64_t large;
    /* The same of the large bulk ring: SHM_LARGE and the position of the first byte
     * in it. Before the slot that this byte belongs to. */
    _Atomic uint64_t bulk_large;
};
#define SHM_LARGE (UINT64_C(1) << 32)

/* One per direction, after both lines: copies that both sides make. The
 * direction is that of the receiver, who asks. */
struct shm_share {
    /* Operation and next piece; written by whoever takes one. */
    alignas(SHM_LINE) _Atomic uint64_t claim;
    /* The same for memory that is not mapped: claims.h. By operation. */
    _Atomic uint64_t claims[SHM_FETCHES];
    _Atomic uint32_t away; /* receiver: I compute, write rather than push */
    /* Operation and pieces that the helper has copied; it writes. */
    alignas(SHM_LINE) _Atomic uint64_t done;
    /* Operation and pieces that the sender has written; it writes. */
    _Atomic uint64_t dones[SHM_FETCHES];
    _Atomic uint32_t writing; /* sender: I am in the receiver's memory */
};
enum {
    SHM_FIRST_AT = 2 * sizeof(struct shm_line) + 2 * sizeof(struct shm_share)
};
_Static_assert(SHM_FIRST_AT + 2 * SHM_FIRST * sizeof(struct shm_slot) <=
                   SHM_PAGE,
               "all fit in page 0");

/* One per endpoint, mapped by all its peers. */
struct shm_page {
    alignas(SHM_LINE) _Atomic uint32_t mode; /* SHM_ASLEEP | SHM_MANY | nap */
    alignas(SHM_LINE) _Atomic uint8_t rang[SHM_RANG];
};
_Static_assert(sizeof(struct shm_page) <= SHM_PAGE, "one page");

enum {
    SHM_ASLEEP = 1u, /* write my eventfd, once per value of mode */
    SHM_MANY = 2u,   /* I do not look at every ring: set your byte too */
    SHM_STANDIN = 4u, /* who sleeps is no program that waits, but a thread
                         that stands in for one that computes */
    SHM_NAP = 8u     /* the count of sleeps starts at this bit */
};

/* Sizes of a segment; all are powers of two. */
struct shm_geometry {
    uint32_t slots; /* per direction, of the large ring */
    uint32_t cells; /* bytes per direction for payloads up to a quarter */
    uint32_t chunk; /* bytes of one step of a large payload */
    uint32_t chunks;
};

static inline uint32_t shm_bulk_bytes(const struct shm_geometry *g)
{
    return g->chunk * g->chunks;
}

static inline uint32_t shm_first_bulk_bytes(const struct shm_geometry *g)
{
    return g->chunk * SHM_FIRST_CHUNKS;
}

/* Does a large bulk ring follow the first one? */
static inline bool shm_bulk_follows(const struct shm_geometry *g)
{
    return g->chunks > SHM_FIRST_CHUNKS;
}

static inline uint32_t shm_cell_max(const struct shm_geometry *g)
{
    return g->cells / 4;
}

static inline uint32_t shm_first_at(int dir)
{
    return SHM_FIRST_AT + (uint32_t)dir * SHM_FIRST * 64;
}

static inline uint32_t shm_slots_at(const struct shm_geometry *g, int dir)
{
    return SHM_PAGE + (uint32_t)dir * g->slots * 64;
}

static inline uint32_t shm_cells_at(const struct shm_geometry *g, int dir)
{
    return SHM_PAGE + 2 * g->slots * 64 + (uint32_t)dir * g->cells;
}

static inline uint32_t shm_whole_pages(uint32_t bytes)
{
    return (bytes + 65535) & ~65535u; /* of any size there is */
}

/* What lies behind is reserved only when it is needed. */
static inline uint32_t shm_reserved_bytes(const struct shm_geometry *g)
{
    return shm_whole_pages(shm_cells_at(g, 2));
}

static inline uint32_t shm_first_bulk_at(const struct shm_geometry *g, int dir)
{
    return shm_reserved_bytes(g) + (uint32_t)dir * shm_first_bulk_bytes(g);
}

static inline uint32_t shm_bulk_at(const struct shm_geometry *g, int dir)
{
    return shm_whole_pages(shm_first_bulk_at(g, 2)) +
           (uint32_t)dir * shm_bulk_bytes(g);
}

static inline uint32_t shm_segment_bytes(const struct shm_geometry *g)
{
    return shm_bulk_follows(g) ? shm_bulk_at(g, 2) : shm_first_bulk_at(g, 2);
}

static inline uint64_t shm_word(uint32_t first, uint32_t len, unsigned kind,
                                uint32_t wrap)
{
    return first | (uint64_t)len << 32 | (uint64_t)kind << 58 |
           (uint64_t)wrap << 61;
}

static inline uint32_t shm_word_first(uint64_t w)
{
    return (uint32_t)w;
}

static inline uint32_t shm_word_len(uint64_t w)
{
    return (uint32_t)(w >> 32) & SHM_LEN_MAX;
}

static inline unsigned shm_word_kind(uint64_t w)
{
    return (unsigned)(w >> 58) & 7;
}

/* The first eight bytes of a header and the word of its slot are the same but
 * for six bits of the length, on little-endian machines. */
#define SHM_WORD_HEADER ((UINT64_C(1) << 58) - 1)

#define SHM_WORD_LEN ((uint64_t)SHM_LEN_MAX << 32)

static inline bool shm_little(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* A whole message in the slot: short header, payload behind it. */
static inline bool shm_word_is_short(uint64_t w)
{
    return shm_little() && shm_word_kind(w) == SHM_HEAD &&
           (w >> 16 & WEFT_HDR_SHORT) && shm_word_len(w) <= SHM_INLINE;
}

/* Where n bytes go in a byte ring whose next free position is `at`: payloads
 * are contiguous, the rest of a turn is skipped when it is too short. */
static inline uint32_t shm_place(uint32_t at, uint32_t n, uint32_t size)
{
    uint32_t in = at & (size - 1);
    return in + n > size ? at + (size - in) : at;
}

static inline uint32_t shm_round_to_lines(uint32_t n)
{
    return (n + 63) & ~63u;
}

#endif
