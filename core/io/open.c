/* Opening, closing and deleting files (MPI-5.0 s14.2).
 *
 *   each member    checks its arguments, opens the file
 *   all            agree on the outcome; then on a context id, unless all
 *                  have kept the same one (file_comm.h)
 *
 * With MPI_MODE_EXCL one member makes the file before the others open it. A
 * member that met an error takes part, so that the call fails in all of them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "datatype/predefined.h"
#include "group/group.h"
#include "io/file.h"
#include "io/file_comm.h"
#include "io/files.h"
#include "io/fs.h"
#include "io/owner.h"
#include "io/plan.h"
#include "io/shared.h"
#include "io/view.h"
#include "io/vote.h"
#include "io/wait.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/info.h"
#include "protocol/request.h"

enum {
    ACCESS_BITS = MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY,
    ALL_BITS = ACCESS_BITS | MPI_MODE_CREATE | MPI_MODE_EXCL |
               MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN |
               MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND
};

static int check_amode(int amode)
{
    int access = amode & ACCESS_BITS;

    if (amode & ~ALL_BITS)
        return wf_error(MPI_ERR_AMODE,
                        "amode is %d, and %d of it is no MPI_MODE_ constant",
                        amode, amode & ~ALL_BITS);
    if (access != MPI_MODE_RDONLY && access != MPI_MODE_RDWR &&
        access != MPI_MODE_WRONLY)
        return wf_error(MPI_ERR_AMODE,
                        "amode must have one of MPI_MODE_RDONLY, "
                        "MPI_MODE_WRONLY and MPI_MODE_RDWR");
    if (access == MPI_MODE_RDONLY && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))
        return wf_error(MPI_ERR_AMODE,
                        "amode has MPI_MODE_RDONLY, with which %s cannot be "
                        "combined",
                        amode & MPI_MODE_CREATE ? "MPI_MODE_CREATE"
                                                : "MPI_MODE_EXCL");
    if (access == MPI_MODE_RDWR && amode & MPI_MODE_SEQUENTIAL)
        return wf_error(MPI_ERR_AMODE, "amode has MPI_MODE_RDWR, with which "
                                       "MPI_MODE_SEQUENTIAL cannot be "
                                       "combined");
    return MPI_SUCCESS;
}

/* Returns the name without "ufs:" or "nfs:", by which ROMIO is told a file
 * system. */
static const char *skip_prefix(const char *name)
{
    return !strncmp(name, "ufs:", 4) || !strncmp(name, "nfs:", 4) ? name + 4
                                                                  : name;
}

static const struct wf_fs *file_system(struct wf_instance *wf)
{
    const struct wf_files_state *s = (void *)wf->rank->files;

    return s && s->fs ? s->fs : &wf_fs_posix;
}

/* ---- one member ---------------------------------------------------------- */

static int make_default_view(struct wf_file *f)
{
    struct wf_view_wish w = {0, wf_type_of(MPI_BYTE), wf_type_of(MPI_BYTE),
                             "native", false};

    return wf_view_create(f->wf, &w, &f->view);
}

static int make_file(struct wf_comm *comm, const char *name, int amode,
                     const struct wf_info *info, struct wf_file *f)
{
    int rc = check_amode(amode);

    wf_object_init(&f->object, WF_KIND_FILE);
    f->wf = comm->wf;
    f->amode = amode;
    f->errhandler = wf_file_null(comm->wf);
    wf_errhandler_get(f->errhandler);
    if (rc)
        return rc;
    f->path = strdup(skip_prefix(name));
    f->lengths = calloc((size_t)comm->size, sizeof *f->lengths);
    f->spare = wf_twophase_allocate(comm->size);
    if (!f->path || !f->lengths || !f->spare || !wf_files_state(comm->wf))
        return wf_error(MPI_ERR_NO_MEM, "no memory for a file");
    rc = wf_file_set_hints(f, info);
    if (rc == MPI_SUCCESS)
        rc = wf_shared_create(f);
    return rc ? rc : make_default_view(f);
}

/* Opens the file here; `exclusive`: only if it does not exist. */
static int open_here(struct wf_file *f, bool exclusive)
{
    struct wf_fs_open o = {f->path, f->amode, f->hints.permissions};
    int rc;

    if (!exclusive)
        o.amode &= ~MPI_MODE_EXCL;
    rc = file_system(f->wf)->open(&o, &f->fs_file);
    if (rc == MPI_SUCCESS)
        rc = wf_file_set_hints(f, NULL);
    if (rc == MPI_SUCCESS && f->amode & MPI_MODE_APPEND)
        rc = f->fs_file->fs->size(f->fs_file, &f->position);
    f->shared_start = f->position;
    return rc;
}

static int close_here(struct wf_file *f)
{
    struct wf_fs_file *fs_file = f->fs_file;

    f->fs_file = NULL;
    return fs_file ? fs_file->fs->close(fs_file) : MPI_SUCCESS;
}

static bool is_idle(void *arg)
{
    const struct wf_file *f = arg;

    return f->under_way == 0;
}

/* Ends what the program has left under way, so that no access outlives the
 * file. */
static void finish_accesses(struct wf_file *f)
{
    if (f->split_request) {
        struct wf_req *r = f->split_request;

        f->split_request = NULL;
        wf_wait(&r, MPI_STATUS_IGNORE);
    }
    f->split = WF_SPLIT_NONE;
    if (f->under_way)
        wf_file_wait(f, UINT32_MAX, is_idle, f);
}

