/* Driving the chunks of a large collective through the staging ring: staging.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/team_stage.h"

#define FAILED UINT32_MAX /* in place of a number of chunks */

/* ---- counters ------------------------------------------------------------ */

static uint64_t flag_of(const struct wf_team *t, uint32_t count)
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
    wf_store_release(&t->shared->members[t->rank].chunks_published,
                     flag_of(t, rc ? FAILED : count));
    wf_team_ring(t);
}

static void publish_consumed(struct wf_team *t, uint32_t count)
{
    wf_store_release(&t->shared->members[t->rank].chunks_consumed,
                     flag_of(t, count));
    wf_team_ring(t);
}

static int report_failed_member(int rank)
{
    return wf_error(MPI_ERR_OTHER, "rank %d gave up this collective", rank);
}

static int wait_count(struct wf_team *t, int rank, const wf_atomic_u64 *word,
                      uint32_t count)
{
    uint64_t least = flag_of(t, count), seen = wf_load_acquire(word);
    int rc = MPI_SUCCESS;

    if (wf_unlikely(!wf_team_reached(seen, least)))
        rc = wf_team_await(t, rank, word, least, &seen);
    if (wf_unlikely(!rc && seen == flag_of(t, FAILED)))
        rc = report_failed_member(rank);
    return rc;
}

int wf_team_hear_put(struct wf_team *t, int rank, uint32_t count)
{
    return wait_count(t, rank, &t->shared->members[rank].chunks_published,
                      count);
}

/* ---- synchronization ----------------------------------------------------- */

static uint64_t expected_bytes(const struct wf_staging *g, int rank)
{
    return g->length_of ? g->length_of(g, rank) : g->bytes;
}

int wf_team_other_counts(int r)
{
    return wf_error(MPI_ERR_COUNT,
                    "rank %d calls this collective with other counts", r);
}

static int check_line(const struct wf_staging *g, int r, uint64_t word)
{
    uint64_t got = wf_team_long_bytes(g->t, r, word);
    int rc = wf_team_length(r, got, expected_bytes(g, r));

    if (wf_unlikely(!rc && !(word & WF_TEAM_STAGED)))
        rc = wf_team_other_counts(r);
    return rc;
}

/* Some members want a schedule: so all must run it. A member that may go on
 * without reading all lines has done so. */
static int agree_on_schedule(const struct wf_staging *g, const uint64_t *word)
{
    for (int r = 0; g->some_do_not_wait && r < g->t->size; r++)
        if (!(word[r] & (WF_TEAM_SCHEDULE | WF_TEAM_STAGED)))
            return wf_team_other_counts(r);
    return WF_TEAM_BY_SCHEDULE;
}

/* Waits for the lines of all; the own line is written. Returns
 * WF_TEAM_BY_SCHEDULE, an error, or 0: all go through the ring. */
static int synchronize(const struct wf_staging *g)
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
    t->all_completed_call = t->call - 1;
    if (wf_team_schedules(any))
        return agree_on_schedule(g, word);
    for (int r = 0; r < t->size && !rc; r++)
        rc = check_line(g, r, word[r]);
    return rc;
}

static int finish_staged_call(struct wf_team *t, int rc)
{
    t->last_staged_call = t->call;
    if (rc) { /* no other is to wait for this member */
        t->staging_failed = true;
        wf_team_say_put(t, 0, rc);
        publish_consumed(t, FAILED - 1);
    }
    wf_team_done(t);
    return rc;
}

/* ---- all to all ---------------------------------------------------------- */

/* Moves the ring position for a step; that of the first step is set when the
 * call begins. */
static void advance_ring(struct wf_staging *g, uint32_t step)
{
    if (step > 0)
        wf_team_place(g->t, g->step_bytes);
}

static int publish_chunk(struct wf_staging *g, uint32_t step)
{
    struct wf_team *t = g->t;
    int rc = g->fill_chunk(g, step, wf_team_chunk(t, t->rank));

    wf_team_say_put(t, step + 1, rc);
    return rc;
}

static int read_chunks(struct wf_staging *g, uint32_t step)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r)) {
        rc = wf_team_hear_put(t, r, step + 1);
        if (wf_likely(!rc))
            rc = g->read_chunk(g, step, r, wf_team_chunk(t, r));
    }
    return rc;
}

static int run_one_step(struct wf_staging *g, uint32_t step)
{
    int rc = MPI_SUCCESS;

    if (g->run_step)
        return g->run_step(g, step);
    if (step > 0 || !g->first_chunk_filled)
        rc = publish_chunk(g, step);
    return rc ? rc : read_chunks(g, step);
}

static int run_steps(struct wf_staging *g)
{
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        advance_ring(g, k);
        rc = run_one_step(g, k);
    }
    g->t->can_start_early = true;
    return rc;
}

