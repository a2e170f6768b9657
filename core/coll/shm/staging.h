/* Large shared-memory collectives, chunk by chunk through the staging ring:
 * memory that all members have mapped, in which each member has some chunks.
 *
 *   step k   every writer: fills its chunk behind that of step k - 1, then
 *                          chunks_published = k + 1
 *            every reader: waits for chunks_published of the others, and
 *                          reads their chunks
 *
 * DESIGN  All ranks copy at the same time, and no rank waits for one peer at a
 * time: a step is one copy in, one copy out, and one synchronization. Where
 * ranks outnumber CPUs that is one turn of the run queue for a chunk of every
 * rank, where messages take one for each pair. Once a rank has seen every
 * peer's chunk of step k, all chunks of step k - 2 have been consumed, so that
 * chunks need no acknowledgement; only with one writer, or with one reader,
 * there is one (`chunks_consumed`).
 *
 * A single root agrees with nobody: it takes chunks of all members in a row,
 * waits until all have completed the last call in each of them, writes, and
 * goes on; a member reads when the root has written, and goes on. So several
 * calls are under way, and where ranks outnumber CPUs a turn of the run queue
 * carries as many. The root's line names the first chunk. A call that is longer
 * than the ring waits for its readers.
 *
 * In other calls every member writes a line with its length, and waits for
 * those of the others, before it reads a chunk. Chunks lie behind each other,
 * whatever their length, and wrap after `ring_bytes` bytes: writing lines that
 * another processor's second-level cache still holds, because it has read them
 * lately, takes four times as long. Where ranks outnumber CPUs the chunks of
 * enough other members are between, and two places are sufficient.
 *
 * A member that fails publishes so in place of the number of its next chunk,
 * and wants schedules from then on, because it may not know how many chunks the
 * others have published.
 *
 * INVARIANT  Before a call to a root begins to write, every member has left the
 * call before. The same holds for the first chunk of another call, unless
 * `can_start_early` is set: then it goes to a place that no member still reads.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_STAGING_H
#define WF_SHMCOLL_STAGING_H

#include "coll/shm/contribution.h"

/* One call through the staging ring, in this member. */
struct wf_staged_call {
    struct wf_shmcoll *t;
    const struct wf_coll_args *a;
    uint64_t bytes;       /* length that every member's line states */
    uint64_t piece_bytes; /* bytes of one block in one step */
    uint32_t step_bytes;  /* bytes of a member's chunk in one step */
    uint32_t steps;
    /* Of calls with a block for each other member: pieces in a chunk, and steps
     * in which each member has got a piece; of others both are 1. */
    uint32_t pieces_per_chunk, steps_per_round;
    /* Returns the length that a rank's line states, where they differ; or
     * NULL. */
    uint64_t (*length_of)(const struct wf_staged_call *, int rank);
    /* Fills this member's chunk of a step; reads the chunk of another
     * member. */
    int (*fill_chunk)(struct wf_staged_call *, uint32_t step,
                      unsigned char *to);
    int (*read_chunk)(struct wf_staged_call *, uint32_t step, int from,
                      const unsigned char *chunk);
    /* the block for that member, and the place of that of another one */
    struct wf_coll_block (*sent)(const struct wf_coll_args *, int to);
    struct wf_coll_block (*received)(const struct wf_coll_args *, int from);
    /* Of reductions: runs a whole step. */
    int (*run_step)(struct wf_staged_call *, uint32_t step);
    int error; /* found before the first step */
    /* a member that finds its part short does not read all lines: a scan */
    bool some_do_not_wait;
    /* the chunk of step 0 was published before all members agreed */
    bool first_chunk_filled;
};

/* Runs a whole call in which all members write and read. The builder is that of
 * the schedule that runs if a member wants one or if there is no ring. */
int wf_staging_run_all_to_all(struct wf_staged_call *, wf_coll_builder *);
/* Runs a call from the root. The others have read the root's line; the root is
 * to write it. */
int wf_staging_run_from_root(struct wf_staged_call *, wf_coll_builder *);
/* Runs a call to the root, whose line has stated the way. */
int wf_staging_run_to_root(struct wf_staged_call *, wf_coll_builder *);
/* Runs a call in which all members write and read, and have read all lines. */
int wf_staging_run_synchronized(struct wf_staged_call *, wf_coll_builder *);

/* ---- chunks -------------------------------------------------------------- */

/* Publishes the line of a large call: `bytes`, which may not fit the flag word,
 * and the way. */
void wf_staging_publish_call(struct wf_shmcoll *, uint64_t bytes, uint32_t way);
/* Copies n bytes into the ring, past the caches where that pays. */
void wf_staging_copy_in(struct wf_shmcoll *, void *to, const void *from,
                        uint64_t n);
/* Waits until that member has published `count` chunks. */
int wf_staging_wait_chunks(struct wf_shmcoll *, int rank, uint32_t count);
void wf_staging_publish_chunks(struct wf_shmcoll *, uint32_t count, int rc);

/* Returns the way in which this member wants a large call. */
static inline uint32_t wf_staging_choose_way(const struct wf_shmcoll *t)
{
    return t->staging_failed ? WF_SHMCOLL_FLAG_SCHEDULE
                             : WF_SHMCOLL_FLAG_STAGED;
}

/* Moves the ring position to the next step, whose chunk lies beside that of
 * this one. With three chunks for each member there is always room: a chunk
 * that cannot wrap begins in the first one. */
static inline void wf_staging_advance_ring(struct wf_shmcoll *t, uint32_t room)
{
    uint32_t at = t->ring_end;

    if (at + room > t->ring_bytes && room <= t->ring_pos)
        at = 0;
    t->ring_pos = at;
    t->ring_end = at + room;
}

/* Returns the address of a member's chunk of this step. */
static inline unsigned char *wf_staging_chunk_of(struct wf_shmcoll *t, int rank)
{
    WF_ASSERT(t->staging && rank >= 0 && rank < t->size);
    WF_ASSERT(t->ring_end <= t->chunk_count * t->chunk_bytes);
    return t->staging + (size_t)rank * t->chunk_count * t->chunk_bytes +
           t->ring_pos;
}

/* Returns the bytes of a block of `all` bytes that belong to step `step`. */
static inline uint64_t wf_staging_piece_bytes(const struct wf_staged_call *g,
                                              uint32_t step, uint64_t all)
{
    uint64_t first = step * g->piece_bytes;

    WF_ASSERT(g->piece_bytes > 0);
    if (first >= all)
        return 0;
    return all - first < g->piece_bytes ? all - first : g->piece_bytes;
}

/* Returns true if the chunk of `from` has something for `to` in this step. */
static inline bool wf_staging_has_piece(const struct wf_staged_call *g,
                                        uint32_t step, int from, int to)
{
    return g->steps_per_round == 1 ||
           wf_shmcoll_part_index(g->t, from, to) / g->pieces_per_chunk ==
               step % g->steps_per_round;
}

static inline uint32_t wf_staging_count_steps(const struct wf_staged_call *g,
                                              uint64_t all)
{
    return (uint32_t)((all + g->piece_bytes - 1) / g->piece_bytes);
}

#endif
