/* Files: their life, and their errors.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "group/raise.h"
#include "io/file_comm.h"
#include "io/files.h"
#include "io/owner.h"
#include "io/view.h"
#include "object/env.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/info.h"

struct wf_file *wf_file_of(MPI_File handle)
{
    struct wf_file *f = (struct wf_file *)handle;

    return wf_is_object(handle, WF_KIND_FILE) && !f->closed ? f : NULL;
}

struct wf_instance *wf_file_engine(const struct wf_file *f)
{
    return f->wf;
}

/* Drops all but the name, the engine and the error handler. */
static void release_parts(struct wf_file *f)
{
    WF_ASSERT(!f->fs_file && !f->shared && !f->under_way);
    if (f->view)
        wf_view_put(f->view);
    wf_info_destroy(f->info);
    free(f->lengths);
    free(f->spare);
    wf_file_comm_end(f, false);
    f->view = NULL;
    f->info = NULL;
    f->lengths = NULL;
    f->spare = NULL;
}

void wf_file_put(struct wf_file *f)
{
    if (--f->object.refs > 0)
        return;
    release_parts(f);
    f->object.kind = WF_KIND_DEAD;
    wf_error_disown(f);
    wf_errhandler_put(f->errhandler);
    free(f->path);
    free(f);
}

void wf_file_end(struct wf_file *f, int rc)
{
    struct wf_files_state *s = wf_files_state(f->wf);

    f->closed = true;
    release_parts(f);
    if (rc == MPI_SUCCESS) {
        wf_file_put(f);
        return;
    }
    WF_SECTION(objects, f->wf->rank->env) {
        f->next_lost = s->lost;
        s->lost = f;
    }
}

/* ---- owner of errors ----------------------------------------------------- */

static struct wf_file *file_of(struct wf_object *object)
{
    return wf_container(object, struct wf_file, object);
}

static struct wf_errhandler *find_handler(struct wf_object *object)
{
    return file_of(object)->errhandler;
}

static struct wf_instance *find_engine(struct wf_object *object)
{
    return file_of(object)->wf;
}

static void *find_handle(struct wf_object *object)
{
    return object ? (void *)file_of(object) : MPI_FILE_NULL;
}

static void call_handler(void (*fn)(void), void *handle, int *errorcode)
{
    MPI_File file = handle;

    ((MPI_File_errhandler_function *)fn)(&file, errorcode);
}

static void describe_file(struct wf_object *object, char *out, size_t n)
{
    snprintf(out, n, " on file '%s'", file_of(object)->path);
}

const struct wf_owner_kind wf_file_owner_kind = {
    .kind = WF_KIND_FILE,
    .name = "File",
    .errhandler = find_handler,
    .engine = find_engine,
    .handle = find_handle,
    .call = call_handler,
    .describe = describe_file,
};

/* ---- error handlers ------------------------------------------------------ */

int wf_mpi_file_create_errhandler(struct wf_instance *wf,
                                  MPI_File_errhandler_function *fn,
                                  MPI_Errhandler *errhandler)
{
    return wf_errhandler_create(&wf_file_owner_kind, (void (*)(void))fn,
                                errhandler);
}

/* Returns where the handler of a file is, or, if it is NULL, that of
 * MPI_FILE_NULL. NULL: out of memory. */
static struct wf_errhandler **find_place(struct wf_instance *wf,
                                         struct wf_file *file)
{
    struct wf_files_state *s;

    if (file)
        return &file->errhandler;
    s = wf_files_state(wf);
    return s ? &s->null_handler : NULL;
}

int wf_mpi_file_set_errhandler(struct wf_instance *wf, struct wf_file *file,
                               struct wf_errhandler *errhandler)
{
    struct wf_errhandler **place = find_place(wf, file);

    return place ? wf_errhandler_replace(place, errhandler, &wf_file_owner_kind)
                 : wf_error(MPI_ERR_NO_MEM, "no memory for an error handler");
}

int wf_mpi_file_get_errhandler(struct wf_instance *wf, struct wf_file *file,
                               MPI_Errhandler *errhandler)
{
    struct wf_errhandler **place = find_place(wf, file);

    if (!place)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an error handler");
    *errhandler = wf_errhandler_get_handle(*place);
    return MPI_SUCCESS;
}

int wf_mpi_file_call_errhandler(struct wf_instance *wf, struct wf_file *fh,
                                int errorcode)
{
    void *on = fh ? (void *)fh : wf_file_null(wf);

    return wf_errhandler_call(wf, on, "MPI_File_call_errhandler", errorcode);
}
