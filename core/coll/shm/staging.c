/* Driving the chunks of a large collective through the staging ring: staging.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/staging.h"

#include "coll/shm/setup.h"
#include "coll/shm/tuning.h"
#include "coll/shm/wait.h"
#include "object/error.h"
#include "os/copy.h"

#define FAILED UINT32_MAX /* in place of a number of chunks */

enum { LONG_AGO = 1 << 16 /* calls */ };

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

void wf_staging_publish_chunks(struct wf_shmcoll *t, uint32_t count, int rc)
{
    /* pairs with wait_count() */
    wf_shmcoll_store_word(t, &t->shared->members[t->rank].chunks_published,
                          flag_of(t, rc ? FAILED : count));
    wf_shmcoll_notify_sleepers(t);
}

static void publish_consumed(struct wf_shmcoll *t, uint32_t count)
{
    wf_shmcoll_store_word(t, &t->shared->members[t->rank].chunks_consumed,
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
    uint64_t least = flag_of(t, count), seen = wf_shmcoll_load_word(t, word);
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

/* ---- copying ------------------------------------------------------------- */

/* DESIGN  As for the ring of plugins/shm (way.c): where two processors are far
 * from each other, taking a line back from the one that has read it costs many
 * times as much as a non-temporal store; where they are near, the reader of
 * such stores takes twice as long. So now and then one piece is copied each
 * way, and the second way is used until the next trial if it was that much
 * faster. */
void wf_staging_copy_in(struct wf_shmcoll *t, void *to, const void *from,
                        uint64_t n)
{
    struct wf_instance *wf = t->comm->wf;
    uint32_t turn = t->copy_count % WF_SHMCOLL_TRIAL_PERIOD;
    uint64_t start, pace;

    if (n < WF_SHMCOLL_TIMED_MIN) {
        memcpy(to, from, n);
        return;
    }
    t->copy_count++;
    start = turn < 2 ? wf_now(wf) : 0;
    if (turn == 1 || (turn > 1 && t->nontemporal))
        wf_copy_nontemporal(to, from, n);
    else
        memcpy(to, from, n);
    if (turn > 1)
        return;
    pace = ((wf_now(wf) - start) << 20) / n;
    t->nontemporal =
        turn == 1 && t->ns_per_mib > WF_SHMCOLL_TIMES_FASTER * pace;
    t->ns_per_mib = pace;
}

/* ---- all to all ---------------------------------------------------------- */

static uint64_t expected_bytes(const struct wf_staged_call *g, int rank)
{
    return g->length_of ? g->length_of(g, rank) : g->bytes;
}

/* Returns the error that one line names no way. A member that does not go
 * through the ring may have gone on. */
static int find_other_line(const struct wf_staged_call *g)
{
    struct wf_shmcoll *t = g->t;
    int r = 0, rc;

    while (wf_shmcoll_names_way(wf_load_relaxed(&wf_shmcoll_line(t, r)->flag)))
        if (++r == t->size)
            return MPI_SUCCESS;
    rc = wf_shmcoll_check_length(r, wf_shmcoll_bytes_of_line(t, r),
                                 expected_bytes(g, r));
    return rc ? rc : wf_shmcoll_report_other_count(r);
}

/* Waits for the lines of all; this member's names the way `own`. Returns a
 * negative number if a schedule is to run: a member wants one, or there is no
 * ring yet. The ring is made, when it is due, before lengths are compared,
 * because not all members may find that these differ. */
static int agree_with_all(const struct wf_staged_call *g, uint32_t own)
{
    struct wf_shmcoll *t = g->t;
    int agreed = wf_shmcoll_agree_on_way(t, own), rc = MPI_SUCCESS;

    if (agreed == WF_SHMCOLL_SOME_STAGED ||
        (agreed == WF_SHMCOLL_SOME_SCHEDULE && g->some_do_not_wait))
        rc = find_other_line(g);
    if (rc || agreed > 0)
        return rc ? rc : agreed;
    if (agreed != WF_SHMCOLL_ALL_STAGED || !wf_shmcoll_ensure_staging(t))
        return WF_SHMCOLL_ALL_SCHEDULE;
    for (int r = 0; r < t->size && !rc; r++)
        rc = wf_shmcoll_check_length(r, wf_shmcoll_bytes_of_line(t, r),
                                     expected_bytes(g, r));
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
    int rc = g->error;

    WF_ASSERT(step < g->steps);
    if (wf_likely(!rc))
        rc = g->fill_chunk(g, step, wf_staging_chunk_of(t, t->rank));
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
        if (wf_likely(!rc) && wf_staging_has_piece(g, step, r, t->rank))
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
    uint32_t at = t->ring_pos, end = t->ring_end,
             way = wf_staging_choose_way(t);
    int rc = MPI_SUCCESS, agreed;

    wf_shmcoll_begin_call(t, 0);
    wf_staging_advance_ring(t, g->step_bytes);
    g->first_chunk_filled =
        t->staging && t->can_start_early && !t->staging_failed;
    if (g->first_chunk_filled)
        rc = publish_chunk(g, 0);
    wf_staging_publish_call(t, expected_bytes(g, t->rank), way);
    agreed = agree_with_all(g, way);
    if (agreed < 0) { /* others have not moved their positions */
        t->ring_pos = at;
        t->ring_end = end;
        return wf_shmcoll_run_schedule(t, builder, g->a);
    }
    if (agreed)
        t->can_start_early = false;
    else if (!rc)
        rc = run_steps(g);
    return finish_staged_call(t, rc ? rc : agreed);
}

int wf_staging_run_synchronized(struct wf_staged_call *g,
                                wf_coll_builder *builder)
{
    if (!wf_shmcoll_ensure_staging(g->t))
        return wf_shmcoll_run_schedule(g->t, builder, g->a);
    wf_staging_advance_ring(g->t, g->step_bytes);
    return finish_staged_call(g->t, run_steps(g));
}

/* ---- from the root ------------------------------------------------------- */

/* The root's line:   bytes | 1 + the first chunk, or 0: there is no ring yet
 *
 * Every member remembers which call was the last in a chunk: the root of the
 * next call in that chunk waits until all have completed it. */

static uint32_t count_chunks(const struct wf_shmcoll *t)
{
    return (uint32_t)t->size * t->chunk_count;
}

/* Returns the root's chunk of a step, out of the chunks of all members. */
static unsigned char *root_chunk(struct wf_shmcoll *t, uint32_t first,
                                 uint32_t step)
{
    return t->staging +
           (size_t)((first + step) % count_chunks(t)) * t->chunk_bytes;
}

static uint32_t used_chunks(const struct wf_staged_call *g)
{
    uint32_t all = count_chunks(g->t);

    return g->steps < all ? g->steps : all;
}

static void remember_chunks(struct wf_shmcoll *t, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        t->chunk_last_call[i] = t->call;
    t->next_chunk = first + n;
}

static uint32_t choose_first_chunk(const struct wf_staged_call *g)
{
    uint32_t ahead = g->steps > 1 ? WF_SHMCOLL_LONG_AHEAD : WF_SHMCOLL_AHEAD,
             end = ahead * used_chunks(g), all = count_chunks(g->t);

    end = end < all ? end : all;
    return g->t->next_chunk + g->steps <= end ? g->t->next_chunk : 0;
}

/* Waits until all have completed that call, unless it is so long ago that they
 * have in any case. */
static void wait_call_completed(struct wf_shmcoll *t, uint32_t call)
{
    if (t->call - call < LONG_AGO &&
        (int32_t)(call - t->all_completed_call) > 0)
        wf_shmcoll_wait_all_completed(t, call);
}

/* Writes the root's line, when the chunks that it names are free. */
static void announce_chunks(struct wf_staged_call *g)
{
    struct wf_shmcoll *t = g->t;
    uint32_t first = 0;

    if (t->staging) {
        first = choose_first_chunk(g);
        wait_call_completed(t, t->last_staged_call);
        for (uint32_t k = 0; k < used_chunks(g); k++)
            wait_call_completed(t, t->chunk_last_call[first + k]);
        first++;
    }
    memcpy(wf_shmcoll_line(t, t->rank)->data + sizeof(uint64_t), &first,
           sizeof first);
    wf_staging_publish_call(t, g->bytes, WF_SHMCOLL_FLAG_STAGED);
}

/* Waits until all readers of that step have read it. */
static int wait_for_readers(const struct wf_staged_call *g, uint32_t step)
{
    struct wf_shmcoll *t = g->t;
    int rc = MPI_SUCCESS;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank && !rc;
         r = wf_shmcoll_next_rank(t, r))
        if (wf_staging_has_piece(g, step, t->rank, r))
            rc = wait_count(t, r, &t->shared->members[r].chunks_consumed,
                            step + 1);
    return rc;
}

static int write_from_root(struct wf_staged_call *g, uint32_t first)
{
    struct wf_shmcoll *t = g->t;
    uint32_t chunks = count_chunks(t);
    int rc = g->error;

    for (uint32_t k = 0; k < g->steps && (k == 0 || !rc); k++) {
        if (k >= chunks)
            rc = wait_for_readers(g, k - chunks);
        rc = rc ? rc : g->fill_chunk(g, k, root_chunk(t, first, k));
        wf_staging_publish_chunks(t, k + 1, rc);
    }
    if (wf_unlikely(rc)) { /* every member is to see the failure */
        t->staging_failed = true;
        wf_shmcoll_wait_all_completed(t, t->call);
    }
    return rc;
}

static int read_from_root(struct wf_staged_call *g, uint32_t first)
{
    struct wf_shmcoll *t = g->t;
    bool waits = g->steps > count_chunks(t); /* the root does, for readers */
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (!wf_staging_has_piece(g, k, g->a->root, t->rank))
            continue;
        rc = wf_staging_wait_chunks(t, g->a->root, k + 1);
        rc = rc ? rc : g->read_chunk(g, k, g->a->root, root_chunk(t, first, k));
        if (waits)
            publish_consumed(t, k + 1);
    }
    return rc;
}

