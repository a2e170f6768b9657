/* Windows are made and freed here (MPI-5.0 s12.2.1 to s12.2.5).
 *
 *   each member    checks its arguments, allocates
 *   all            agree on a context id; then none of them may fail alone
 *   each member    the window is in the table: messages find it
 *   all            publish size, unit and node
 *   all            share memory, if the window is to have some (map.c)
 *
 * A member that met an error takes part in the agreement, so that the call
 * fails in all of them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "comm/derive.h"
#include "core_api.h"
#include "datatype/predefined.h"
#include "object/attr.h"
#include "object/error.h"
#include "object/info.h"
#include "process/rank.h"
#include "rma/exposed.h"
#include "rma/info.h"
#include "rma/lock_queue.h"
#include "rma/map.h"
#include "rma/open.h"
#include "rma/operation.h"
#include "rma/owner.h"
#include "rma/program_memory.h"
#include "rma/win.h"

struct wish {
    int flavor;
    void *base; /* of MPI_Win_create */
    MPI_Aint size;
    MPI_Count unit;
    struct wf_info *info;
};

static int check_wish(const struct wish *w, const struct wf_comm *comm)
{
    if (comm->inter)
        return wf_error(MPI_ERR_COMM, "comm is an intercommunicator; a window "
                                      "is made over an intracommunicator");
    if (w->size < 0)
        return wf_error(MPI_ERR_SIZE, "size is %lld but must be 0 or more",
                        (long long)w->size);
    if (w->unit <= 0 || w->unit > INT32_MAX)
        return wf_error(MPI_ERR_DISP,
                        "disp_unit is %lld but must be 1 or more, and fit an "
                        "int",
                        (long long)w->unit);
    if (w->flavor == MPI_WIN_FLAVOR_CREATE && !w->base && w->size)
        return wf_error(MPI_ERR_BASE,
                        "base is NULL but the window is to have %lld bytes",
                        (long long)w->size);
    return MPI_SUCCESS;
}

/* Makes the part of a window for which no other member is needed. */
static int make_window(struct wf_comm *comm, const struct wish *w,
                       struct wf_win **out)
{
    struct wf_win *win = *out = wf_win_begin(comm->wf, (size_t)comm->size);

    if (!win)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a window");
    win->flavor = w->flavor;
    win->base = w->base;
    win->size = w->size;
    win->unit = (int)w->unit;
    win->scratch = wf_map_allocate_scratch(comm);
    if (!win->scratch)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a window");
    return wf_win_set_hints(win, w->info);
}

/* Publishes this member, and learns of the others, by the window's own
 * communicator: a member that could not make that does not take part, and ends
 * the exchange (derive.c). Later exchanges are those of the parent, which are
 * faster. The window's engine is another one than that of the call, perhaps. */
static int exchange_members(struct wf_win *win)
{
    struct wf_win_member me = {.size = (uint64_t)win->size,
                               .unit = (uint64_t)win->unit,
                               .node = win->wf->rank->node};
    int rc;

    if (!wf_windows_add(win))
        me.unit = 0; /* the sign of a failure */
    if (wf_info_is_true(win->info, "alloc_shared_noncontig"))
        me.flags |= WF_MEMBER_NONCONTIG;
    wf_program_memory_pin(win, &me);
    rc = wf_map_gather(win, win->comm, &me, sizeof me, win->members);
    for (int i = 0; rc == MPI_SUCCESS && i < win->comm->size; i++)
        if (!win->members[i].unit)
            rc = i == win->comm->rank
                     ? wf_error(MPI_ERR_NO_MEM, "no memory for a window")
                     : wf_error(MPI_ERR_NOT_SAME,
                                "rank %d has no memory for the window", i);
    return rc;
}

static void discard_win(struct wf_win *win)
{
    wf_win_stop_serving(win);
    wf_program_memory_unpin(win);
    wf_windows_remove(win);
    wf_win_put(win);
}

