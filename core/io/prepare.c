/* From the arguments of a call to an access, and accesses in this thread, of
 * which MPI_File_sync is one.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/prepare.h"

#include "core_api.h"
#include "datatype/type.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/fs.h"
#include "io/view.h"
#include "object/error.h"
#include "object/status.h"
#include "process/instance.h"

int wf_file_refuse_sequential(void)
{
    return wf_error(MPI_ERR_UNSUPPORTED_OPERATION,
                    "the file was opened with MPI_MODE_SEQUENTIAL, which has "
                    "shared file pointers only");
}

static int refuse_mode(const struct wf_file_call *c)
{
    if (c->write && c->file->amode & MPI_MODE_RDONLY)
        return wf_error(MPI_ERR_READ_ONLY,
                        "the file was opened with MPI_MODE_RDONLY and cannot "
                        "be written");
    if (!c->write && c->file->amode & MPI_MODE_WRONLY)
        return wf_error(MPI_ERR_ACCESS,
                        "the file was opened with MPI_MODE_WRONLY and cannot "
                        "be read");
    return wf_file_refuse_sequential();
}

static bool is_mode_wrong(const struct wf_file_call *c)
{
    int amode = c->file->amode;

    return amode & (c->write ? MPI_MODE_RDONLY : MPI_MODE_WRONLY) ||
           (amode & MPI_MODE_SEQUENTIAL && c->pointer != WF_AT_STREAM);
}

static int refuse_count(const struct wf_file_call *c)
{
    return wf_error(MPI_ERR_COUNT,
                    "count is %lld, which is more than 2^63 - 1 bytes",
                    (long long)c->count);
}

/* Computes the bytes of the stream that `count` elements take where these have
 * another size in the file. */
static int count_converted_bytes(const struct wf_file_call *c, int64_t *total)
{
    const struct wf_datarep *rep = c->file->view->datarep;
    int64_t each;
    int rc = wf_datarep_size(c->file->wf, rep, c->type, &each);

    if (rc)
        return rc;
    if (__builtin_mul_overflow(c->count, each, total))
        return refuse_count(c);
    if (*total && each != c->type->size && !wf_datarep_converts(rep, c->write))
        return wf_error(MPI_ERR_CONVERSION,
                        "datarep \"%s\" has no conversion for this, but "
                        "another size of the data",
                        rep->name);
    return MPI_SUCCESS;
}

static int count_stream_bytes(const struct wf_file_call *c, uint64_t *bytes)
{
    const struct wf_view *v = c->file->view;
    int64_t total;
    int rc;

    if (__builtin_mul_overflow(c->count, c->type->size, &total))
        return refuse_count(c);
    if (wf_unlikely(v->datarep->kind != WF_REP_NATIVE)) {
        rc = count_converted_bytes(c, &total);
        if (rc)
            return rc;
    }
    *bytes = (uint64_t)total;
    if (v->etype_size == 1 || total == 0 ||
        (v->etype_size && total % v->etype_size == 0))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_IO,
                    "%lld bytes are to be transferred, which are not whole "
                    "etypes of %lld bytes",
                    (long long)total, (long long)v->etype_size);
}

static int find_start(const struct wf_file_call *c, uint64_t *stream)
{
    int64_t bytes;

    if (c->pointer == WF_AT_POSITION) {
        *stream = c->file->position;
        return MPI_SUCCESS;
    }
    if (c->pointer == WF_AT_STREAM) {
        *stream = (uint64_t)c->offset;
        return MPI_SUCCESS;
    }
    if (c->offset < 0)
        return wf_error(MPI_ERR_ARG, "offset is %lld but must be 0 or more",
                        (long long)c->offset);
    if (__builtin_mul_overflow(c->offset, c->file->view->etype_size, &bytes))
        return wf_error(MPI_ERR_ARG,
                        "offset is %lld, which is beyond the largest file "
                        "offset",
                        (long long)c->offset);
    *stream = (uint64_t)bytes;
    return MPI_SUCCESS;
}

