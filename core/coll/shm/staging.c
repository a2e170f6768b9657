/* Driving the chunks of a large collective through the staging ring: staging.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/staging.h"

#include "coll/shm/parts.h"
#include "coll/shm/setup.h"
#include "coll/shm/staging_ahead.h"
#include "coll/shm/wait.h"
#include "report/error.h"

#define FAILED UINT32_MAX /* in place of a number of chunks */

/* ---- counters ------------------------------------------------------------ */

static uint64_t flag_of(const struct wf_shmcoll *t, uint32_t count)
{
    return (uint64_t)t->call << 32 | count;
}

void wf_staging_publish_call(struct wf_shmcoll *t, uint64_t bytes, uint32_t way)
{
    memcpy(wf_shmcoll_line(t, t->rank)->data, &bytes, sizeof bytes);
    wf_shmcoll_publish_flag(t, bytes, way);
}

uint64_t wf_staging_bytes_of(struct wf_shmcoll *t, int rank, uint64_t word)
{
    uint64_t bytes = wf_shmcoll_bytes_of(word);

    if (word & WF_SHMCOLL_FLAG_STAGED)
        memcpy(&bytes, wf_shmcoll_line(t, rank)->data, sizeof bytes);
    return bytes;
}

void wf_staging_publish_chunks(struct wf_shmcoll *t, uint32_t count, int rc)
{
    /* pairs with wait_count() */
    wf_store_release(&t->shared->members[t->rank].chunks_published,
                     flag_of(t, rc ? FAILED : count));
    wf_shmcoll_notify_sleepers(t);
}

static void publish_consumed(struct wf_shmcoll *t, uint32_t count)
{
    wf_store_release(&t->shared->members[t->rank].chunks_consumed,
                     flag_of(t, count));
    wf_shmcoll_notify_sleepers(t);
}

static int report_failed_member(int rank)
{
    return wf_error(MPI_ERR_OTHER, "rank %d gave up this collective", rank);
}

static int wait_count(struct wf_shmcoll *t, int rank, const wf_atomic_u64 *word,
                      uint32_t count)
{
    uint64_t least = flag_of(t, count), seen = wf_load_acquire(word);
    int rc = MPI_SUCCESS;

    if (wf_unlikely(!wf_shmcoll_is_reached(seen, least)))
        rc = wf_shmcoll_wait_word(t, rank, word, least, &seen);
    if (wf_unlikely(!rc && seen == flag_of(t, FAILED)))
        rc = report_failed_member(rank);
    return rc;
}

int wf_staging_wait_chunks(struct wf_shmcoll *t, int rank, uint32_t count)
{
    return wait_count(t, rank, &t->shared->members[rank].chunks_published,
                      count);
}

/* ---- synchronization ----------------------------------------------------- */

static uint64_t expected_bytes(const struct wf_staged_call *g, int rank)
{
    return g->length_of ? g->length_of(g, rank) : g->bytes;
}

int wf_staging_count_mismatch(int r)
{
    return wf_error(MPI_ERR_COUNT,
                    "rank %d calls this collective with other counts", r);
}

static int check_line(const struct wf_staged_call *g, int r, uint64_t word)
{
    uint64_t got = wf_staging_bytes_of(g->t, r, word);
    int rc = wf_shmcoll_check_length(r, got, expected_bytes(g, r));

    if (wf_unlikely(!rc && !(word & WF_SHMCOLL_FLAG_STAGED)))
        rc = wf_staging_count_mismatch(r);
    return rc;
}

/* Some members want a schedule: so all must run it. A member that may go on
 * without reading all lines has done so. */
static int agree_on_schedule(const struct wf_staged_call *g,
                             const uint64_t *word)
{
    for (int r = 0; g->some_do_not_wait && r < g->t->size; r++)
        if (!(word[r] & (WF_SHMCOLL_FLAG_SCHEDULE | WF_SHMCOLL_FLAG_STAGED)))
            return wf_staging_count_mismatch(r);
    return WF_SHMCOLL_RUN_SCHEDULE;
}