static int create_win(struct wf_comm *comm, const struct wish *w,
                      MPI_Win *handle)
{
    struct wf_win *win = NULL;
    struct wf_comm *own = NULL;
    int rc = check_wish(w, comm);

    if (comm->inter)
        return rc;
    if (rc == MPI_SUCCESS)
        rc = make_window(comm, w, &win);
    rc = wf_derive_create_private(comm, WF_KIND_OF_RMA, rc, &own);
    if (rc) {
        if (win)
            wf_win_put(win);
        return rc;
    }
    win->comm = own;
    win->wf = own->wf;
    wf_owner_register(win->wf, &wf_win_owner_kind);
    wf_engine_switch(comm->wf, win->wf);
    win->parent = comm;
    rc = exchange_members(win);
    if (rc == MPI_SUCCESS)
        rc = wf_map_share_memory(win);
    free(win->scratch);
    win->scratch = NULL;
    win->parent = NULL;
    if (rc)
        discard_win(win);
    else
        wf_win_serve(win);
    wf_engine_switch(own->wf, comm->wf);
    if (rc == MPI_SUCCESS)
        *handle = (MPI_Win)win;
    return rc;
}

int wf_mpi_win_create(struct wf_instance *wf, void *base, MPI_Aint size,
                      MPI_Count disp_unit, struct wf_info *info,
                      struct wf_comm *comm, MPI_Win *win)
{
    struct wish w = {MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info};

    return create_win(comm, &w, win);
}

static int allocate_win(struct wf_comm *comm, const struct wish *w,
                        void *baseptr, MPI_Win *win)
{
    int rc = create_win(comm, w, win);

    if (rc == MPI_SUCCESS) /* the address of some pointer */
        memcpy(baseptr, &((struct wf_win *)*win)->base, sizeof(void *));
    return rc;
}

int wf_mpi_win_allocate(struct wf_instance *wf, MPI_Aint size,
                        MPI_Count disp_unit, struct wf_info *info,
                        struct wf_comm *comm, void *baseptr, MPI_Win *win)
{
    struct wish w = {MPI_WIN_FLAVOR_ALLOCATE, NULL, size, disp_unit, info};

    return allocate_win(comm, &w, baseptr, win);
}

int wf_mpi_win_allocate_shared(struct wf_instance *wf, MPI_Aint size,
                               MPI_Count disp_unit, struct wf_info *info,
                               struct wf_comm *comm, void *baseptr,
                               MPI_Win *win)
{
    struct wish w = {MPI_WIN_FLAVOR_SHARED, NULL, size, disp_unit, info};

    return allocate_win(comm, &w, baseptr, win);
}

int wf_mpi_win_create_dynamic(struct wf_instance *wf, struct wf_info *info,
                              struct wf_comm *comm, MPI_Win *win)
{
    struct wish w = {MPI_WIN_FLAVOR_DYNAMIC, NULL, 0, 1, info};

    return create_win(comm, &w, win);
}

/* ---- freeing ------------------------------------------------------------- */

static int check_idle(const struct wf_win *win)
{
    if (wf_win_access(win) > WF_ACCESS_FENCE || win->exposed ||
        !wf_list_empty(&win->dirty))
        return wf_error(MPI_ERR_RMA_SYNC,
                        "%s has an epoch open: end it before MPI_Win_free",
                        wf_win_name(win).text);
    return MPI_SUCCESS;
}

/* The members meet, so that no operation is under way to memory that its owner
 * frees. If one of them is gone the window is freed as well, and the error
 * tells so. */
int wf_mpi_win_free(struct wf_instance *wf, MPI_Win *handle)
{
    struct wf_win *win = wf_win_of(*handle);
    int rc = check_idle(win);

    if (rc == MPI_SUCCESS)
        rc = wf_attr_delete_all(win->wf, WF_KIND_WIN, win, &win->attrs);
    if (rc)
        return rc;
    wf_exposed_close(win);
    rc = wf_mpi_barrier(win->wf, win->comm);
    win->freed = true;
    wf_open_set_access(win, WF_ACCESS_NONE);
    *handle = MPI_WIN_NULL;
    if (rc == MPI_SUCCESS) {
        discard_win(win);
        return rc;
    }
    wf_map_spoil(win);
    wf_win_stop_serving(win);
    wf_windows_keep_failed(win);
    return rc;
}
