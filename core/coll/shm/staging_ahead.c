/* Calls from a root through the staging ring, without synchronization: the root
 * writes when the chunks it takes are free, and goes on; a member reads when
 * the root has written, and goes on. So several calls are under way, each in
 * chunks of its own, and where ranks outnumber CPUs a turn of the run queue
 * carries as many.
 *
 *   root's line   bytes | 1 + the first chunk, of those of all members in a row
 *
 * Every member remembers which call was the last in a chunk: the root of the
 * next call in that chunk waits until all have completed it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/staging_ahead.h"

#include "coll/shm/staging.h"
#include "coll/shm/wait.h"
#include "report/error.h"

enum {
    CALLS_AHEAD = 4,      /* calls under way, of one chunk each */
    LONG_CALLS_AHEAD = 2, /* calls under way, of several chunks */
    LONG_AGO = 1 << 16
};

static uint32_t count_chunks(const struct wf_shmcoll *t)
{
    return (uint32_t)t->size * t->chunk_count;
}

static unsigned char *chunk_at(struct wf_shmcoll *t, uint32_t i)
{
    return t->staging + (size_t)i * t->chunk_bytes;
}

/* Returns the place in the root's line that names the first chunk. */
static unsigned char *first_chunk_field(struct wf_shmcoll *t, int root)
{
    return wf_shmcoll_line(t, root)->data + sizeof(uint64_t);
}

static void write_first_chunk(struct wf_shmcoll *t, uint32_t first)
{
    memcpy(first_chunk_field(t, t->rank), &first, sizeof first);
}

static void remember_chunks(struct wf_shmcoll *t, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        t->chunk_last_call[i] = t->call;
    t->next_chunk = first + n;
}

/* ---- the root ------------------------------------------------------------ */

static uint32_t choose_first_chunk(const struct wf_staged_call *g)
{
    uint32_t ahead = g->steps > 1 ? LONG_CALLS_AHEAD : CALLS_AHEAD;
    uint32_t end = ahead * g->steps, all = count_chunks(g->t);

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

static int write_ahead(struct wf_staged_call *g, uint32_t first)
{
    struct wf_shmcoll *t = g->t;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        rc = g->fill_chunk(g, k, chunk_at(t, first + k));
        wf_staging_publish_chunks(t, k + 1, rc);
    }
    remember_chunks(t, first, g->steps);
    if (wf_unlikely(rc)) { /* every member is to see the failure */
        t->staging_failed = true;
        wf_shmcoll_wait_all_completed(t, t->call);
    }
    return rc;
}

static bool run_root_ahead(struct wf_staged_call *g, int *rc)
{
    struct wf_shmcoll *t = g->t;
    uint32_t first;

    if (!t->staging || t->staging_failed || g->steps > count_chunks(t)) {
        write_first_chunk(t, 0);
        return false;
    }
    first = choose_first_chunk(g);
    wait_call_completed(t, t->last_staged_call);
    for (uint32_t k = 0; k < g->steps; k++)
        wait_call_completed(t, t->chunk_last_call[first + k]);
    write_first_chunk(t, first + 1);
    wf_staging_publish_call(t, g->bytes, WF_SHMCOLL_FLAG_STAGED);
    *rc = write_ahead(g, first);
    return true;
}

/* ---- another member ------------------------------------------------------ */

static int read_ahead(struct wf_staged_call *g, uint32_t first)
{
    struct wf_shmcoll *t = g->t;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (g->is_reader && !g->is_reader(g, k, t->rank))
            continue;
        rc = wf_staging_wait_chunks(t, g->a->root, k + 1);
        rc = rc ? rc : g->read_chunk(g, k, g->a->root, chunk_at(t, first + k));
    }
    remember_chunks(t, first, g->steps);
    return rc;
}

static bool follow_root(struct wf_staged_call *g, int *rc)
{
    struct wf_shmcoll *t = g->t;
    int root = g->a->root;
    uint64_t word = wf_load_acquire(&wf_shmcoll_line(t, root)->flag);
    uint32_t first;

    memcpy(&first, first_chunk_field(t, root), sizeof first);
    if (!first)
        return false;
    *rc = wf_shmcoll_check_length(root, wf_staging_bytes_of(t, root, word),
                                  g->bytes);
    if (!*rc &&
        (!t->staging || first - 1 + (uint64_t)g->steps > count_chunks(t)))
        *rc = wf_error(MPI_ERR_OTHER,
                       "rank %d writes to chunks that do not exist", root);
    if (!*rc)
        *rc = read_ahead(g, first - 1);
    else
        remember_chunks(t, 0, count_chunks(t)); /* it may be any of them */
    return true;
}

bool wf_staging_run_ahead(struct wf_staged_call *g, int *rc)
{
    struct wf_shmcoll *t = g->t;

    if (!(wf_shmcoll_is_root(g->a) ? run_root_ahead(g, rc)
                                   : follow_root(g, rc)))
        return false;
    t->can_start_early = false;
    wf_shmcoll_complete_call(t);
    return true;
}