/* Waits for the lines of all; the own line is written. Returns
 * WF_SHMCOLL_RUN_SCHEDULE, an error, or 0: all go through the ring. */
static int wait_all_lines(const struct wf_staged_call *g)
{
    struct wf_shmcoll *t = g->t;
    uint64_t word[WF_SHMCOLL_RANKS_MAX], any = 0;
    int rc = MPI_SUCCESS;

    for (int r = 0; r < t->size && !rc; r++) {
        rc = wf_shmcoll_wait_flag(t, r, &word[r]);
        any |= word[r];
    }
    if (rc)
        return rc;
    t->all_completed_call = t->call - 1;
    if (wf_shmcoll_wants_schedule(any))
        return agree_on_schedule(g, word);
    for (int r = 0; r < t->size && !rc; r++)
        rc = check_line(g, r, word[r]);
    return rc;
}

static int finish_staged_call(struct wf_shmcoll *t, int rc)
{
    WF_ASSERT(t->call != t->last_staged_call);
    t->last_staged_call = t->call;
    if (rc) { /* no other is to wait for this member */
        t->staging_failed = true;
        wf_staging_publish_chunks(t, 0, rc);
        publish_consumed(t, FAILED - 1);
    }
    wf_shmcoll_complete_call(t);
    return rc;
}

/* ---- all to all ---------------------------------------------------------- */

/* Moves the ring position for a step; that of the first step is set when the
 * call begins. */
static void advance_ring(struct wf_staged_call *g, uint32_t step)
{
    if (step > 0)
        wf_staging_advance_ring(g->t, g->step_bytes);
}

static int publish_chunk(struct wf_staged_call *g, uint32_t step)
{
    struct wf_shmcoll *t = g->t;
    int rc = g->fill_chunk(g, step, wf_staging_chunk_of(t, t->rank));

    WF_ASSERT(step < g->steps);
    wf_staging_publish_chunks(t, step + 1, rc);
    return rc;
}

static int read_chunks(struct wf_staged_call *g, uint32_t step)
{
    struct wf_shmcoll *t = g->t;
    int rc = MPI_SUCCESS;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank && !rc;
         r = wf_shmcoll_next_rank(t, r)) {
        rc = wf_staging_wait_chunks(t, r, step + 1);
        if (wf_likely(!rc))
            rc = g->read_chunk(g, step, r, wf_staging_chunk_of(t, r));
    }
    return rc;
}

static int run_one_step(struct wf_staged_call *g, uint32_t step)
{
    int rc = MPI_SUCCESS;

    if (g->run_step)
        return g->run_step(g, step);
    if (step > 0 || !g->first_chunk_filled)
        rc = publish_chunk(g, step);
    return rc ? rc : read_chunks(g, step);
}

static int run_steps(struct wf_staged_call *g)
{
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        advance_ring(g, k);
        rc = run_one_step(g, k);
    }
    g->t->can_start_early = true;
    return rc;
}

int wf_staging_run_all_to_all(struct wf_staged_call *g,
                              wf_coll_builder *builder)
{
    struct wf_shmcoll *t = g->t;
    uint32_t at = t->ring_pos, end = t->ring_end;
    int rc = MPI_SUCCESS, met;

    wf_shmcoll_begin_call(t, 0);
    wf_staging_advance_ring(t, g->step_bytes);
    g->first_chunk_filled =
        t->staging && t->can_start_early && !t->staging_failed;
    if (g->first_chunk_filled)
        rc = publish_chunk(g, 0);
    wf_staging_publish_call(t, expected_bytes(g, t->rank),
                            wf_staging_choose_way(t));
    met = wait_all_lines(g);
    if (met == WF_SHMCOLL_RUN_SCHEDULE ||
        (!met && !wf_shmcoll_ensure_staging(t))) {
        /* a member that wanted the schedule has not moved its position */
        t->ring_pos = at;
        t->ring_end = end;
        return wf_shmcoll_run_schedule(t, builder, g->a);
    }
    if (met)
        t->can_start_early = false;
    else if (!rc)
        rc = run_steps(g);
    return finish_staged_call(t, rc ? rc : met);
}