int wf_file_prepare(const struct wf_file_call *c, struct wf_access *a)
{
    struct wf_file *f = c->file;
    int rc;

    if (wf_unlikely(is_mode_wrong(c)))
        return refuse_mode(c);
    rc = find_start(c, &a->stream);
    if (wf_likely(!rc))
        rc = count_stream_bytes(c, &a->stream_bytes);
    if (wf_likely(!rc))
        rc = wf_view_check_range(f->view, a->stream, a->stream_bytes);
    if (wf_unlikely(rc))
        return rc;
    a->fs_file = f->fs_file;
    a->view = f->view;
    a->buf = c->buf;
    a->count = (uint64_t)c->count;
    a->type = c->type;
    a->write = c->write;
    a->locks = f->atomic || (c->write && f->sieves_writes);
    a->sieve = f->hints.sieve;
    a->sieve.write = f->amode & MPI_MODE_WRONLY ? WF_SIEVE_NEVER
                     : f->sieves_writes         ? a->sieve.write
                                                : WF_SIEVE_NEVER;
    a->bytes_done = 0;
    if (c->pointer == WF_AT_POSITION)
        f->position = a->stream + a->stream_bytes;
    return MPI_SUCCESS;
}

int wf_file_run(struct wf_file *f, struct wf_access *a)
{
    struct wf_instance *wf = f->wf;
    int rc;

    wf_access_hold(a);
    f->under_way++;
    wf_cs_leave(&wf->api);
    rc = wf_access_run(a);
    wf_cs_enter(&wf->api);
    f->under_way--;
    wf_access_drop(a);
    return rc;
}

/* ---- one block ----------------------------------------------------------- */

/* An access that is one block of memory and one of the file. */
struct block {
    struct iovec memory;
    uint64_t stream, offset; /* of the view, and of the file */
};

/* Finds the block of a call. False: it has none, or is an error, or asks for
 * locks: wf_file_prepare tells. */
static inline bool find_block(const struct wf_file_call *c, struct block *b)
{
    const struct wf_file *f = c->file;
    const struct wf_view *v = f->view;
    int64_t bytes, stream = (int64_t)f->position;
    int wrong =
        MPI_MODE_SEQUENTIAL | (c->write ? MPI_MODE_RDONLY : MPI_MODE_WRONLY);

    if (f->amode & wrong || f->atomic || (c->write && f->sieves_writes) ||
        !wf_type_is_contiguous(c->type) ||
        __builtin_mul_overflow(c->count, c->type->size, &bytes) || bytes == 0 ||
        (uint64_t)bytes > v->near)
        return false;
    if (c->pointer == WF_AT_OFFSET &&
        __builtin_mul_overflow(c->offset, v->etype_size, &stream))
        return false;
    if ((uint64_t)stream > v->near - (uint64_t)bytes ||
        (v->etype_size != 1 && v->etype_size != c->type->size &&
         bytes % v->etype_size))
        return false;
    b->memory.iov_base = wf_type_data(c->type, c->buf);
    b->memory.iov_len = (size_t)bytes;
    b->stream = (uint64_t)stream;
    b->offset = (uint64_t)v->start + b->stream;
    return true;
}

/* Neither view nor type is needed while it runs. */
static inline int run_block(const struct wf_file_call *c, const struct block *b,
                            MPI_Status *status)
{
    struct wf_file *f = c->file;
    struct wf_instance *wf = f->wf;
    const struct wf_fs *fs = f->fs_file->fs;
    uint64_t done;
    int rc;

    if (c->pointer == WF_AT_POSITION)
        f->position = b->stream + b->memory.iov_len;
    f->under_way++;
    wf_cs_leave(&wf->api);
    rc = (c->write ? fs->pwritev : fs->preadv)(f->fs_file, &b->memory, 1,
                                               b->offset, &done);
    wf_cs_enter(&wf->api);
    f->under_way--;
    wf_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, done, false);
    return rc;
}

/* ---- any access ---------------------------------------------------------- */

int wf_file_finish_call(struct wf_file *f, struct wf_access *a, int rc,
                        MPI_Status *status)
{
    if (wf_unlikely(rc))
        return rc;
    rc = wf_file_run(f, a);
    wf_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, a->bytes_done, false);
    return rc;
}

static WF_COLD int run_access(const struct wf_file_call *c, MPI_Status *status)
{
    struct wf_access a;
    int rc = wf_file_prepare(c, &a);

    return wf_file_finish_call(c->file, &a, rc, status);
}

int wf_file_run_call(const struct wf_file_call *c, MPI_Status *status)
{
    struct block b;

    return wf_likely(find_block(c, &b)) ? run_block(c, &b, status)
                                        : run_access(c, status);
}

/* The outcome is that of this process: docs/internals/files.md. */
int wf_mpi_file_sync(struct wf_instance *wf, struct wf_file *fh)
{
    int rc;

    fh->under_way++;
    wf_cs_leave(&wf->api);
    rc = fh->fs_file->fs->sync(fh->fs_file);
    wf_cs_enter(&wf->api);
    fh->under_way--;
    return rc;
}
