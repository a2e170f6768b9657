/* Driving the chunks of a large collective through the staging ring: staging.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/team_stage.h"

#define FAILED UINT32_MAX /* in place of a number of chunks */

/* ---- counters */

static uint64_t word_of(const struct wf_team *t, uint32_t count)
{
    return (uint64_t)t->call << 32 | count;
}

void wf_team_say_long(struct wf_team *t, uint64_t bytes, uint32_t way)
{
    memcpy(wf_team_line(t, t->rank)->data, &bytes, sizeof bytes);
    wf_team_publish(t, bytes, way);
}

uint64_t wf_team_long_bytes(struct wf_team *t, int rank, uint64_t word)
{
    uint64_t bytes = wf_team_bytes(word);

    if (word & WF_TEAM_STAGED)
        memcpy(&bytes, wf_team_line(t, rank)->data, sizeof bytes);
    return bytes;
}

void wf_team_say_put(struct wf_team *t, uint32_t count, int rc)
{
    /* pairs with wait_count() */
    wf_store_release(&t->shared->ranks[t->rank].put,
                     word_of(t, rc ? FAILED : count));
    wf_team_ring(t);
}

static void say_got(struct wf_team *t, uint32_t count)
{
    wf_store_release(&t->shared->ranks[t->rank].got, word_of(t, count));
    wf_team_ring(t);
}

static int gave_up(int rank)
{
    return wf_error(MPI_ERR_OTHER, "rank %d gave up this collective", rank);
}

static int hear(struct wf_team *t, int rank, const wf_atomic_u64 *word,
                uint32_t count)
{
    uint64_t least = word_of(t, count), seen = wf_load_acquire(word);
    int rc = MPI_SUCCESS;

    if (wf_unlikely(!wf_team_reached(seen, least)))
        rc = wf_team_await(t, rank, word, least, &seen);
    if (wf_unlikely(!rc && seen == word_of(t, FAILED)))
        rc = gave_up(rank);
    return rc;
}

int wf_team_hear_put(struct wf_team *t, int rank, uint32_t count)
{
    return hear(t, rank, &t->shared->ranks[rank].put, count);
}

/* ---- synchronization */

static uint64_t expected(const struct wf_staging *g, int rank)
{
    return g->length ? g->length(g, rank) : g->bytes;
}

int wf_team_other_counts(int r)
{
    return wf_error(MPI_ERR_COUNT,
                    "rank %d calls this collective with other counts", r);
}

static int check_line(const struct wf_staging *g, int r, uint64_t word)
{
    uint64_t got = wf_team_long_bytes(g->t, r, word);
    int rc = wf_team_length(r, got, expected(g, r));

    if (wf_unlikely(!rc && !(word & WF_TEAM_STAGED)))
        rc = wf_team_other_counts(r);
    return rc;
}

/* Some members want a schedule: so all must run it. A member that may go on
 * without reading all lines has done so. */
static int schedule_of_all(const struct wf_staging *g, const uint64_t *word)
{
    for (int r = 0; g->unheard && r < g->t->size; r++)
        if (!(word[r] & (WF_TEAM_SCHEDULE | WF_TEAM_STAGED)))
            return wf_team_other_counts(r);
    return WF_TEAM_BY_SCHEDULE;
}

/* Waits for the lines of all; the own line is written. Returns
 * WF_TEAM_BY_SCHEDULE, an error, or 0: all go through the ring. */
static int meet(const struct wf_staging *g)
{
    struct wf_team *t = g->t;
    uint64_t word[WF_TEAM_MOST], any = 0;
    int rc = MPI_SUCCESS;

    for (int r = 0; r < t->size && !rc; r++) {
        rc = wf_team_hear(t, r, &word[r]);
        any |= word[r];
    }
    if (rc)
        return rc;
    t->freed = t->call - 1;
    if (wf_team_schedules(any))
        return schedule_of_all(g, word);
    for (int r = 0; r < t->size && !rc; r++)
        rc = check_line(g, r, word[r]);
    return rc;
}

static int leave(struct wf_team *t, int rc)
{
    t->staged = t->call;
    if (rc) { /* no other is to wait for this member */
        t->spoiled = true;
        wf_team_say_put(t, 0, rc);
        say_got(t, FAILED - 1);
    }
    wf_team_done(t);
    return rc;
}

/* ---- all to all --------------------------------------------------------------- */

/* Moves the ring position for a step; that of the first step is set when the
 * call begins. */
static void place(struct wf_staging *g, uint32_t step)
{
    if (step > 0)
        wf_team_place(g->t, g->room);
}

static int put_piece(struct wf_staging *g, uint32_t step)
{
    struct wf_team *t = g->t;
    int rc = g->put(g, step, wf_team_chunk(t, t->rank));

    wf_team_say_put(t, step + 1, rc);
    return rc;
}

static int take_pieces(struct wf_staging *g, uint32_t step)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r)) {
        rc = wf_team_hear_put(t, r, step + 1);
        if (wf_likely(!rc))
            rc = g->take(g, step, r, wf_team_chunk(t, r));
    }
    return rc;
}

