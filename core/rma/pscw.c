/* Synchronisation of groups (MPI-5.0 s12.5.2): post, start, complete, wait.
 *
 *      origin                         target
 *      MPI_Win_start                  MPI_Win_post
 *                        <-- POST --
 *      operations wait for it, then  --->
 *      MPI_Win_complete
 *      waits for POST    -- COMPLETE ->  MPI_Win_wait
 *
 * POST and COMPLETE are messages; or, where all members of the window share
 * memory, words there that count them.
 *
 * A wait is ended by POST or COMPLETE, or by the death of the other process,
 * which is watched.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/pscw.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "rma/epoch.h"
#include "rma/exposed.h"
#include "rma/finish.h"
#include "rma/map_wait.h"
#include "rma/message.h"
#include "rma/op_queue.h"
#include "rma/open.h"
#include "rma/operation.h"

/* ---- groups -------------------------------------------------------------- */

static int report_no_memory(void)
{
    return wf_error(MPI_ERR_NO_MEM, "no memory for the ranks of a group");
}

/* Finds the ranks in the window of the members of a group. */
static int find_ranks(const struct wf_win *win, const struct wf_group *g,
                      int *ranks)
{
    struct wf_group_index x;
    int rc = MPI_SUCCESS;

    if (!wf_group_index(&x, win->comm->local))
        rc = report_no_memory();
    for (int i = 0; i < g->size && rc == MPI_SUCCESS; i++) {
        ranks[i] = wf_group_lookup(&x, wf_group_proc(g, i));
        if (ranks[i] == MPI_UNDEFINED)
            rc = wf_error(MPI_ERR_GROUP,
                          "rank %d of the group is not a member of %s", i,
                          wf_win_name(win).text);
    }
    wf_group_index_free(&x);
    return rc;
}

/* Keeps the group and its ranks, instead of those of the last epoch. */
static int keep_group(const struct wf_win *win, struct wf_win_group *kept,
                      struct wf_group *g)
{
    int *ranks = malloc(((size_t)g->size + 1) * sizeof *ranks);
    int rc = ranks ? find_ranks(win, g, ranks) : report_no_memory();

    if (rc) {
        free(ranks);
        return rc;
    }
    wf_group_get(g);
    wf_win_release_group(kept);
    kept->group = g;
    kept->ranks = ranks;
    return MPI_SUCCESS;
}

/* Takes a group for an epoch that begins, and connects to its members, so that
 * their state exists. */
static int take_group(struct wf_win *win, struct wf_win_group *kept,
                      struct wf_group *g)
{
    int rc = kept->group == g ? MPI_SUCCESS : keep_group(win, kept, g);

    for (int i = 0; i < g->size && rc == MPI_SUCCESS; i++)
        (void)wf_win_reach(win, kept->ranks[i], &rc);
    return rc;
}

static struct wf_win_peer *member_of(const struct wf_win *win,
                                     const struct wf_win_group *g, int i)
{
    return win->peers[g->ranks[i]];
}

/* ---- POST and COMPLETE --------------------------------------------------- */

/* Returns what a member writes for another one. */
static struct wf_lock_node *find_node(const struct wf_win *win, uint32_t writer,
                                      uint32_t reader)
{
    return wf_rma_lock_nodes(wf_map_header(win->map, reader)) + writer;
}

static void send_word(struct wf_win_peer *p, enum wf_rma_kind kind)
{
    struct wf_lock_node *n = find_node(p->win, p->win->map->me, p->mate);
    wf_atomic_u32 *count = kind == WF_RMA_POST ? &n->posts : &n->completes;

    wf_store_release(count, wf_load_relaxed(count) + 1); /* take_words */
}

/* Tells a member POST or COMPLETE; wake_members is to follow. */
static void tell_member(struct wf_win_peer *p, enum wf_rma_kind kind)
{
    if (wf_map_has_lock_words(p->win))
        send_word(p, kind);
    else
        wf_rma_send(p, &(struct wf_rma_words){kind, 0, 0});
}

