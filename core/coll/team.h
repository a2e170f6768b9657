/* Teams: small collectives of processes that share a node, on shared words.
 *
 *   head | rank 0: done, waits | line 0, line 1, ... | rank 1 ... | blocks | shelf
 *                                 |
 *                                 call number 32 | way 2 | bytes 30
 *                                 up to 48 bytes of data
 *
 * After some blocking collectives on a communicator its members map one segment
 * (team_make.c). From then on a blocking collective has a number there, the same
 * on all members, and who contributes writes its line: data first, then the
 * word. Who needs it waits for the word. A barrier or an allreduce of 8 bytes is
 * one line from each to each; there is no message, no match and no schedule.
 *
 * DESIGN  Larger contributions lie in a block beside the line. What does not fit
 * there either goes piece by piece through larger memory (team_stage.h), or runs
 * as a schedule, as without a team. Whether it fits may look different from
 * member to member, by mistake or because only some know all counts; so the line
 * says which way its writer goes:
 *
 *   all to all    a line that says "schedule" makes a schedule of the call
 *   from a root   the root's line decides
 *   to a root     a member that wants a schedule waits for the root's line,
 *                 which says so if all want one, and is written when all
 *                 others' are there
 *
 * Therefore different counts are found as in a schedule, and nobody waits for
 * what the other does not do. The length in the line is compared with what the
 * reader expects; nothing read from the segment is used as a position without a
 * check. Reductions bracket as the schedules do: the same bits either way.
 *
 * Lines are used again after some calls (`lines`), blocks after fewer (`turns`):
 * when every member has said `done`, which a line of its next call says as well.
 * Where ranks outnumber CPUs there are many: who only gives goes on until it must
 * wait for that, and each wait is a turn of the run queue. Elsewhere few of them
 * stay in the cache.
 *
 * Waiting (team_wait.c) polls the word for a moment, and then waits as any
 * other call: the engine is driven meanwhile, and a sleeper says whose word it
 * waits for, so that this one rings.
 *
 * LOCK  the process's side: the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEAM_H
#define WF_TEAM_H

#include "coll/coll.h"
#include "instance.h"

enum {
    WF_TEAM_LINES = 8,         /* per member, in turn: a power of two; */
    WF_TEAM_LINES_SCAN = 32,   /* of a scan at least */
    WF_TEAM_LINES_MOST = 128,  /* where CPUs are shared */
    WF_TEAM_BLOCKS = 2,        /* the same; */
    WF_TEAM_BLOCKS_MOST = 8,   /* where CPUs are shared */
    WF_TEAM_CHUNKS = 3,        /* of a member's stage, at least */
    WF_TEAM_AHEAD = 1 << 14,   /* calls that write no line; see wf_team_reached */
    WF_TEAM_INLINE = 48,       /* bytes of data in a line */
    WF_TEAM_GRANULES = 64,     /* of the shelf: team_shelf.c */
    WF_TEAM_GRANULE = 128 << 10,
    WF_TEAM_SHELF = WF_TEAM_GRANULES * WF_TEAM_GRANULE
};
#define WF_TEAM_SCHEDULE (1u << 31) /* in the word of a line */
#define WF_TEAM_STAGED   (1u << 30)

struct wf_team_line {
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 word;
    _Alignas(16) unsigned char data[WF_TEAM_INLINE];
};

/* What one member writes; waits is also reset by whoever rings. */
struct wf_team_rank {
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 done; /* calls up to this one << 32 */
    wf_atomic_u32 waits; /* asleep; 1 + rank of the member that is to ring */
    wf_atomic_u32 out;   /* it has no team: making it failed there */
    /* Of the call above << 32: pieces written; those of others read. */
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 put;
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 got;
    struct wf_team_line line[WF_TEAM_LINES_MOST];
};

struct wf_team_shared {
    _Alignas(WF_CACHE_LINE) wf_atomic_u32 sleepers;
    _Alignas(WF_CACHE_LINE) wf_atomic_u64 taken; /* granules of the shelf */
    wf_atomic_u32 readers[WF_TEAM_GRANULES];
    struct wf_team_rank ranks[];
};

struct wf_team {
    struct wf_comm *comm;
    struct wf_team_shared *shared;
    unsigned char *blocks;
    size_t bytes;   /* of the mapping */
    uint32_t block; /* bytes of each */
    uint32_t lines; /* of a member that are used */
    uint32_t turns; /* and blocks */
    uint32_t call;  /* number of the newest one here */
    uint32_t freed; /* everybody has done the calls up to this one */
    uint32_t mask;  /* the endpoints through which members reach each other */
    bool fence;     /* writers fence; or else sleepers use membarrier */
    bool one_copy;  /* of a message between members: the stage needs two */
    bool crowded;   /* polling takes the CPU from who is waited for */
    bool queued;    /* more than four members for each CPU */
    int size, rank;
    /* Scans, one after the other: the first and the newest; the next rank has
     * read those up to; and how many may be under way. */
    uint32_t scans_from, scan, scans_read, scan_calls;
    unsigned char *shelf; /* team_shelf.c; */
    uint64_t shelved;     /* granules whose pages are here */
    void *scratch; /* of reductions, once needed */
    size_t scratch_bytes;
    unsigned char *stage; /* of large pieces, or NULL: team_stage.h */
    size_t stage_bytes;
    uint32_t chunk;    /* bytes of a piece there, at most */
    uint32_t chunks;   /* of each member */
    uint32_t teams;    /* what it counts as: memory is limited */
    /* In every member's stage, bytes: its newest piece; where the next one goes
     * round, if it can. */
    uint32_t at, end, lap;
    uint32_t stage_in; /* large calls until there is one; 0: never */
    uint32_t staged;   /* the newest call there but those of team_ahead.c: */
    uint32_t next;     /* the chunk after those of the newest of these, */
    uint32_t written[WF_TEAM_CHUNKS * WF_TEAM_MOST]; /* and of each the newest */
    /* team_copy.c: large pieces copied so far, and the ns per MB of the newest
     * one that was timed. */
    uint32_t copies;
    uint64_t pace;
    bool around;       /* the caches is the way */
    bool early;        /* the next piece may come before all are in the call */
    bool spoiled; /* a large call has failed here: schedules from then on */
};