int wf_team_stage_all(struct wf_staging *g, wf_coll_builder *builder)
{
    struct wf_team *t = g->t;
    uint32_t at = t->ring_pos, end = t->ring_end;
    int rc = MPI_SUCCESS, met;

    wf_team_begin(t, 0);
    wf_team_place(t, g->step_bytes);
    g->first_chunk_filled =
        t->staging && t->can_start_early && !t->staging_failed;
    if (g->first_chunk_filled)
        rc = publish_chunk(g, 0);
    wf_team_say_long(t, expected_bytes(g, t->rank), wf_team_large_way(t));
    met = synchronize(g);
    if (met == WF_TEAM_BY_SCHEDULE || (!met && !wf_team_stage(t))) {
        /* a member that wanted the schedule has not moved its position */
        t->ring_pos = at;
        t->ring_end = end;
        return wf_team_schedule(t, builder, g->a);
    }
    if (met)
        t->can_start_early = false;
    else if (!rc)
        rc = run_steps(g);
    return finish_staged_call(t, rc ? rc : met);
}

/* ---- from the root ------------------------------------------------------- */

/* Returns the root's chunk for a step, out of the chunks of all members. */
static unsigned char *root_chunk(struct wf_team *t, uint32_t step)
{
    uint32_t chunks = (uint32_t)t->size * t->chunk_count;

    return t->staging + (size_t)(step % chunks) * t->chunk_bytes;
}

static bool reads_step(const struct wf_staging *g, uint32_t step, int rank)
{
    return !g->is_reader || g->is_reader(g, step, rank);
}

/* Waits until all readers of that step have read it. */
static int wait_for_readers(const struct wf_staging *g, uint32_t step)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r))
        if (reads_step(g, step, r))
            rc = wait_count(t, r, &t->shared->members[r].chunks_consumed,
                            step + 1);
    return rc;
}

static int write_from_root(struct wf_staging *g)
{
    struct wf_team *t = g->t;
    uint32_t chunks = (uint32_t)t->size * t->chunk_count;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (k >= chunks)
            rc = wait_for_readers(g, k - chunks);
        rc = rc ? rc : g->fill_chunk(g, k, root_chunk(t, k));
        wf_team_say_put(t, k + 1, rc);
    }
    return rc;
}

static int read_from_root(struct wf_staging *g)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (!reads_step(g, k, t->rank))
            continue;
        rc = wf_team_hear_put(t, g->a->root, k + 1);
        rc = rc ? rc : g->read_chunk(g, k, g->a->root, root_chunk(t, k));
        publish_consumed(t, k + 1);
    }
    return rc;
}

int wf_team_stage_from(struct wf_staging *g, wf_coll_builder *builder)
{
    struct wf_team *t = g->t;
    int rc;

    if (wf_team_from_ahead(g, &rc))
        return rc;
    if (wf_unlikely((int32_t)(t->call - t->lines_used - t->all_completed_call) >
                    0))
        wf_team_room(t, t->call - t->lines_used);
    wf_team_say_long(t, g->bytes, wf_team_large_way(t));
    rc = synchronize(g);
    if (rc == WF_TEAM_BY_SCHEDULE || (!rc && !wf_team_stage(t)))
        return wf_team_schedule(t, builder, g->a);
    t->can_start_early = false;
    if (!rc)
        rc = wf_team_at_root(g->a) ? write_from_root(g) : read_from_root(g);
    return finish_staged_call(t, rc);
}

/* ---- to the root --------------------------------------------------------- */

static int write_to_root(struct wf_staging *g)
{
    struct wf_team *t = g->t;
    wf_atomic_u64 *got = &t->shared->members[g->a->root].chunks_consumed;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        advance_ring(g, k);
        if (k > 1) /* at most the newest chunk is not read yet */
            rc = wait_count(t, g->a->root, got, k - 1);
        rc = rc ? rc : publish_chunk(g, k);
    }
    return rc;
}

static int read_at_root(struct wf_staging *g)
{
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        advance_ring(g, k);
        rc = read_chunks(g, k);
        publish_consumed(g->t, k + 1);
    }
    return rc;
}

int wf_team_stage_to(struct wf_staging *g, wf_coll_builder *builder)
{
    struct wf_team *t = g->t;

    if (!wf_team_stage(t))
        return wf_team_schedule(t, builder, g->a);
    t->can_start_early = false;
    wf_team_place(t, g->step_bytes);
    return finish_staged_call(t, wf_team_at_root(g->a) ? read_at_root(g)
                                                       : write_to_root(g));
}

int wf_team_stage_met(struct wf_staging *g, wf_coll_builder *builder)
{
    if (!wf_team_stage(g->t))
        return wf_team_schedule(g->t, builder, g->a);
    wf_team_place(g->t, g->step_bytes);
    return finish_staged_call(g->t, run_steps(g));
}
