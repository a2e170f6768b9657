/* The two directions of a pair, as one side sees them, and the memory that they
 * lie in. layout.h has the memory itself.
 *
 *   segment.c  makes the memory, and changes to larger rings
 *   copy.c     copies large payloads        way.c  and in which way
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHM_DIRECTION_H
#define WF_SHM_DIRECTION_H

#include <errno.h>
#include <string.h>

#include "layout.h"

#define shm_likely(x)   __builtin_expect(!!(x), 1)
#define shm_unlikely(x) __builtin_expect(!!(x), 0)
#define SHM_COLD        __attribute__((cold, noinline))

/* The words of a header are little-endian in memory. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define shm_le64(x) (x)
#else
#define shm_le64(x) __builtin_bswap64(x)
#endif

struct shm_config;

#define SHM_NEVER_LARGE UINT32_MAX /* of shm_out.ahead */

/* One byte ring as one side sees it. Positions only ever grow. */
struct shm_bytes {
    unsigned char *base;
    uint32_t size;
    uint32_t at;   /* next position */
    uint32_t tail; /* sender: consumed as far as known; receiver: returned */
};

/* The way of copying that the receiver has chosen, and its trials: way.c. */
struct shm_choice {
    enum shm_way way;        /* in use */
    unsigned round;          /* of the trial; ROUNDS: no trial */
    int64_t left, rest;      /* bytes until the next trial; between two */
    uint64_t bytes, ns;      /* counted in this round */
    uint64_t best[SHM_WAYS]; /* ns per MB */
};

/* The sending direction of a pair. */
struct shm_out {
    struct shm_slot *slots, *end;
    struct shm_slot *next; /* of slots: the one for position shm_head */
    uint64_t word;         /* of a HEAD in next: its kind and wrap */
    uint32_t mask;         /* slots of the ring, less 1 */
    uint32_t start;        /* position of slots[0]; positions only ever grow */
    uint32_t tail;         /* position of the first slot that may be in use */
    uint64_t large;        /* the value of line->large */
    /* The slots before this one are free for wf_shm_send_words, without any
     * other check. At this one, and where it is NULL, it checks everything. */
    struct shm_slot *fast_end;
    struct shm_line *line;
    struct shm_share *share;
    struct shm_page *page; /* the peer's */
    struct shm_bytes cells, bulk;
    uint32_t reserved;      /* bytes of bulk that have their pages */
    uint32_t ahead;         /* bytes of the large bulk ring that have theirs;
                               SHM_NEVER_LARGE: it does not follow */
    uint32_t full_at;       /* the newest position at which bulk had no room */
    uint32_t waits;         /* the number of such positions */
    uint32_t full_polls;    /* polls for room there */
    enum shm_way way;       /* of copying into bulk */
    bool timed;             /* the receiver wants to know how long that takes */
    weft_tx *tx;            /* the container under way, if any */
    uint64_t off;           /* bytes of it already in the ring */
    bool begun;             /* its head is in the ring */
    bool want;              /* the core waits for tx_ready */
    bool waiting_for_space; /* line->waiting_for_space is set */
    bool bye;               /* SHM_BYE was sent */
    bool fence;             /* a store-load fence must follow every message */
};

/* Reads and writes out->next, which a receiver compares with an earlier value
 * while another thread may be sending. */
#ifndef __SANITIZE_THREAD__
#define shm_read_next(out)     ((out)->next)
#define shm_write_next(out, s) ((void)((out)->next = (s)))
#else
#define shm_read_next(out) __atomic_load_n(&(out)->next, __ATOMIC_RELAXED)
#define shm_write_next(out, s)                                                 \
    __atomic_store_n(&(out)->next, (s), __ATOMIC_RELAXED)
#endif

/* The position of the next slot. */
static inline uint32_t shm_head(const struct shm_out *out)
{
    return out->start + (uint32_t)(out->next - out->slots);
}