/* ---- making: team_make.c --------------------------------------------------- */

/* A blocking collective of this communicator has been run, with this result. A
 * process that lacked something does not go on to make the team, where it would
 * wait for those who wait for it in the collective. If they do not, it catches up
 * before whatever collective comes next. */
void wf_team_count(struct wf_comm *, int rc);
/* All members are in a large one. False: there is no stage yet. */
bool wf_team_stage(struct wf_team *);

/* ---- collectives: team_all.c, team_from.c, team_to.c --------------------------------- */

int wf_team_barrier(struct wf_team *);

/* ---- waiting: team_wait.c --------------------------------------------------- */

/* A word of that member has come to `least`: *seen; or an error. */
int wf_team_await(struct wf_team *, int rank, const wf_atomic_u64 *word,
                  uint64_t least, uint64_t *seen);
/* Wait until all have done their calls up to `call`. */
void wf_team_room(struct wf_team *, uint32_t call);
/* Wake those who sleep and wait for this process. */
void wf_team_wake(struct wf_team *);

/* ---- lines ------------------------------------------------------------------ */

static inline struct wf_team_line *wf_team_line(struct wf_team *t, int rank)
{
    return &t->shared->ranks[rank].line[t->call & (t->lines - 1)];
}

/* From block to block: their beginnings share no set of a cache. */
static inline size_t wf_team_stride(uint32_t block)
{
    return block + 3 * WF_CACHE_LINE;
}

/* Where contributions of that size stand. */
static inline unsigned char *wf_team_data(struct wf_team *t, int rank,
                                          uint64_t bytes)
{
    if (wf_likely(bytes <= WF_TEAM_INLINE))
        return wf_team_line(t, rank)->data;
    return t->blocks +
           ((size_t)rank * WF_TEAM_BLOCKS_MOST + t->call % t->turns) *
               wf_team_stride(t->block);
}

static inline void wf_team_ring(struct wf_team *t)
{
    if (t->fence)
        wf_fence_full(); /* pairs with arm() of team_wait.c */
    else
        atomic_signal_fence(memory_order_seq_cst);
    if (wf_unlikely(wf_load_relaxed(&t->shared->sleepers)))
        wf_team_wake(t);
}

/* The next call begins, and this member is going to write so many bytes. */
static inline void wf_team_begin(struct wf_team *t, uint64_t bytes)
{
    uint32_t again = ++t->call - (bytes > WF_TEAM_INLINE ? t->turns : t->lines);

    if (wf_unlikely((int32_t)(again - t->freed) > 0))
        wf_team_room(t, again);
}

/* The same of a member that writes no line. It may be many calls ahead of the
 * others, but not so many that their numbers would count as later ones. */
static inline void wf_team_next(struct wf_team *t)
{
    uint32_t behind = ++t->call - WF_TEAM_AHEAD;

    if (wf_unlikely((int32_t)(behind - t->freed) > 0))
        wf_team_room(t, behind + WF_TEAM_AHEAD / 2);
}

/* The data is in place. way: 0 or WF_TEAM_SCHEDULE */
static inline void wf_team_say(struct wf_team *t, uint64_t bytes, uint32_t way)
{
    uint64_t n = bytes < WF_TEAM_STAGED ? bytes : WF_TEAM_STAGED - 1;

    /* pairs with wf_team_hear */
    wf_store_release(&wf_team_line(t, t->rank)->word,
                     (uint64_t)t->call << 32 | way | n);
}

static inline void wf_team_publish(struct wf_team *t, uint64_t bytes,
                                   uint32_t way)
{
    wf_team_say(t, bytes, way);
    wf_team_ring(t);
}

/* Nothing of this call is read any more, and nothing of it is owed. */
static inline void wf_team_done(struct wf_team *t)
{
    wf_store_release(&t->shared->ranks[t->rank].done, (uint64_t)t->call << 32);
    wf_team_ring(t);
}

/* Words begin with the number of a call: a later one counts as well, one of
 * long ago does not. Members are apart by a window of lines each, in scans. */
static inline bool wf_team_reached(uint64_t word, uint64_t least)
{
    return word - least < UINT64_C(1) << 48;
}

/* The member's word of this call: wait for it. */
static inline int wf_team_hear(struct wf_team *t, int rank, uint64_t *word)
{
    struct wf_team_line *line = wf_team_line(t, rank);

    *word = wf_load_acquire(&line->word);
    if (wf_likely(*word >> 32 == t->call))
        return MPI_SUCCESS;
    return wf_team_await(t, rank, &line->word, (uint64_t)t->call << 32, word);
}

static inline bool wf_team_schedules(uint64_t word)
{
    return word & WF_TEAM_SCHEDULE;
}

static inline uint64_t wf_team_bytes(uint64_t word)
{
    return word & (WF_TEAM_STAGED - 1);
}

#endif
