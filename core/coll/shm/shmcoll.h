/* Shared-memory collectives: small collectives of processes that share a node,
 * on flag lines in a segment that all members have mapped.
 *
 *   head | rank 0: counters, flag lines | rank 1 ... | blocks | broadcast pool
 *                           |
 *                           flag word: call number 32 | way 2 | bytes 30
 *                           up to 48 bytes of data
 *
 * After some blocking collectives on a communicator its members map one segment
 * (setup.c). From then on a blocking collective has a number there, the same on
 * all members. A member that contributes writes its flag line: data first, then
 * the flag word. A member that needs the contribution waits for the flag word.
 * A barrier or an allreduce of 8 bytes is one line from each to each; there is
 * no message, no matching and no schedule.
 *
 * DESIGN  Larger contributions lie in a block beside the lines. A call whose
 * contributions do not fit there either goes chunk by chunk through the staging
 * ring (staging.h), or runs as a schedule, as without shared memory. Members
 * may disagree on whether it fits, by mistake or because only some know all
 * counts; so the flag word names the way that its writer takes:
 *
 *   all to all    one line that says "schedule" makes a schedule of the call
 *   from a root   the root's line decides
 *   to a root     a member that wants a schedule waits for the root's line,
 *                 which says so if all want one, and is written after the
 *                 lines of all others have been read
 *
 * Therefore different counts are found as in a schedule, and no member waits
 * for something that another does not do. The length in the line is compared
 * with the length that the reader expects; nothing read from the segment is
 * used as a position without a check. Reductions bracket as the schedules do:
 * the same bits either way.
 *
 * Lines and blocks are used in turn, and again when every member has published
 * that it completed the earlier call, which the line of its next call implies
 * as well. Where ranks outnumber CPUs there are many lines: a member that only
 * contributes goes on until it must wait for that, and each wait costs a turn
 * of the run queue. There, and in scans, blocks are cut into as many pieces as
 * there are lines, and a contribution that fits a piece takes that of its call:
 *
 *   call        0   1  ...  b - 1 | b   b + 1  ...      b: number of blocks
 *   block       0   1  ...  b - 1 | 0     1
 *   piece of it 0   0  ...    0   | 1     1
 *
 * A piece is used again after as many calls as a line, too, but not before all
 * have completed the newest call that used the whole block. Elsewhere few lines
 * and blocks stay in the cache.
 *
 * Waiting (wait.c) polls the flag word for a moment, and then waits as any
 * other call: the engine is driven meanwhile, and a member that sleeps names
 * the rank that it waits for, so that this rank wakes it.
 *
 * LOCK  state of this process: the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_H
#define WF_SHMCOLL_H

#include "coll/coll.h"
#include "coll/shm/tuning.h"
#include "coll/shm/wait.h"
#include "os/race_notes.h"

struct wf_instance;

enum {
    /* least number of a member's chunks in the staging ring */
    WF_SHMCOLL_CHUNKS_MIN = 3,
    /* calls without a line that a member may be ahead; see
     * wf_shmcoll_is_reached */
    WF_SHMCOLL_CALLS_AHEAD = 1 << 14,
    WF_SHMCOLL_INLINE_BYTES = 48, /* bytes of data in a line */
    /* blocks of the broadcast pool: coll/bcast_pool.c */
    WF_BCAST_POOL_BLOCKS = 64,
    WF_BCAST_POOL_BLOCK_BYTES = 128 << 10,
    WF_BCAST_POOL_BYTES = WF_BCAST_POOL_BLOCKS * WF_BCAST_POOL_BLOCK_BYTES
};
/* The way of its writer, in a flag word: a schedule, or the staging ring. */
#define WF_SHMCOLL_FLAG_SCHEDULE (1u << 31)
#define WF_SHMCOLL_FLAG_STAGED   (1u << 30)

/* A flag line. */
struct wf_shmcoll_line {
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 flag;
    _Alignas(16) unsigned char data[WF_SHMCOLL_INLINE_BYTES];
};

