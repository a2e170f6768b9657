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
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/team_stage.h"

enum {
    AHEAD = 4,      /* calls under way, of one chunk each */
    AHEAD_LONG = 2, /* calls under way, of several chunks */
    LONG_AGO = 1 << 16
};

static uint32_t chunks_of(const struct wf_team *t)
{
    return (uint32_t)t->size * t->chunks;
}

static unsigned char *chunk_at(struct wf_team *t, uint32_t i)
{
    return t->stage + (size_t)i * t->chunk;
}

/* Returns the place in the root's line that names the first chunk. */
static unsigned char *place_of_first(struct wf_team *t, int root)
{
    return wf_team_line(t, root)->data + sizeof(uint64_t);
}

static void say_first(struct wf_team *t, uint32_t first)
{
    memcpy(place_of_first(t, t->rank), &first, sizeof first);
}

static void remember(struct wf_team *t, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        t->written[i] = t->call;
    t->next = first + n;
}

/* ---- the root ------------------------------------------------------------------- */

static uint32_t choose(const struct wf_staging *g)
{
    uint32_t ahead = g->steps > 1 ? AHEAD_LONG : AHEAD;
    uint32_t end = ahead * g->steps, all = chunks_of(g->t);

    end = end < all ? end : all;
    return g->t->next + g->steps <= end ? g->t->next : 0;
}

/* Waits until all have completed that call, unless it is so long ago that they
 * have in any case. */
static void await_done(struct wf_team *t, uint32_t call)
{
    if (t->call - call < LONG_AGO && (int32_t)(call - t->freed) > 0)
        wf_team_room(t, call);
}

static int write_ahead(struct wf_staging *g, uint32_t first)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        rc = g->put(g, k, chunk_at(t, first + k));
        wf_team_say_put(t, k + 1, rc);
    }
    remember(t, first, g->steps);
    if (wf_unlikely(rc)) { /* every member is to see the failure */
        t->spoiled = true;
        wf_team_room(t, t->call);
    }
    return rc;
}

static bool root_runs_ahead(struct wf_staging *g, int *rc)
{
    struct wf_team *t = g->t;
    uint32_t first;

    if (!t->stage || t->spoiled || g->steps > chunks_of(t)) {
        say_first(t, 0);
        return false;
    }
    first = choose(g);
    await_done(t, t->staged);
    for (uint32_t k = 0; k < g->steps; k++)
        await_done(t, t->written[first + k]);
    say_first(t, first + 1);
    wf_team_say_long(t, g->bytes, WF_TEAM_STAGED);
    *rc = write_ahead(g, first);
    return true;
}

/* ---- another member --------------------------------------------------------------- */

static int read_ahead(struct wf_staging *g, uint32_t first)
{
    struct wf_team *t = g->t;
    int rc = MPI_SUCCESS;

    for (uint32_t k = 0; k < g->steps && !rc; k++) {
        if (g->reads && !g->reads(g, k, t->rank))
            continue;
        rc = wf_team_hear_put(t, g->a->root, k + 1);
        rc = rc ? rc : g->take(g, k, g->a->root, chunk_at(t, first + k));
    }
    remember(t, first, g->steps);
    return rc;
}

static bool follows(struct wf_staging *g, int *rc)
{
    struct wf_team *t = g->t;
    int root = g->a->root;
    uint64_t word = wf_load_acquire(&wf_team_line(t, root)->word);
    uint32_t first;

    memcpy(&first, place_of_first(t, root), sizeof first);
    if (!first)
        return false;
    *rc = wf_team_length(root, wf_team_long_bytes(t, root, word), g->bytes);
    if (!*rc && (!t->stage || first - 1 + (uint64_t)g->steps > chunks_of(t)))
        *rc = wf_error(MPI_ERR_OTHER, "rank %d writes where nothing is", root);
    if (!*rc)
        *rc = read_ahead(g, first - 1);
    else
        remember(t, 0, chunks_of(t)); /* it may be any of them */
    return true;
}

bool wf_team_from_ahead(struct wf_staging *g, int *rc)
{
    struct wf_team *t = g->t;

    if (!(wf_team_at_root(g->a) ? root_runs_ahead(g, rc) : follows(g, rc)))
        return false;
    t->early = false;
    wf_team_done(t);
    return true;
}
