/* Names, groups, attributes and error handlers of windows (MPI-5.0 s12.2.6,
 * s12.2.7, s7.7.3, s7.8).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "core_api.h"
#include "group/group.h"
#include "object/attr.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/keyval.h"
#include "rma/epoch.h"
#include "rma/mates.h"
#include "rma/owner.h"
#include "rma/win.h"

int wf_mpi_win_set_name(struct wf_instance *wf, struct wf_win *win,
                        const char *win_name)
{
    snprintf(win->name, sizeof win->name, "%s", win_name);
    return MPI_SUCCESS;
}

int wf_mpi_win_get_name(struct wf_instance *wf, struct wf_win *win,
                        char *win_name, int *resultlen)
{
    *resultlen = snprintf(win_name, MPI_MAX_OBJECT_NAME, "%s",
                          win ? win->name : "MPI_WIN_NULL");
    return MPI_SUCCESS;
}

int wf_mpi_win_get_group(struct wf_instance *wf, struct wf_win *win,
                         MPI_Group *group)
{
    wf_group_get(win->comm->local);
    *group = wf_group_handle(win->comm->local);
    return MPI_SUCCESS;
}

int wf_mpi_win_create_errhandler(struct wf_instance *wf,
                                 MPI_Win_errhandler_function *fn,
                                 MPI_Errhandler *errhandler)
{
    return wf_errhandler_create(&wf_win_owner_kind, (void (*)(void))fn,
                                errhandler);
}

/* ---- shared memory ------------------------------------------------------- */

/* Returns the first member that has memory; 0 if none has. */
static int find_first_memory(const struct wf_win *win)
{
    for (int i = 0; i < win->comm->size; i++)
        if (win->members[i].size)
            return i;
    return 0;
}

/* Of a member whose memory is not mapped here the size is 0, and the base NULL.
 * One of a contiguous window has a place even without memory. */
int wf_mpi_win_shared_query(struct wf_instance *wf, struct wf_win *win,
                            int rank, MPI_Aint *size, MPI_Count *disp_unit,
                            void *baseptr)
{
    const struct wf_win_member *m;
    int rc = wf_epoch_check_rank(win, rank);
    char *base;

    if (rc)
        return rc;
    if (win->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return wf_error(MPI_ERR_RMA_FLAVOR,
                        "%s was made by MPI_Win_create_dynamic, which has no "
                        "memory to ask for",
                        wf_win_name(win).text);
    if (rank == MPI_PROC_NULL)
        rank = find_first_memory(win);
    m = &win->members[rank];
    base = wf_mate_find_memory(win, rank);
    *size = base ? (MPI_Aint)m->size : 0;
    *disp_unit = (MPI_Count)m->unit;
    memcpy(baseptr, &base, sizeof base); /* the address of some pointer */
    return MPI_SUCCESS;
}

/* ---- attributes ---------------------------------------------------------- */

int wf_mpi_win_create_keyval(struct wf_instance *wf,
                             MPI_Win_copy_attr_function *copy,
                             MPI_Win_delete_attr_function *delete,
                             int *win_keyval, void *extra_state)
{
    return wf_keyval_create(wf, WF_KIND_WIN, (wf_attr_copy_fn *)copy,
                            (wf_attr_delete_fn *)delete, extra_state,
                            win_keyval);
}

int wf_mpi_win_free_keyval(struct wf_instance *wf, int *win_keyval)
{
    return wf_keyval_free(wf, WF_KIND_WIN, win_keyval);
}

/* Returns the value of a predefined attribute: the base itself, or a pointer to
 * the others (s12.2.6). */
static void *find_predefined(struct wf_win *win, int keyval)
{
    switch (keyval) {
    case MPI_WIN_BASE:
        return win->base;
    case MPI_WIN_SIZE:
        return &win->size;
    case MPI_WIN_DISP_UNIT:
        return &win->unit;
    case MPI_WIN_CREATE_FLAVOR:
        return &win->flavor;
    default:
        return &win->model;
    }
}

int wf_mpi_win_get_attr(struct wf_instance *wf, struct wf_win *win,
                        int win_keyval, void *attribute_val, int *flag)
{
    if (win_keyval < MPI_WIN_BASE || win_keyval > MPI_WIN_MODEL)
        return wf_attr_get(wf, WF_KIND_WIN, win->attrs, win_keyval,
                           attribute_val, flag);
    *flag = 1;
    *(void **)attribute_val = find_predefined(win, win_keyval);
    return MPI_SUCCESS;
}

int wf_mpi_win_set_attr(struct wf_instance *wf, struct wf_win *win,
                        int win_keyval, void *attribute_val)
{
    return wf_attr_set(wf, WF_KIND_WIN, win, &win->attrs, win_keyval,
                       attribute_val);
}

int wf_mpi_win_delete_attr(struct wf_instance *wf, struct wf_win *win,
                           int win_keyval)
{
    return wf_attr_delete(wf, WF_KIND_WIN, win, &win->attrs, win_keyval);
}