/* ---- from the root ------------------------------------------------------- */

/* Returns the root's chunk for a step, out of the chunks of all members. */
static unsigned char *root_chunk(struct wf_shmcoll *t, uint32_t step)
{
    uint32_t chunks = (uint32_t)t->size * t->chunk_count;

    return t->staging + (size_t)(step % chunks) * t->chunk_bytes;
}

static bool reads_step(const struct wf_staged_call *g, uint32_t step, int rank)
{
    return !g->is_reader || g->is_reader(g, step, rank);
}

/* Waits until all readers of that step have read it. */
static int wait_for_readers(const struct wf_staged_call *g, uint32_t step)
{
    struct wf_shmcoll *t = g->t;
    int rc = MPI_SUCCESS;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank && !rc;
         r = wf_shmcoll_next_rank(t, r))
        if (reads_step(g, step, r))
            rc = wait_count(t, r, &t->shared->members[r].chunks_consumed,
                            step + 1);
    return rc;
}

static int write_from_root(struct wf_staged_call *g)
{
    struct wf_shmcoll *t = g->t;
    uint32_t chunks = (uint32_t)t->size * t->chunk_count;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (k >= chunks)
            rc = wait_for_readers(g, k - chunks);
        rc = rc ? rc : g->fill_chunk(g, k, root_chunk(t, k));
        wf_staging_publish_chunks(t, k + 1, rc);
    }
    return rc;
}

static int read_from_root(struct wf_staged_call *g)
{
    struct wf_shmcoll *t = g->t;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (!reads_step(g, k, t->rank))
            continue;
        rc = wf_staging_wait_chunks(t, g->a->root, k + 1);
        rc = rc ? rc : g->read_chunk(g, k, g->a->root, root_chunk(t, k));
        publish_consumed(t, k + 1);
    }
    return rc;
}

int wf_staging_run_from_root(struct wf_staged_call *g, wf_coll_builder *builder)
{
    struct wf_shmcoll *t = g->t;
    int rc;

    if (wf_staging_run_ahead(g, &rc))
        return rc;
    if (wf_unlikely((int32_t)(t->call - t->lines_used - t->all_completed_call) >
                    0))
        wf_shmcoll_wait_all_completed(t, t->call - t->lines_used);
    wf_staging_publish_call(t, g->bytes, wf_staging_choose_way(t));
    rc = wait_all_lines(g);
    if (rc == WF_SHMCOLL_RUN_SCHEDULE || (!rc && !wf_shmcoll_ensure_staging(t)))
        return wf_shmcoll_run_schedule(t, builder, g->a);
    t->can_start_early = false;
    if (!rc)
        rc = wf_shmcoll_is_root(g->a) ? write_from_root(g) : read_from_root(g);
    return finish_staged_call(t, rc);
}

/* ---- to the root --------------------------------------------------------- */

static int write_to_root(struct wf_staged_call *g)
{
    struct wf_shmcoll *t = g->t;
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

static int read_at_root(struct wf_staged_call *g)
{
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        advance_ring(g, k);
        rc = read_chunks(g, k);
        publish_consumed(g->t, k + 1);
    }
    return rc;
}

int wf_staging_run_to_root(struct wf_staged_call *g, wf_coll_builder *builder)
{
    struct wf_shmcoll *t = g->t;

    if (!wf_shmcoll_ensure_staging(t))
        return wf_shmcoll_run_schedule(t, builder, g->a);
    t->can_start_early = false;
    wf_staging_advance_ring(t, g->step_bytes);
    return finish_staged_call(t, wf_shmcoll_is_root(g->a) ? read_at_root(g)
                                                          : write_to_root(g));
}

int wf_staging_run_synchronized(struct wf_staged_call *g,
                                wf_coll_builder *builder)
{
    if (!wf_shmcoll_ensure_staging(g->t))
        return wf_shmcoll_run_schedule(g->t, builder, g->a);
    wf_staging_advance_ring(g->t, g->step_bytes);
    return finish_staged_call(g->t, run_steps(g));
}
