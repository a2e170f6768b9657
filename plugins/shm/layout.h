/* The memory that two processes share: slots, credits, byte rings, bell pages.
 *
 *   segment of a pair (one memfd, made by the side that accepted)
 *     page 0    line of direction 0, line of direction 1, shares of both,
 *               first slots of both
 *     then      slots 0, slots 1, cells 0, cells 1    reserved at once
 *     then      first bulk 0, first bulk 1            reserved at first use
 *     then      bulk 0, bulk 1                        reserved when they follow
 *   Direction 0 carries what the dialler sends, direction 1 the answer.
 *
 *   slot, 64 bytes        word   8   stored last, with release
 *                         body  56   env0, env1, 40 bytes of payload; or the
 *                                    rest of a full header
 *   word      bits  0-31  first four bytes of the protocol header, unchanged
 *             bits 32-57  payload bytes (of the container, or of this chunk)
 *             bits 58-60  kind
 *             bits 61-63  wrap: the number, modulo 8, of the pass over the ring
 *                         that this slot belongs to; the first is 1, so that
 *                         fresh memory holds no message
 *
 * DESIGN  The wrap number in the slot says "new" by itself, so a short message
 * moves one cache line and neither side ever reads the other's index
 * (FastForward, Giacomoni et al. 2008). Version and length of a short header
 * are in the word, so that header and 40 bytes of payload fit in the line.
 * Payload above 40 bytes lies in a byte ring. Both sides compute its place from
 * the lengths alone, so no position is ever read from shared memory.
 *
 * A direction begins with a ring of few slots in page 0, which is all that most
 * pairs ever need. A sender that has filled it, or used it much, announces the
 * position (the start of a later pass) from which on it uses the large ring,
 * and both sides change there, once. In the same way it begins with a bulk ring
 * of few chunks, for which the large one follows at the position announced.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_LAYOUT_H
#define WF_SHM_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weft_assert.h"
#include "weft_transport.h"

enum {
    SHM_LINE = 128,       /* two cache lines: they are prefetched in pairs */
    SHM_INLINE = 40,      /* bytes of payload that fit in a slot */
    SHM_PAGE = 4096,      /* bytes of a page of memory */
    SHM_FIRST_SLOTS = 16, /* slots of the first ring of a direction */
    SHM_CHUNKS = 256,     /* chunks of a bulk ring, at most */
    SHM_FIRST_CHUNKS = 4, /* chunks of the first bulk ring, and the minimum: one
                             may be consumed but not yet returned, one skipped
                             at the end of the ring, and the next must fit */
    SHM_GAP = 512,        /* bytes behind a payload that ends within a page: as
                             far as processors fetch ahead */
    SHM_FETCHES = 8,      /* transfers that both sides work on at a time */
    SHM_BELL_BYTES = 2048 /* bytes of a bell page, one for each caller */
};

#define SHM_LEN_MAX ((1u << 26) - 1)

/* The kind of a slot. */
enum shm_kind {
    SHM_HEAD = 1, /* a container; its first chunk is inline or in a ring */
    SHM_DATA = 2, /* the next chunk of the container that is under way */
    SHM_BYE = 3,  /* the last slot that this side sends */
    SHM_HELP = 4, /* a request to copy a part of a transfer: direct.c */
    SHM_ASK = 5,  /* a request to push or write an offer: fetch.c */
    SHM_PIECE = 6 /* a piece of such a transfer: offer.c */
};

struct shm_slot {
    alignas(64) _Atomic uint64_t word;
    union {
        unsigned char body[56];
        uint64_t env[2];
    };
};
_Static_assert(sizeof(struct shm_slot) == 64, "a slot is one cache line");

/* The body of SHM_HELP. */
struct shm_help_body {
    uint64_t from, len; /* in the helper's memory */
    uint64_t id, at;    /* area of the asker, offset in it */
};

/* The body of SHM_ASK. */
struct shm_ask_body {
    uint64_t from, len; /* in the sender's memory */
    uint64_t id, to;    /* of the offer; in the receiver's memory */
};
_Static_assert(sizeof(struct shm_help_body) == 32 &&
                   sizeof(struct shm_ask_body) == 32 &&
                   sizeof(struct shm_ask_body) <=
                       sizeof((struct shm_slot *)0)->body,
               "no gaps, and in one slot");

/* The way of copying a chunk of a large payload into the ring: way.c. Cells are
 * always filled by a loop. */
enum shm_way {
    SHM_BY_MEMCPY,
    SHM_NONTEMPORAL,
    SHM_WAYS,
    SHM_BY_LOOP = SHM_WAYS
};
#define SHM_TIMED (1u << 8) /* added to a way: report the time of each chunk */