/* The receiving direction of a pair. */
struct shm_in {
    struct shm_slot *slots, *end;
    struct shm_slot *next; /* of slots: the one for position head */
    uint32_t mask, head, returned;
    uint32_t wrap; /* of the slot at head */
    struct shm_line *line;
    struct shm_share *share;
    struct shm_bytes cells, bulk;
    struct shm_choice choice;
    uint64_t since;    /* ns, when the container is timed; else 0 */
    weft_sink *sink;   /* of the container under way; NULL: discard it */
    uint64_t off, len; /* bytes seen, bytes in all; equal: none under way */
    /* The number of short messages received in a row while this side sent
     * nothing, and the value of out.next meanwhile. */
    uint32_t short_run;
    const struct shm_slot *silent_at;
    /* The value of out.next when the last answer was polled for; the pauses
     * before the first poll for the next one; and the answers in a row that
     * this first poll has found: receive.c. */
    const struct shm_slot *asked_at;
    uint8_t pre_poll_pauses, prompt_answers;
    bool taking_slot; /* the slot at head is being taken */
    bool paused;      /* the core answered EAGAIN */
    bool bye;         /* SHM_BYE was received */
    bool eof;         /* the socket has closed */
};

/* ---- segment.c: memory that cannot fault under its users ---- */

int wf_shm_make_memory(const char *name, size_t bytes, size_t reserve);
/* The WEFT_* status of a link that a shortage of this process prevents. */
static inline int wf_shm_shortage_status(int err)
{
    return err == ENOMEM || err == ENOSPC ? WEFT_ENOMEM : WEFT_ESYS;
}
void *wf_shm_map_memory(int fd, size_t bytes);
bool wf_shm_is_memory_ok(int fd, size_t bytes);
bool wf_shm_geometry_ok(const struct shm_geometry *);
struct shm_geometry wf_shm_geometry(const struct shm_config *,
                                    uint32_t local_count, bool oversubscribed);
int wf_shm_attach(weft_peer *, int fd, const struct shm_geometry *, int side);
void wf_shm_detach(weft_peer *);
/* Touches the pages of slots and cells, of both directions. */
void wf_shm_populate_segment(weft_peer *);
/* Touches the pages of the cells that are about to be used. The receiver then
 * gets all of them by its first access. */
void wf_shm_populate_cells(const struct shm_out *);
/* Announces that the large ring will follow the first one. */
void wf_shm_announce_large_ring(weft_peer *);
/* Goes on at the start of the ring, or of the large ring if it follows. */
void wf_shm_wrap_out(weft_peer *);
void wf_shm_wrap_in(weft_peer *);
bool wf_shm_reserve_bulk(weft_peer *, uint32_t n);
bool wf_shm_grow_bulk(weft_peer *, uint64_t n);
unsigned char *wf_shm_take_bulk(weft_peer *, uint32_t n);

/* ---- copy.c: large payloads ---- */

void wf_shm_copy(void *to, const void *from, size_t n);
void wf_shm_copy_plain(void *to, const void *from, size_t n);
void wf_shm_copy_nontemporal(void *to, const void *from, size_t n);

/* Copies a payload into the bulk ring in the given way. */
static inline void shm_copy_in(enum shm_way way, void *to, const void *from,
                               size_t n)
{
    if (way == SHM_BY_LOOP)
        wf_shm_copy(to, from, n);
    else if (way == SHM_NONTEMPORAL)
        wf_shm_copy_nontemporal(to, from, n);
    else
        memcpy(to, from, n);
}
uint64_t wf_shm_ring_bytes(uint32_t local_count, bool oversubscribed);

/* ---- way.c: the way in which both sides copy them ---- */

void wf_shm_way_init(struct shm_in *);
void wf_shm_way_count_message(struct shm_in *, uint64_t len);
uint32_t wf_shm_way_pack_time(enum shm_way, uint64_t ns);
void wf_shm_way_add_time(struct shm_in *, uint32_t copy_info, uint64_t n,
                         uint64_t ns);

/* Says whether a slot carries the time that the sender's copy took. */
static inline bool shm_is_copy_timed(uint32_t copy_info)
{
    return shm_unlikely(copy_info >= SHM_WAYS);
}

#endif