static int run_step(struct wf_staging *g, uint32_t step)
{
    int rc = MPI_SUCCESS;

    if (g->run)
        return g->run(g, step);
    if (step > 0 || !g->ready)
        rc = put_piece(g, step);
    return rc ? rc : take_pieces(g, step);
}

static int run_steps(struct wf_staging *g)
{
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        place(g, k);
        rc = run_step(g, k);
    }
    g->t->early = true;
    return rc;
}

int wf_team_stage_all(struct wf_staging *g, wf_coll_builder *builder)
{
    struct wf_team *t = g->t;
    uint32_t at = t->at, end = t->end;
    int rc = MPI_SUCCESS, met;

    wf_team_begin(t, 0);
    wf_team_place(t, g->room);
    g->ready = t->stage && t->early && !t->spoiled;
    if (g->ready)
        rc = put_piece(g, 0);
    wf_team_say_long(t, expected(g, t->rank), wf_team_large_way(t));
    met = meet(g);
    if (met == WF_TEAM_BY_SCHEDULE || (!met && !wf_team_stage(t))) {
        t->at = at; /* a member that wanted it has not moved its position */
        t->end = end;
        return wf_team_schedule(t, builder, g->a);
    }
    if (met)
        t->early = false;
    else if (!rc)
        rc = run_steps(g);
    return leave(t, rc ? rc : met);
}

/* ---- from the root ------------------------------------------------------------ */

/* Returns the root's chunk for a step, out of the chunks of all members. */
static unsigned char *wide_chunk(struct wf_team *t, uint32_t step)
{
    uint32_t chunks = (uint32_t)t->size * t->chunks;

    return t->stage + (size_t)(step % chunks) * t->chunk;
}

static bool reads(const struct wf_staging *g, uint32_t step, int rank)
{
    return !g->reads || g->reads(g, step, rank);
}

/* Waits until all readers of that step have read it. */
static int await_readers(const struct wf_staging *g, uint32_t step)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r))
        if (reads(g, step, r))
            rc = hear(t, r, &t->shared->ranks[r].got, step + 1);
    return rc;
}

static int write_wide(struct wf_staging *g)
{
    struct wf_team *t = g->t;
    uint32_t chunks = (uint32_t)t->size * t->chunks;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (k >= chunks)
            rc = await_readers(g, k - chunks);
        rc = rc ? rc : g->put(g, k, wide_chunk(t, k));
        wf_team_say_put(t, k + 1, rc);
    }
    return rc;
}

static int read_wide(struct wf_staging *g)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (!reads(g, k, t->rank))
            continue;
        rc = wf_team_hear_put(t, g->a->root, k + 1);
        rc = rc ? rc : g->take(g, k, g->a->root, wide_chunk(t, k));
        say_got(t, k + 1);
    }
    return rc;
}

int wf_team_stage_from(struct wf_staging *g, wf_coll_builder *builder)
{
    struct wf_team *t = g->t;
    int rc;

    if (wf_team_from_ahead(g, &rc))
        return rc;
    if (wf_unlikely((int32_t)(t->call - t->lines - t->freed) > 0))
        wf_team_room(t, t->call - t->lines);
    wf_team_say_long(t, g->bytes, wf_team_large_way(t));
    rc = meet(g);
    if (rc == WF_TEAM_BY_SCHEDULE || (!rc && !wf_team_stage(t)))
        return wf_team_schedule(t, builder, g->a);
    t->early = false;
    if (!rc)
        rc = wf_team_at_root(g->a) ? write_wide(g) : read_wide(g);
    return leave(t, rc);
}

/* ---- to the root -------------------------------------------------------------- */

static int write_own(struct wf_staging *g)
{
    struct wf_team *t = g->t;
    wf_atomic_u64 *got = &t->shared->ranks[g->a->root].got;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        place(g, k);
        if (k > 1) /* at most the newest chunk is not read yet */
            rc = hear(t, g->a->root, got, k - 1);
        rc = rc ? rc : put_piece(g, k);
    }
    return rc;
}

static int read_all(struct wf_staging *g)
{
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        place(g, k);
        rc = take_pieces(g, k);
        say_got(g->t, k + 1);
    }
    return rc;
}

int wf_team_stage_to(struct wf_staging *g, wf_coll_builder *builder)
{
    struct wf_team *t = g->t;

    if (!wf_team_stage(t))
        return wf_team_schedule(t, builder, g->a);
    t->early = false;
    wf_team_place(t, g->room);
    return leave(t, wf_team_at_root(g->a) ? read_all(g) : write_own(g));
}

int wf_team_stage_met(struct wf_staging *g, wf_coll_builder *builder)
{
    if (!wf_team_stage(g->t))
        return wf_team_schedule(g->t, builder, g->a);
    wf_team_place(g->t, g->room);
    return leave(g->t, run_steps(g));
}