/* The counts of one direction. */
struct shm_line {
    /* The receiver writes, lazily, how much it has consumed. */
    alignas(SHM_LINE) _Atomic uint32_t slots;
    _Atomic uint32_t cells, bulk;
    _Atomic uint32_t way; /* how both are to copy: enum shm_way, SHM_TIMED */
    /* The sender sets this before it sleeps waiting for space. */
    alignas(SHM_LINE) _Atomic uint32_t waiting_for_space;
    /* The sender writes SHM_LARGE and the position of the first slot in the
     * large ring, before it publishes the slot in front of that position. */
    _Atomic uint64_t large;
    /* The sender writes SHM_LARGE and the position of the first byte in the
     * large bulk ring, before it publishes the slot that this byte belongs
     * to. */
    _Atomic uint64_t bulk_large;
};
#define SHM_LARGE (UINT64_C(1) << 32)

/* The counters of copies that both sides make. There is one such structure for
 * each direction, after both lines; its direction is that in which the asking
 * side, the receiver of the data, sends. */
struct shm_share {
    /* Operation and next piece of a transfer between areas: direct.c. */
    alignas(SHM_LINE) _Atomic uint64_t claim;
    /* The claims on transfers from an offer, by operation: claims.h. */
    _Atomic uint64_t claims[SHM_FETCHES];
    /* The receiver sets this while its program computes: the sender should
     * write rather than push. */
    _Atomic uint32_t away;
    /* The helper writes the operation and the number of pieces it has
     * copied. */
    alignas(SHM_LINE) _Atomic uint64_t done;
    /* The sender writes the operation and the number of pieces it has
     * written. */
    _Atomic uint64_t dones[SHM_FETCHES];
    _Atomic uint32_t writing; /* set while it writes the receiver's memory */
};
_Static_assert(sizeof(struct shm_line) == 2 * SHM_LINE &&
                   sizeof(struct shm_share) == 2 * SHM_LINE,
               "both sides have the same page 0");
enum {
    SHM_FIRST_AT = 2 * sizeof(struct shm_line) + 2 * sizeof(struct shm_share)
};
_Static_assert(SHM_FIRST_AT + 2 * SHM_FIRST_SLOTS * sizeof(struct shm_slot) <=
                   SHM_PAGE,
               "all fit in page 0");

/* The bell page: one per endpoint, mapped by all its peers. */
struct shm_page {
    /* SHM_ASLEEP, SHM_MANY, SHM_HELPER_THREAD and the count of sleeps */
    alignas(SHM_LINE) _Atomic uint32_t mode;
    alignas(SHM_LINE) _Atomic uint8_t rang[SHM_BELL_BYTES];
};
_Static_assert(sizeof(struct shm_page) <= SHM_PAGE, "one page");

enum {
    SHM_ASLEEP = 1u, /* write my eventfd, once per value of mode */
    SHM_MANY = 2u,   /* I do not poll every ring: set your byte, too */
    SHM_HELPER_THREAD =
        4u, /* the sleeper is a helper thread, whose program computes;
                         it is no program that waits */
    SHM_SLEEP_COUNT = 8u /* the count of sleeps starts at this bit */
};

/* The sizes of a segment; all are powers of two. */
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

/* Says whether a large bulk ring may follow the first one. */
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
    return SHM_FIRST_AT + (uint32_t)dir * SHM_FIRST_SLOTS * 64;
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
    return (bytes + 65535) & ~65535u; /* pages are 64 KB at most */
}

/* The part of a segment that is reserved when it is made. */
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

/* Says whether the slot holds a whole message: short header and payload. */
static inline bool shm_word_is_short(uint64_t w)
{
    return shm_little() && shm_word_kind(w) == SHM_HEAD &&
           (w >> 16 & WEFT_HDR_SHORT) && shm_word_len(w) <= SHM_INLINE;
}

/* The position of n bytes in a byte ring whose next free position is `at`.
 * Payloads are contiguous: an end of the ring that is too short is skipped. */
static inline uint32_t shm_place(uint32_t at, uint32_t n, uint32_t size)
{
    uint32_t in = at & (size - 1);
    return in + n > size ? at + (size - in) : at;
}

/* The bytes of a byte ring that a payload of n takes: whole lines, and a gap
 * behind it. A processor that copies a payload fetches lines beyond its end
 * ahead of time, within the same page, and takes them from the other side,
 * which is writing or reading the next payload there. */
static inline uint32_t shm_bytes_taken(uint32_t n)
{
    uint32_t lines = (n + 63) & ~63u;
    if (n < 2 * SHM_LINE) /* half of it is no line */
        return lines;
    uint32_t gap = n / 2 < SHM_GAP ? n / 2 & ~(SHM_LINE - 1u) : SHM_GAP;
    uint32_t in_page = -lines & (SHM_PAGE - 1);
    return lines + (gap < in_page ? gap : in_page);
}

#endif