/* The part of the segment that one member writes; but wake_request_rank is also
 * reset by the member that wakes it, and sleepers counted by those. */
struct wf_shmcoll_member {
    /* the newest call that the member has completed, << 32 */
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 last_completed_call;
    /* the member sleeps; 1 + rank of the one that is to wake it */
    wf_atomic_u32 wake_request_rank;
    /* number of members that sleep until this one has stored a word */
    wf_atomic_u32 sleepers;
    /* the member does not use the segment: set-up failed, or it left */
    wf_atomic_u32 no_shm;
    /* Call number << 32 | chunks of the staging ring that this member has
     * published, and chunks of others that it has consumed. */
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 chunks_published;
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 chunks_consumed;
    struct wf_shmcoll_line line[WF_SHMCOLL_LINES_MAX];
};

/* The beginning of the segment that all members map. */
struct wf_shmcoll_segment {
    /* one bit for each block of the pool */
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 pool_blocks_taken;
    wf_atomic_u32 pool_readers[WF_BCAST_POOL_BLOCKS];
    struct wf_shmcoll_member members[];
};

/* The places for contributions of a member. */
struct wf_shmcoll_places {
    uint32_t lines, blocks; /* that are used in turn; powers of two */
    uint32_t piece_bytes;   /* of a block; 0: blocks are used whole */
};

/* The state of a communicator's shared-memory collectives in one member. */
struct wf_shmcoll {
    struct wf_comm *comm;
    struct wf_shmcoll_segment *shared;
    unsigned char *blocks;
    size_t segment_bytes;
    uint32_t block_bytes;
    struct wf_shmcoll_places places, scan_places;
    uint32_t call; /* number of the newest call of this member */
    /* The newest call in which this member used more than a piece of a block; a
     * later one may stand here if that was more calls ago than lines are. */
    uint32_t block_call;
    /* all members have completed the calls up to this one */
    uint32_t all_completed_call;
    /* endpoints through which members reach each other */
    uint32_t endpoint_mask;
    /* writers execute a fence; otherwise sleepers use membarrier */
    bool writers_fence;
    /* a message between members is one copy; the staging ring needs two */
    bool one_copy;
    /* ranks outnumber CPUs: polling takes the CPU from the awaited rank */
    bool oversubscribed;
    bool has_leader; /* rank 0 reads the lines for all: by_leader.c */
    bool heavily_oversubscribed; /* more than four members for each CPU */
    int size, rank;
    /* The current run of consecutive scans: its first and its newest call; the
     * newest call whose line the next rank has read; how many calls may be
     * under way. */
    uint32_t scan_first_call, scan_last_call, scan_read_call, scan_window;
    unsigned char *pool;       /* broadcast pool: coll/bcast_pool.c */
    uint64_t pool_pages_taken; /* blocks whose pages have been taken */
    void *scratch; /* scratch memory of reductions, allocated at first use */
    size_t scratch_bytes;
    unsigned char *staging; /* staging ring, or NULL: staging.h */
    size_t staging_bytes;
    uint32_t chunk_bytes, chunk_count; /* count: of each member */
    uint32_t quota_units; /* share of the process's limit that this one takes */
    /* Positions in bytes, the same in the ring of every member: the newest
     * chunk, its end, and where the ring wraps if it can. */
    uint32_t ring_pos, ring_end, ring_bytes;
    /* large calls until the ring is made; 0: it never is */
    uint32_t staging_countdown;
    /* newest call through the ring, other than those from a root */
    uint32_t last_staged_call;
    /* of calls from a root: the chunk after those of the newest */
    uint32_t next_chunk;
    /* of each chunk of all members, the newest call that used it; lies behind
     * this record */
    uint32_t *chunk_last_call;
    /* wf_staging_copy_in: number of large pieces copied so far, and ns per MiB
     * of the newest one that was timed. */
    uint32_t copy_count;
    uint64_t ns_per_mib;
    bool nontemporal; /* copy into the ring by non-temporal stores */
    /* the next chunk may be written before all are in the call */
    bool can_start_early;
    /* a large call has failed here: only schedules from then on */
    bool staging_failed;
};

