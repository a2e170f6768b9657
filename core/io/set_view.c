/* Views as the program sets and asks for them (MPI-5.0 s14.3), and extents in
 * the representation of a file (s14.5.1).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "core_api.h"
#include "datatype/derived.h"
#include "datatype/predefined.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/shared.h"
#include "io/view.h"
#include "io/vote.h"
#include "object/error.h"
#include "os/hash.h"

static int check_committed(const struct wf_type *t, const char *name)
{
    if (t->flags & (WF_TYPE_COMMITTED | WF_TYPE_PREDEFINED))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_TYPE,
                    "%s is not committed: call MPI_Type_commit first", name);
}

/* Finds the displacement that was asked for. In sequential mode it is where the
 * shared pointer is. */
static int find_displacement(struct wf_file *f, MPI_Offset disp, int64_t *out)
{
    uint64_t stream = f->shared_start, at;
    int rc = MPI_SUCCESS;

    *out = disp;
    if (f->amode & MPI_MODE_SEQUENTIAL) {
        if (disp != MPI_DISPLACEMENT_CURRENT)
            return wf_error(MPI_ERR_ARG,
                            "disp is %lld, but the file was opened with "
                            "MPI_MODE_SEQUENTIAL and takes "
                            "MPI_DISPLACEMENT_CURRENT only",
                            (long long)disp);
        rc = wf_shared_add(f, 0, &stream);
        if (rc == MPI_SUCCESS && wf_view_find_byte(f->view, stream, &at))
            *out = (int64_t)at;
        return rc;
    }
    if (disp == MPI_DISPLACEMENT_CURRENT)
        return wf_error(MPI_ERR_ARG,
                        "disp is MPI_DISPLACEMENT_CURRENT, which is for files "
                        "opened with MPI_MODE_SEQUENTIAL");
    if (disp < 0)
        return wf_error(MPI_ERR_ARG, "disp is %lld but must be 0 or more",
                        (long long)disp);
    return MPI_SUCCESS;
}

/* Makes the view of this process. */
static int make_view(struct wf_file *f, struct wf_view_wish *w, MPI_Offset disp,
                     struct wf_view **view)
{
    int rc = find_displacement(f, disp, &w->disp);

    if (rc == MPI_SUCCESS)
        rc = check_committed(w->etype, "etype");
    if (rc == MPI_SUCCESS)
        rc = check_committed(w->filetype, "filetype");
    return rc ? rc : wf_view_create(f->wf, w, view);
}

int wf_mpi_file_set_view(struct wf_instance *wf, struct wf_file *fh,
                         MPI_Offset disp, struct wf_type *etype,
                         struct wf_type *filetype, const char *datarep,
                         struct wf_info *info)
{
    struct wf_view_wish w = {0, etype, filetype, datarep,
                             !(fh->amode & MPI_MODE_RDONLY)};
    struct wf_view *view = NULL;
    struct wf_file_vote vote = {
        .same = {etype->extent, (int64_t)wf_hash_text(datarep)},
        .names = {"the extent of etype", "datarep"}};

    vote.rc = make_view(fh, &w, disp, &view);
    if (vote.rc == MPI_SUCCESS)
        vote.rc = wf_file_set_hints(fh, info);
    if (wf_file_vote_hints(fh->comm, fh, &vote) != MPI_SUCCESS) {
        if (view)
            wf_view_put(view);
        return vote.rc;
    }
    wf_view_put(fh->view);
    fh->view = view;
    fh->position = fh->shared_start = 0;
    wf_shared_set(fh, fh->shared_start);
    return MPI_SUCCESS;
}

/* Returns a handle for the program, which frees it unless it is predefined. */
static MPI_Datatype give_handle(struct wf_type *t)
{
    wf_type_get(t);
    if (t->priv)
        t->priv->handles++;
    return wf_type_handle(t);
}

int wf_mpi_file_get_view(struct wf_instance *wf, struct wf_file *fh,
                         MPI_Offset *disp, MPI_Datatype *etype,
                         MPI_Datatype *filetype, char *datarep)
{
    const struct wf_view *v = fh->view;

    *disp = v->disp;
    *etype = give_handle(v->etype);
    *filetype = give_handle(v->filetype);
    snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", v->datarep->name);
    return MPI_SUCCESS;
}

int wf_mpi_file_get_type_extent(struct wf_instance *wf, struct wf_file *fh,
                                struct wf_type *datatype, MPI_Count *extent)
{
    struct wf_type *tile = NULL;
    int rc = wf_datarep_tile(wf, fh->view->datarep, datatype, &tile);

    if (rc)
        return rc;
    *extent = tile->extent;
    wf_type_put(tile);
    return MPI_SUCCESS;
}
