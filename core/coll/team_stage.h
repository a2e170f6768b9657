/* Large collectives of a team, piece by piece through the stage: memory that all
 * members have mapped, in which each has some chunks.
 *
 *   step k   every writer: its piece behind that of step k - 1, put = k + 1
 *            every reader: waits for put of the others, takes their pieces
 *
 * DESIGN  All ranks copy at the same time, and nobody waits for one peer at a
 * time: a step is one copy in, one copy out, and one meeting. Where ranks
 * outnumber CPUs that is one turn of the run queue for a piece of everybody,
 * where messages take one for each pair. Who meets everybody in step k knows
 * that all have taken the pieces of step k - 2, so that pieces need no
 * acknowledgement; only from one writer, or to one reader, is there one (`got`).
 * One writer has the chunks of all, and nobody meets anybody where it needs no
 * more than these (team_ahead.c).
 *
 * All members must be in the call, with counts that fit: every one writes a line
 * with its length, and waits for those of the others, before it takes anything.
 * Pieces stand behind each other, whatever their length, and go round after `lap`
 * bytes: to write lines that another processor's second-level cache still holds,
 * because it has read them lately, takes four times as long. Where ranks outnumber
 * CPUs there are enough others between, and two places are all.
 *
 * A member that fails says so in the place of its next piece, and wants schedules
 * from then on: it may not know how many pieces the others have put.
 *
 * INVARIANT  before a call of one writer or one reader begins to write, everybody
 * has left the call before. So may be the first piece of another call only if
 * `early` is not set: then it goes where nobody reads any more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEAM_STAGE_H
#define WF_TEAM_STAGE_H

#include "coll/team_data.h"

/* How members answer for the whole of a call; errors are positive. */
enum { WF_TEAM_BY_SCHEDULE = -1, WF_TEAM_MIXED = -2, WF_TEAM_BY_STAGE = -3 };

struct wf_staging {
    struct wf_team *t;
    const struct wf_coll_args *a;
    uint64_t bytes; /* what every member's line says */
    uint64_t piece; /* bytes of one block in one step */
    uint32_t room;  /* of all that a member puts in one */
    uint32_t steps;
    /* Every length where they differ, by rank; or NULL. */
    uint64_t (*length)(const struct wf_staging *, int rank);
    /* This member's piece of a step; that of another one. */
    int (*put)(struct wf_staging *, uint32_t step, unsigned char *to);
    int (*take)(struct wf_staging *, uint32_t step, int from,
                const unsigned char *piece);
    /* From the root: does that rank read this step? NULL: all do. */
    bool (*reads)(const struct wf_staging *, uint32_t step, int rank);
    /* Blocks for each other member: so many in a step; steps of a round. */
    uint32_t together, round;
    /* Of reductions: a whole step, and in which order. */
    int (*run)(struct wf_staging *, uint32_t step);
    enum wf_team_order order;
    bool unheard; /* who finds its part short does not hear all: a scan */
    bool ready; /* the piece of step 0 was put before all met */
};

/* A call in which all write and all read: all of it. The builder: of the
 * schedule that runs if a member wants one or there is no stage. */
int wf_team_stage_all(struct wf_staging *, wf_coll_builder *);
/* From the root: its line said so, or is to. */
int wf_team_stage_from(struct wf_staging *, wf_coll_builder *);
/* The same without meeting, once there is a stage. False: nothing has happened. */
bool wf_team_from_ahead(struct wf_staging *, int *rc);
/* To the root: its line has said so. */
int wf_team_stage_to(struct wf_staging *, wf_coll_builder *);
/* All have met, and all write and read. */
int wf_team_stage_met(struct wf_staging *, wf_coll_builder *);

/* ---- team_large.c, team_large_fold.c: these calls --------------------------- */

int wf_team_large_allgather(wf_coll_builder *, const struct wf_coll_args *);
int wf_team_large_alltoall(wf_coll_builder *, const struct wf_coll_args *);
/* All have met; those whose pieces are more than a block holds have said how long
 * they are. */
int wf_team_large_alltoallv(wf_coll_builder *, const struct wf_coll_args *);
void wf_team_say_lengths(struct wf_team *, const struct wf_coll_args *);
int wf_team_large_bcast(wf_coll_builder *, const struct wf_coll_args *);
int wf_team_large_scatter(wf_coll_builder *, const struct wf_coll_args *);
int wf_team_large_gather(wf_coll_builder *, const struct wf_coll_args *);
int wf_team_large_allreduce(wf_coll_builder *, const struct wf_coll_args *);
int wf_team_large_reduce_scatter(wf_coll_builder *,
                                 const struct wf_coll_args *);
int wf_team_large_reduce(wf_coll_builder *, const struct wf_coll_args *);
int wf_team_large_scan(wf_coll_builder *, const struct wf_coll_args *,
                       bool exclusive);
/* Its order is one that can be computed so. */
bool wf_team_large_reduces(const struct wf_coll_args *, enum wf_coll_kind,
                           uint64_t bytes);

/* ---- copying into it: team_copy.c ---------------------------------------------- */

void wf_team_copy_in(struct wf_team *, void *to, const void *from, uint64_t n);

/* ---- pieces ------------------------------------------------------------------ */

/* The error of a member that calls with other counts. */
WF_COLD int wf_team_other_counts(int rank);
/* The line of this call says `bytes`, and this way. */
void wf_team_say_long(struct wf_team *, uint64_t bytes, uint32_t way);
/* What a line says in whose word that is. */
uint64_t wf_team_long_bytes(struct wf_team *, int rank, uint64_t word);
/* That member has put `count` pieces. */
int wf_team_hear_put(struct wf_team *, int rank, uint32_t count);
void wf_team_say_put(struct wf_team *, uint32_t count, int rc);

/* How this member wants a large call. */
static inline uint32_t wf_team_large_way(const struct wf_team *t)
{
    return t->spoiled ? WF_TEAM_SCHEDULE : WF_TEAM_STAGED;
}

/* The next step begins: a place for its pieces, beside those of this one. A
 * part of three chunks has it: who cannot go round is in the first one. */
static inline void wf_team_place(struct wf_team *t, uint32_t room)
{
    uint32_t at = t->end;

    if (at + room > t->lap && room <= t->at)
        at = 0;
    t->at = at;
    t->end = at + room;
}

/* A member's pieces of this step. */
static inline unsigned char *wf_team_chunk(struct wf_team *t, int rank)
{
    return t->stage + (size_t)rank * t->chunks * t->chunk + t->at;
}

/* Bytes of step `step` in a block of `all`. */
static inline uint64_t wf_team_piece(const struct wf_staging *g, uint32_t step,
                                     uint64_t all)
{
    uint64_t first = step * g->piece;

    if (first >= all)
        return 0;
    return all - first < g->piece ? all - first : g->piece;
}

static inline uint32_t wf_team_steps(const struct wf_staging *g, uint64_t all)
{
    return (uint32_t)((all + g->piece - 1) / g->piece);
}

#endif
