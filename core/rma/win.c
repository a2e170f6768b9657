/* Windows: their life, the state about other members, and their errors.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/win.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/type.h"
#include "group/describe_wait.h"
#include "group/endpoint_mask.h"
#include "group/raise.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/info.h"
#include "progress/wait.h"
#include "protocol/comm_route.h"
#include "protocol/helper.h"
#include "protocol/helper_requests.h"
#include "protocol/queues.h"
#include "report/error.h"
#include "rma/epoch.h"
#include "rma/exposed.h"
#include "rma/map.h"
#include "rma/mapped.h"
#include "rma/open.h"
#include "rma/owner.h"
#include "rma/target.h"

struct wf_win *wf_win_of(MPI_Win handle)
{
    return wf_win_of_handle(handle);
}

struct wf_instance *wf_win_engine(const struct wf_win *win)
{
    return win->wf;
}

/* ---- life ---------------------------------------------------------------- */

struct wf_win *wf_win_begin(struct wf_instance *wf, size_t members)
{
    struct wf_win *win =
        calloc(1, sizeof *win + members * sizeof win->open_targets[0]);

    if (!win)
        return NULL;
    wf_object_init(&win->object, WF_KIND_WIN);
    win->wf = wf;
    win->model = MPI_WIN_UNIFIED;
    win->errhandler = wf_errhandler_of(MPI_ERRORS_ARE_FATAL);
    wf_list_init(&win->link);
    wf_list_init(&win->dirty);
    wf_list_init(&win->waiters);
    win->members = calloc(members, sizeof *win->members);
    win->peers = calloc(members, sizeof *win->peers);
    win->open_target_count = (uint32_t)members;
    if (win->members && win->peers)
        return win;
    wf_win_put(win);
    return NULL;
}

void wf_win_get(struct wf_win *win)
{
    win->object.refs++;
}

void wf_win_release_group(struct wf_win_group *g)
{
    if (g->group)
        wf_group_put(g->group);
    free(g->ranks);
}

static void free_peer(struct wf_win_peer *p)
{
    if (!p)
        return;
    wf_rma_drop_kept(p);
    wf_rma_drop_list(p);
    if (p->watched)
        wf_flag_wait_end(p->win->wf, &p->watch);
    if (p->sent_type)
        wf_type_put(p->sent_type);
    if (p->type)
        wf_type_put(p->type);
    free(p->words);
    free(p);
}

void wf_win_put(struct wf_win *win)
{
    if (--win->object.refs > 0)
        return;
    win->object.kind = WF_KIND_DEAD;
    wf_windows_remove(win);
    for (int i = 0; win->comm && win->peers && i < win->comm->size; i++)
        free_peer(win->peers[i]);
    wf_slots_fini(&win->ops);
    wf_error_disown(win);
    if (win->errhandler)
        wf_errhandler_put(win->errhandler);
    wf_info_destroy(win->info);
    if (win->comm)
        wf_comm_put(win->comm);
    free(win->peers);
    free(win->members);
    free(win->regions);
    wf_win_release_group(&win->targets);
    wf_win_release_group(&win->origins);
    free(win->memory);
    free(win->stripes);
    free(win->scratch);
    wf_map_free(win);
    free(win);
}

/* ---- other members ------------------------------------------------------- */

struct wf_win_peer *wf_win_peer(struct wf_win *win, int rank)
{
    struct wf_win_peer *p = win->peers[rank];

    if (p)
        return p;
    p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->win = win;
    p->rank = rank;
    p->queue_end = &p->queue;
    p->kept_end = &p->kept;
    p->unfinished_end = &p->unfinished;
    wf_list_init(&p->dirty);
    wf_list_init(&p->listed);
    wf_list_init(&p->transfers);
    wf_list_init(&p->waiter);
    if (!wf_map_init_peer(p)) {
        free(p);
        return NULL;
    }
    wf_open_add_target(p);
    wf_write_published(&win->peers[rank], p); /* wf_open_find */
    return p;
}

int wf_win_set_location(struct wf_win_peer *p, struct weft_loc *loc)
{
    unsigned lane;

    if (p->loc == loc && p->lane_status == 0)
        return 0;
    p->lane_status =
        wf_comm_route_choose_lane(p->win->comm, WF_SPACE_RMA, loc, &lane);
    p->loc = loc;
    p->lane = (uint8_t)lane;
    return p->lane_status;
}

struct wf_win_peer *wf_win_reach(struct wf_win *win, int rank, int *rc)
{
    struct wf_win_peer *p = wf_win_peer(win, rank);
    struct weft_loc *loc;
    int status = 0;

    *rc = MPI_SUCCESS;
    if (!p) {
        *rc = wf_error(MPI_ERR_NO_MEM, "no memory for a member of %s",
                       wf_win_name(win).text);
        return NULL;
    }
    if (p->loc && p->loc->lanes && !p->loc->failed && p->lane_status == 0)
        return p;
    loc = wf_peer_location(win->comm, rank, &status);
    if (loc)
        status = wf_win_set_location(p, loc);
    if (status == 0)
        return p;
    *rc = wf_error_class(status);
    return NULL;
}

