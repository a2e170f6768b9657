/* Sizes, positions and modes of files (MPI-5.0 s14.2.4 to s14.2.7, s14.4.3,
 * s14.6).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/query.h"

#include "core_api.h"
#include "datatype/type.h"
#include "group/group.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/fs.h"
#include "io/prepare.h"
#include "io/view.h"
#include "io/vote.h"
#include "object/error.h"

int wf_mpi_file_get_group(struct wf_instance *wf, struct wf_file *fh,
                          MPI_Group *group)
{
    wf_group_get(fh->comm->local);
    *group = wf_group_handle(fh->comm->local);
    return MPI_SUCCESS;
}

int wf_mpi_file_get_amode(struct wf_instance *wf, struct wf_file *fh,
                          int *amode)
{
    *amode = fh->amode;
    return MPI_SUCCESS;
}

/* ---- sizes --------------------------------------------------------------- */

static int check_sequential(const struct wf_file *f)
{
    return f->amode & MPI_MODE_SEQUENTIAL ? wf_file_refuse_sequential()
                                          : MPI_SUCCESS;
}

static int check_new_size(const struct wf_file *f, MPI_Offset size)
{
    if (size < 0)
        return wf_error(MPI_ERR_ARG, "size is %lld but must be 0 or more",
                        (long long)size);
    if (f->amode & MPI_MODE_RDONLY)
        return wf_error(MPI_ERR_READ_ONLY,
                        "the file was opened with MPI_MODE_RDONLY: its size "
                        "stays");
    return check_sequential(f);
}

/* Changes the size in one member, when all have agreed on it. */
static int change_size(struct wf_file *f, MPI_Offset size,
                       int (*change)(struct wf_fs_file *, uint64_t))
{
    struct wf_file_vote vote = {
        .rc = check_new_size(f, size), .same = {size}, .names = {"size"}};

    if (wf_file_vote(f->comm, &vote) != MPI_SUCCESS)
        return vote.rc;
    return wf_file_agree(f->comm, f->comm->rank == 0
                                      ? change(f->fs_file, (uint64_t)size)
                                      : MPI_SUCCESS);
}

int wf_mpi_file_set_size(struct wf_instance *wf, struct wf_file *fh,
                         MPI_Offset size)
{
    return change_size(fh, size, fh->fs_file->fs->truncate);
}

int wf_mpi_file_preallocate(struct wf_instance *wf, struct wf_file *fh,
                            MPI_Offset size)
{
    return change_size(fh, size, fh->fs_file->fs->allocate);
}

int wf_mpi_file_get_size(struct wf_instance *wf, struct wf_file *fh,
                         MPI_Offset *size)
{
    uint64_t bytes = 0;
    int rc = fh->fs_file->fs->size(fh->fs_file, &bytes);

    if (rc == MPI_SUCCESS)
        *size = (MPI_Offset)bytes;
    return rc;
}

/* ---- atomic mode --------------------------------------------------------- */

int wf_mpi_file_set_atomicity(struct wf_instance *wf, struct wf_file *fh,
                              int flag)
{
    struct wf_file_vote vote = {.same = {flag != 0}, .names = {"flag"}};

    if (wf_file_vote(fh->comm, &vote) == MPI_SUCCESS)
        fh->atomic = flag != 0;
    return vote.rc;
}

int wf_mpi_file_get_atomicity(struct wf_instance *wf, struct wf_file *fh,
                              int *flag)
{
    *flag = fh->atomic;
    return MPI_SUCCESS;
}

/* ---- positions ----------------------------------------------------------- */

/* Computes the end of the file in a view: bytes of its stream up to the etype
 * that begins behind the last byte of the file. */
static int find_end(const struct wf_file *f, int64_t *bytes)
{
    const struct wf_view *v = f->view;
    uint64_t size = 0, n, each = (uint64_t)v->etype_size;
    int rc;

    if (!v->ascending)
        return wf_error(MPI_ERR_UNSUPPORTED_OPERATION,
                        "the offsets of the view do not grow, so it has no "
                        "end: MPI_SEEK_END cannot be used");
    rc = f->fs_file->fs->size(f->fs_file, &size);
    if (rc)
        return rc;
    n = wf_view_count_before(v, size);
    *bytes = (int64_t)(each ? (n + each - 1) / each * each : 0);
    return MPI_SUCCESS;
}

static int find_base(const struct wf_file *f, int whence, uint64_t position,
                     int64_t *base)
{
    *base = 0;
    switch (whence) {
    case MPI_SEEK_SET:
        return MPI_SUCCESS;
    case MPI_SEEK_CUR:
        *base = (int64_t)position;
        return MPI_SUCCESS;
    case MPI_SEEK_END:
        return find_end(f, base);
    default:
        return wf_error(MPI_ERR_ARG,
                        "whence is %d but must be MPI_SEEK_SET, MPI_SEEK_CUR "
                        "or MPI_SEEK_END",
                        whence);
    }
}

int wf_file_find_position(const struct wf_file *f, MPI_Offset offset,
                          int whence, uint64_t position, uint64_t *out)
{
    int64_t base, bytes;
    int rc = find_base(f, whence, position, &base);

    if (rc)
        return rc;
    if (__builtin_mul_overflow(offset, f->view->etype_size, &bytes) ||
        __builtin_add_overflow(base, bytes, &bytes) || bytes < 0)
        return wf_error(MPI_ERR_ARG,
                        "offset is %lld, which is in front of the view or "
                        "beyond the largest file offset",
                        (long long)offset);
    *out = (uint64_t)bytes;
    return MPI_SUCCESS;
}

int wf_mpi_file_seek(struct wf_instance *wf, struct wf_file *fh,
                     MPI_Offset offset, int whence)
{
    int rc = check_sequential(fh);

    return rc ? rc
              : wf_file_find_position(fh, offset, whence, fh->position,
                                      &fh->position);
}

MPI_Offset wf_file_count_etypes(const struct wf_file *f, uint64_t bytes)
{
    return f->view->etype_size ? (MPI_Offset)bytes / f->view->etype_size : 0;
}

int wf_mpi_file_get_position(struct wf_instance *wf, struct wf_file *fh,
                             MPI_Offset *offset)
{
    int rc = check_sequential(fh);

    if (rc == MPI_SUCCESS)
        *offset = wf_file_count_etypes(fh, fh->position);
    return rc;
}

int wf_mpi_file_get_byte_offset(struct wf_instance *wf, struct wf_file *fh,
                                MPI_Offset offset, MPI_Offset *disp)
{
    uint64_t stream, at;
    int rc = wf_file_find_position(fh, offset, MPI_SEEK_SET, 0, &stream);

    if (rc)
        return rc;
    if (fh->view->tile->size == 0)
        at = (uint64_t)fh->view->disp;
    else if (!wf_view_find_byte(fh->view, stream, &at))
        return wf_error(MPI_ERR_ARG,
                        "offset is %lld, which is beyond the largest file "
                        "offset",
                        (long long)offset);
    *disp = (MPI_Offset)at;
    return MPI_SUCCESS;
}