/* ---- flag lines ---------------------------------------------------------- */

/* Returns the line of that member for this call. */
static inline struct wf_shmcoll_line *wf_shmcoll_line(struct wf_shmcoll *t,
                                                      int rank)
{
    WF_ASSERT(rank >= 0 && rank < t->size && t->shared);
    return &t->shared->members[rank].line[t->call & (t->places.lines - 1)];
}

/* Returns the distance between blocks, padded so that their first lines map to
 * different cache sets. */
static inline size_t wf_shmcoll_block_stride(uint32_t block)
{
    return block + 3 * WF_CACHE_LINE;
}

/* Returns the number of calls from one contribution of that size to the next
 * one at the same place. */
static inline uint32_t wf_shmcoll_count_places(const struct wf_shmcoll *t,
                                               uint64_t bytes)
{
    return bytes <= WF_SHMCOLL_INLINE_BYTES || bytes <= t->places.piece_bytes
               ? t->places.lines
               : t->places.blocks;
}

/* Returns the place of a member's contribution of that size. */
static inline unsigned char *wf_shmcoll_data_of(struct wf_shmcoll *t, int rank,
                                                uint64_t bytes)
{
    const struct wf_shmcoll_places *p = &t->places;
    unsigned char *block;

    if (wf_likely(bytes <= WF_SHMCOLL_INLINE_BYTES))
        return wf_shmcoll_line(t, rank)->data;
    WF_ASSERT(rank >= 0 && rank < t->size && bytes <= t->block_bytes);
    block = t->blocks + ((size_t)rank * WF_SHMCOLL_BLOCKS_MAX +
                         (t->call & (p->blocks - 1))) *
                            wf_shmcoll_block_stride(t->block_bytes);
    return bytes > p->piece_bytes
               ? block
               : block + (size_t)((t->call & (p->lines - 1)) / p->blocks) *
                             p->piece_bytes;
}

/* Wakes the members that sleep until this one has stored a flag. */
static inline void wf_shmcoll_notify_sleepers(struct wf_shmcoll *t)
{
    if (t->writers_fence)
        wf_fence_full(); /* pairs with arm_wakeup() of wait.c */
    else
        atomic_signal_fence(memory_order_seq_cst);
    if (wf_unlikely(wf_load_relaxed(&t->shared->members[t->rank].sleepers)))
        wf_shmcoll_wake_sleepers(t);
}

/* Takes the place of a contribution of so many bytes to this call. Returns the
 * newest earlier call that may have used it. */
static inline uint32_t wf_shmcoll_take_place(struct wf_shmcoll *t,
                                             uint64_t bytes)
{
    uint32_t line = t->call - t->places.lines,
             block = t->call - t->places.blocks;

    if (wf_likely(bytes <= WF_SHMCOLL_INLINE_BYTES))
        return line;
    if (bytes > t->places.piece_bytes) {
        t->block_call = t->call;
        return block;
    }
    if ((int32_t)(t->block_call - line) < 0)
        t->block_call = line;
    return (int32_t)(t->block_call - block) < 0 ? t->block_call : block;
}

/* Begins the next call, to which this member is going to contribute so many
 * bytes: waits until their place can be used again. */
static inline void wf_shmcoll_begin_call(struct wf_shmcoll *t, uint64_t bytes)
{
    uint32_t again;

    t->call++;
    again = wf_shmcoll_take_place(t, bytes);
    if (wf_unlikely((int32_t)(again - t->all_completed_call) > 0))
        wf_shmcoll_wait_all_completed(t, again);
}

/* Begins the next call of a member that writes no line in it. Such a member may
 * be many calls ahead of the others, but not so many that their numbers would
 * count as later ones. */
static inline void wf_shmcoll_begin_without_line(struct wf_shmcoll *t)
{
    uint32_t behind = ++t->call - WF_SHMCOLL_CALLS_AHEAD;

    if (wf_unlikely((int32_t)(behind - t->all_completed_call) > 0))
        wf_shmcoll_wait_all_completed(t, behind + WF_SHMCOLL_CALLS_AHEAD / 2);
}