/* Wakes those of the members that sleep and may wait for words. */
static void wake_members(struct wf_win *win, const struct wf_win_group *g)
{
    if (wf_map_has_lock_words(win))
        wf_map_wake_members(win, g->ranks, g->group->size);
}

/* Takes what a member has told by its words, as messages are taken when they
 * arrive. */
static void take_words(struct wf_win_peer *p)
{
    const struct wf_lock_node *n;
    uint32_t completes;

    if (!wf_map_has_lock_words(p->win))
        return;
    n = find_node(p->win, p->mate, p->win->map->me);
    completes = wf_load_acquire(&n->completes); /* pairs with send_word */
    p->completes += completes - p->completes_taken;
    p->completes_taken = completes;
    /* pairs with send_word */
    while (p->posts_taken != wf_load_acquire(&n->posts)) {
        p->posts_taken++;
        wf_pscw_take_post(p);
    }
}

/* Waits for done(p), which follows when the member tells `kind`; may return
 * early. */
static void await_member(struct wf_win_peer *p, enum wf_rma_kind kind,
                         bool (*done)(void *))
{
    const struct wf_lock_node *n;

    if (!wf_map_has_lock_words(p->win)) {
        wf_win_wait(p->win, p, done, p);
        return;
    }
    n = find_node(p->win, p->mate, p->win->map->me);
    if (kind == WF_RMA_POST)
        wf_map_await_word(p->win, &n->posts, p->posts_taken, p->mate);
    else
        wf_map_await_word(p->win, &n->completes, p->completes_taken, p->mate);
}

/* ---- the target ---------------------------------------------------------- */

static int check_post(const struct wf_win *win)
{
    if (win->exposed)
        return wf_error(MPI_ERR_RMA_SYNC,
                        "%s is exposed already: call MPI_Win_wait first",
                        wf_win_name(win).text);
    if (wf_win_access(win) == WF_ACCESS_FENCE && win->fence_used)
        return wf_error(MPI_ERR_RMA_SYNC,
                        "MPI_Win_post in a fence epoch of %s: end it with "
                        "MPI_MODE_NOSUCCEED first",
                        wf_win_name(win).text);
    return MPI_SUCCESS;
}

int wf_mpi_win_post(struct wf_instance *wf, struct wf_group *group, int assert,
                    struct wf_win *win)
{
    int rc = wf_epoch_check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE |
                                               MPI_MODE_NOPUT);

    if (rc == MPI_SUCCESS)
        rc = check_post(win);
    if (rc == MPI_SUCCESS)
        rc = take_group(win, &win->origins, group);
    if (rc)
        return rc;
    win->exposed = true;
    if (assert & MPI_MODE_NOCHECK)
        return MPI_SUCCESS;
    for (int i = 0; i < group->size; i++)
        tell_member(member_of(win, &win->origins, i), WF_RMA_POST);
    wake_members(win, &win->origins);
    return MPI_SUCCESS;
}

static bool has_completed(void *peer)
{
    struct wf_win_peer *p = peer;

    take_words(p);
    return p->completes || wf_win_peer_is_lost(p);
}

/* Returns a member that has not called MPI_Win_complete, or NULL. */
static struct wf_win_peer *find_incomplete(const struct wf_win *win)
{
    const struct wf_win_group *g = &win->origins;

    for (int i = 0; i < g->group->size; i++)
        if (!has_completed(member_of(win, g, i)))
            return member_of(win, g, i);
    return NULL;
}

static int end_exposure(struct wf_win *win)
{
    const struct wf_win_group *g = &win->origins;
    int rc = MPI_SUCCESS;

    for (int i = 0; i < g->group->size; i++) {
        struct wf_win_peer *p = member_of(win, g, i);
        if (p->completes)
            p->completes--;
        else if (rc == MPI_SUCCESS)
            rc = wf_win_record_loss(p);
    }
    win->exposed = false;
    return rc;
}

static int check_exposed(const struct wf_win *win)
{
    if (wf_likely(win->exposed))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_RMA_SYNC, "MPI_Win_post was not called on %s",
                    wf_win_name(win).text);
}