/* Checks the root's line, in another member. */
static int check_announcement(const struct wf_staged_call *g, uint32_t first)
{
    int root = g->a->root,
        rc = wf_shmcoll_check_length(root, wf_shmcoll_bytes_of_line(g->t, root),
                                     g->bytes);

    return rc || first + (uint64_t)used_chunks(g) <= count_chunks(g->t)
               ? rc
               : wf_error(MPI_ERR_OTHER,
                          "rank %d writes to chunks that do not exist", root);
}

int wf_staging_run_from_root(struct wf_staged_call *g, wf_coll_builder *builder)
{
    struct wf_shmcoll *t = g->t;
    bool root = wf_shmcoll_is_root(g->a);
    uint32_t first;
    int rc = MPI_SUCCESS;

    if (root)
        announce_chunks(g);
    memcpy(&first, wf_shmcoll_line(t, g->a->root)->data + sizeof(uint64_t),
           sizeof first);
    if (!first && !wf_shmcoll_ensure_staging(t))
        return wf_shmcoll_run_schedule(t, builder, g->a);
    first -= first > 0;
    t->can_start_early = false;
    if (!root)
        rc = check_announcement(g, first);
    if (wf_unlikely(rc)) { /* the call may use any chunk */
        remember_chunks(t, 0, count_chunks(t));
        publish_consumed(t, FAILED - 1);
    } else {
        rc = root ? write_from_root(g, first) : read_from_root(g, first);
        remember_chunks(t, first, used_chunks(g));
    }
    wf_shmcoll_complete_call(t);
    return rc;
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