struct wf_win_peer *wf_win_find(struct wf_win *win, int rank, int *rc)
{
    struct wf_win_peer *p = wf_win_peer(win, rank);

    *rc = MPI_SUCCESS;
    return p && p->leg == &wf_leg_mapped && !p->lost
               ? p
               : wf_win_reach(win, rank, rc);
}

int wf_win_record_loss(const struct wf_win_peer *p)
{
    const struct weft_loc *loc = p->loc;

    return wf_error(wf_error_class(wf_location_status(loc)),
                    "rank %d of %s (process %u on %s) %s: %s", p->rank,
                    wf_win_name(p->win).text, loc->id,
                    loc->host ? loc->host : "unknown host",
                    wf_location_down_verb(loc), wf_location_down_text(loc));
}

struct wf_win_text wf_win_name(const struct wf_win *win)
{
    struct wf_win_text n;

    if (win->name[0])
        snprintf(n.text, sizeof n.text, "window '%s'", win->name);
    else
        snprintf(n.text, sizeof n.text, "the window");
    return n;
}

/* ---- waiting ------------------------------------------------------------- */

struct cause {
    struct wf_win *win;
    struct wf_win_peer *peer;
};

static void describe_wait(const void *arg, struct wf_wait *w)
{
    const struct cause *c = arg;

    wf_wait_set_comm(w, c->win->comm);
    if (c->peer)
        wf_wait_set_peer(w, c->win->comm, false, c->peer->rank);
    w->operation = WF_STATE_COLLECTIVE;
}

void wf_win_wait(struct wf_win *win, struct wf_win_peer *peer,
                 bool (*done)(void *), void *arg)
{
    struct cause c = {win, peer};
    struct wf_wait_cause cause = {describe_wait, &c};
    struct wf_flag_wait watch = {.loc = peer ? peer->loc : NULL};

    if (watch.loc)
        wf_flag_wait_begin(win->wf, &watch);
    wf_progress_wait(win->wf, wf_comm_endpoint_mask(win->comm), done, arg,
                     &cause);
    if (watch.loc)
        wf_flag_wait_end(win->wf, &watch);
}

void wf_win_notify(struct wf_win *win)
{
    if (win->wf->api.on)
        wf_progress_notify(win->wf);
}

void wf_win_poll(struct wf_win *win)
{
    struct cause c = {win, NULL};
    struct wf_wait_cause cause = {describe_wait, &c};

    wf_progress_poll_for_test(win->wf, wf_comm_endpoint_mask(win->comm),
                              &cause);
}

bool wf_win_is_oversubscribed(const struct wf_win *win)
{
    return wf_progress_is_oversubscribed(win->wf);
}

void wf_win_serve(struct wf_win *win)
{
    if (!wf_map_has_lock_words(win))
        win->attends = !win->no_locks && wf_helper_attend(win->wf);
}

void wf_win_stop_serving(struct wf_win *win)
{
    if (win->attends)
        wf_helper_stop_attending(win->wf);
    win->attends = false;
    wf_exposed_withdraw(win);
}

/* ---- owner of errors ----------------------------------------------------- */

static struct wf_win *win_of(struct wf_object *object)
{
    return wf_container(object, struct wf_win, object);
}

static struct wf_errhandler *find_handler(struct wf_object *object)
{
    return win_of(object)->errhandler;
}

static struct wf_instance *find_engine(struct wf_object *object)
{
    return win_of(object)->wf;
}

static void *find_handle(struct wf_object *object)
{
    return object ? (void *)win_of(object) : MPI_WIN_NULL;
}

static void call_handler(void (*fn)(void), void *handle, int *errorcode)
{
    MPI_Win win = handle;

    ((MPI_Win_errhandler_function *)fn)(&win, errorcode);
}

static void describe_win(struct wf_object *object, char *out, size_t n)
{
    const struct wf_win *win = win_of(object);

    if (win->name[0])
        snprintf(out, n, " on window '%s'", win->name);
    else
        snprintf(out, n, " on a window of %d processes", win->comm->size);
}

const struct wf_owner_kind wf_win_owner_kind = {
    .kind = WF_KIND_WIN,
    .name = "Win",
    .errhandler = find_handler,
    .engine = find_engine,
    .handle = find_handle,
    .call = call_handler,
    .describe = describe_win,
};

int wf_mpi_win_set_errhandler(struct wf_instance *wf, struct wf_win *win,
                              struct wf_errhandler *errhandler)
{
    return wf_errhandler_replace(&win->errhandler, errhandler,
                                 &wf_win_owner_kind);
}

int wf_mpi_win_get_errhandler(struct wf_instance *wf, struct wf_win *win,
                              MPI_Errhandler *errhandler)
{
    *errhandler = wf_errhandler_get_handle(win->errhandler);
    return MPI_SUCCESS;
}

int wf_mpi_win_call_errhandler(struct wf_instance *wf, struct wf_win *win,
                               int errorcode)
{
    return wf_errhandler_call(wf, win, "MPI_Win_call_errhandler", errorcode);
}