int wf_mpi_win_wait(struct wf_instance *wf, struct wf_win *win)
{
    struct wf_win_peer *p;
    int rc = check_exposed(win);

    if (rc)
        return rc;
    p = find_incomplete(win);
    if (!p)
        wf_epoch_poll_sometimes(win);
    for (; p; p = find_incomplete(win))
        await_member(p, WF_RMA_COMPLETE, has_completed);
    return end_exposure(win);
}

int wf_mpi_win_test(struct wf_instance *wf, struct wf_win *win, int *flag)
{
    int rc = check_exposed(win);

    if (rc)
        return rc;
    if (find_incomplete(win))
        wf_win_poll(win);
    *flag = !find_incomplete(win);
    return *flag ? end_exposure(win) : MPI_SUCCESS;
}

/* ---- the origin ---------------------------------------------------------- */

void wf_pscw_take_post(struct wf_win_peer *p)
{
    if (!p->in_start || p->posted) {
        p->posts++;
        return;
    }
    p->posted = true;
    wf_open_publish_peer(p);
    wf_rma_pump(p);
}

static void begin_access(struct wf_win_peer *p, bool nocheck)
{
    take_words(p);
    p->in_start = true;
    p->posted = nocheck || p->posts > 0;
    if (!nocheck && p->posts)
        p->posts--;
    wf_open_publish_peer(p);
}

int wf_mpi_win_start(struct wf_instance *wf, struct wf_group *group, int assert,
                     struct wf_win *win)
{
    int rc = wf_epoch_check_assert(assert, MPI_MODE_NOCHECK);

    if (rc == MPI_SUCCESS)
        rc = wf_epoch_check_open(win, "MPI_Win_start");
    if (rc == MPI_SUCCESS)
        rc = take_group(win, &win->targets, group);
    if (rc)
        return rc;
    for (int i = 0; i < group->size; i++)
        begin_access(member_of(win, &win->targets, i),
                     assert &MPI_MODE_NOCHECK);
    wf_open_set_access(win, WF_ACCESS_START);
    return MPI_SUCCESS;
}

static bool is_posted(void *peer)
{
    struct wf_win_peer *p = peer;

    take_words(p);
    return p->posted || wf_win_peer_is_lost(p);
}

void wf_pscw_await_post(struct wf_win_peer *p)
{
    while (!is_posted(p))
        await_member(p, WF_RMA_POST, is_posted);
}

static bool is_ready(void *peer)
{
    struct wf_win_peer *p = peer;

    take_words(p);
    return wf_win_peer_is_lost(p) ? p->pending == 0
                                  : p->posted && wf_win_peer_is_local(p);
}

/* Tells the members with which all is done. Returns one that is left, or
 * NULL. */
static struct wf_win_peer *complete_ready(struct wf_win *win, int *rc)
{
    struct wf_win_peer *left = NULL;

    for (int i = 0; i < win->targets.group->size; i++) {
        struct wf_win_peer *p = member_of(win, &win->targets, i);

        if (!p->in_start)
            continue;
        wf_exposed_flush(p);
        if (!is_ready(p)) {
            left = p;
            wf_rma_push(p);
            continue;
        }
        p->in_start = false;
        wf_open_publish_peer(p);
        p->unconfirmed = false;
        wf_rma_mark_clean(p);
        tell_member(p, WF_RMA_COMPLETE);
        int error = wf_epoch_take_error(p);
        *rc = *rc ? *rc : error;
    }
    wake_members(win, &win->targets);
    return left;
}

int wf_mpi_win_complete(struct wf_instance *wf, struct wf_win *win)
{
    struct wf_win_peer *p;
    int rc = MPI_SUCCESS;

    if (wf_win_access(win) != WF_ACCESS_START)
        return wf_error(MPI_ERR_RMA_SYNC, "MPI_Win_start was not called on %s",
                        wf_win_name(win).text);
    while ((p = complete_ready(win, &rc)))
        await_member(p, WF_RMA_POST, is_ready);
    wf_open_set_access(win, WF_ACCESS_NONE);
    return rc;
}