/* Deletes the file after its end, as the mode demands. */
static int delete_here(const struct wf_file *f)
{
    bool deletes = f->amode & MPI_MODE_DELETE_ON_CLOSE && f->comm->rank == 0;

    return deletes ? file_system(f->wf)->remove(f->path) : MPI_SUCCESS;
}

/* Closes a file that the program has left open, at the end of the rank, and
 * without the other members. One that has an access under way stays: it is a
 * collective one that others have not joined. */
static void release_file(struct wf_file *f)
{
    const char *path = f->path;
    int rc;

    wf_log(f->wf, WF_LOG_INFO, "unfinished at the end: file '%s' is open",
           path);
    if (f->under_way)
        return;
    finish_accesses(f);
    rc = close_here(f);
    if (rc == MPI_SUCCESS)
        rc = delete_here(f);
    if (rc)
        wf_log(f->wf, WF_LOG_WARN, "file '%s', which the program left open: %s",
               path, wf_error_last()->text);
    wf_shared_destroy(f);
    wf_files_note_close(f);
    wf_file_end(f, MPI_SUCCESS);
}

/* ---- all members --------------------------------------------------------- */

/* Opens the file in all members. rc: the error of this one so far. *is_kept:
 * whether all have kept the same communicator. */
static int open_everywhere(struct wf_comm *comm, struct wf_file *f, int amode,
                           int rc, bool *is_kept)
{
    int64_t kept = wf_file_comm_name(comm);
    bool same_kept = false;
    struct wf_file_vote vote = {.rc = rc,
                                .same = {amode, kept},
                                .names = {"amode", "the communicator"},
                                .is_same = {NULL, &same_kept}};

    if (amode & MPI_MODE_EXCL && comm->size > 1) {
        if (vote.rc == MPI_SUCCESS && comm->rank == 0)
            vote.rc = open_here(f, true);
        if (wf_file_vote(comm, &vote) != MPI_SUCCESS)
            return vote.rc;
        vote.rc = comm->rank ? open_here(f, false) : MPI_SUCCESS;
    } else if (vote.rc == MPI_SUCCESS) {
        vote.rc = open_here(f, true);
    }
    rc = wf_file_vote_hints(comm, f, &vote);
    *is_kept = same_kept && kept != -1;
    return rc;
}

/* Drops a file that not all members have opened. */
static void discard_file(struct wf_file *f)
{
    close_here(f);
    if (f->shared)
        wf_shared_destroy(f);
    wf_file_put(f);
}

/* Makes the file one of the engine that its communicator is on. If that was not
 * ready for the shared pointer before, no member goes on until all have done
 * so. A file without success is gone. */
static int attach_file(struct wf_comm *comm, struct wf_file *f)
{
    struct wf_instance *wf = f->comm->wf;
    int rc;

    if (wf != comm->wf)
        wf_shared_leave(f);
    wf_engine_switch(comm->wf, wf);
    f->wf = wf;
    rc = wf_shared_attach(f);
    if (wf != comm->wf)
        rc = wf_file_agree(f->comm, rc);
    if (rc)
        discard_file(f);
    else
        wf_files_note_open(f, release_file);
    wf_engine_switch(wf, comm->wf);
    return rc;
}

int wf_mpi_file_open(struct wf_instance *wf, struct wf_comm *comm,
                     const char *filename, int amode, struct wf_info *info,
                     MPI_File *fh)
{
    struct wf_file *f;
    bool is_kept = false;
    int rc;

    if (comm->inter)
        return wf_error(MPI_ERR_COMM, "comm is an intercommunicator; a file is "
                                      "opened by an intracommunicator");
    f = calloc(1, sizeof *f);
    rc = f ? make_file(comm, filename, amode, info, f)
           : wf_error(MPI_ERR_NO_MEM, "no memory for a file");
    rc = open_everywhere(comm, f, amode, rc, &is_kept);
    if (rc == MPI_SUCCESS)
        rc = wf_file_comm_take(f, comm, is_kept);
    if (rc) {
        if (f)
            discard_file(f);
        return rc;
    }
    rc = attach_file(comm, f);
    if (rc == MPI_SUCCESS)
        *fh = (MPI_File)f;
    return rc;
}

/* ---- the end ------------------------------------------------------------- */

/* The file is closed in any case; the error says that data were lost. */
int wf_mpi_file_close(struct wf_instance *wf, MPI_File *fh)
{
    struct wf_file *f = wf_file_of(*fh);
    int rc;

    finish_accesses(f);
    rc = wf_file_agree(f->comm, close_here(f));
    wf_shared_destroy(f);
    if (f->amode & MPI_MODE_DELETE_ON_CLOSE) /* all have closed it */
        rc = wf_file_agree(f->comm, rc ? rc : delete_here(f));
    *fh = MPI_FILE_NULL;
    wf_files_note_close(f);
    if (rc == MPI_SUCCESS)
        wf_file_comm_end(f, true);
    wf_file_end(f, rc);
    return rc;
}

int wf_mpi_file_delete(struct wf_instance *wf, const char *filename,
                       struct wf_info *info)
{
    return file_system(wf)->remove(skip_prefix(filename));
}