/* Stores a word that other members wait for: what this member did before is
 * done for a member that loads it. */
static inline void wf_shmcoll_store_word(const struct wf_shmcoll *t,
                                         wf_atomic_u64 *word, uint64_t value)
{
    wf_race_note_store(t->comm->context);
    wf_store_release(word, value);
}

/* Loads a word of another member; pairs with wf_shmcoll_store_word. */
static inline uint64_t wf_shmcoll_load_word(const struct wf_shmcoll *t,
                                            const wf_atomic_u64 *word)
{
    uint64_t value = wf_load_acquire(word);

    wf_race_note_load(t->comm->context);
    return value;
}

/* Stores the flag word of this call; the data is in place. `way` is 0 or
 * WF_SHMCOLL_FLAG_SCHEDULE or WF_SHMCOLL_FLAG_STAGED. */
static inline void wf_shmcoll_store_flag(struct wf_shmcoll *t, uint64_t bytes,
                                         uint32_t way)
{
    WF_ASSERT(way == 0 || way == WF_SHMCOLL_FLAG_SCHEDULE ||
              way == WF_SHMCOLL_FLAG_STAGED);
    uint64_t n =
        bytes < WF_SHMCOLL_FLAG_STAGED ? bytes : WF_SHMCOLL_FLAG_STAGED - 1;

    /* pairs with wf_shmcoll_wait_flag */
    wf_shmcoll_store_word(t, &wf_shmcoll_line(t, t->rank)->flag,
                          (uint64_t)t->call << 32 | way | n);
}

/* Stores the flag word and wakes the members that sleep for it. */
static inline void wf_shmcoll_publish_flag(struct wf_shmcoll *t, uint64_t bytes,
                                           uint32_t way)
{
    wf_shmcoll_store_flag(t, bytes, way);
    wf_shmcoll_notify_sleepers(t);
}

/* Publishes that this member has completed the call: it reads nothing of the
 * call any more, and nothing more is expected of it. */
static inline void wf_shmcoll_complete_call(struct wf_shmcoll *t)
{
    wf_shmcoll_store_word(t, &t->shared->members[t->rank].last_completed_call,
                          (uint64_t)t->call << 32);
    wf_shmcoll_notify_sleepers(t);
}

/* Returns true if a word has reached `least`. Words carry the call number in
 * their upper 32 bits: an equal or later number counts as reached, a number of
 * long ago does not. In scans members are apart by a window of lines each. */
static inline bool wf_shmcoll_is_reached(uint64_t word, uint64_t least)
{
    return word - least < UINT64_C(1) << 48;
}

/* Waits for the flag word of that member for this call. */
static inline int wf_shmcoll_wait_flag(struct wf_shmcoll *t, int rank,
                                       uint64_t *word)
{
    struct wf_shmcoll_line *line = wf_shmcoll_line(t, rank);

    *word = wf_shmcoll_load_word(t, &line->flag);
    if (wf_likely(*word >> 32 == t->call))
        return MPI_SUCCESS;
    return wf_shmcoll_wait_word(t, rank, &line->flag, (uint64_t)t->call << 32,
                                word);
}

/* Returns true if the writer of a flag word wants a schedule. */
static inline bool wf_shmcoll_wants_schedule(uint64_t word)
{
    return word & WF_SHMCOLL_FLAG_SCHEDULE;
}

/* Returns true if the writer of a flag word names a way of the call. */
static inline bool wf_shmcoll_names_way(uint64_t word)
{
    return word & (WF_SHMCOLL_FLAG_SCHEDULE | WF_SHMCOLL_FLAG_STAGED);
}

/* Returns the bytes that a flag word states. */
static inline uint64_t wf_shmcoll_bytes_of(uint64_t word)
{
    return word & (WF_SHMCOLL_FLAG_STAGED - 1);
}

#endif
