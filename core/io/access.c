/* An access: memory and a view walked together.
 *
 * A run of the file is one call of the file system, or several where the
 * elements in memory are in many pieces: pieces go into a list of blocks, and
 * small ones through a staging buffer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/access.h"

#include <stdlib.h>

#include "datatype/move.h"
#include "datatype/segments.h"
#include "datatype/type.h"
#include "io/convert.h"
#include "io/datarep.h"
#include "io/fs.h"
#include "io/sieve.h"
#include "io/view.h"
#include "object/error.h"

enum { BLOCKS = 256, STAGE_ON_STACK = 8 << 10, STAGE = 256 << 10, RUNS = 64 };

void wf_access_hold(struct wf_access *a)
{
    wf_view_get(a->view);
    wf_type_get(a->type);
}

void wf_access_drop(struct wf_access *a)
{
    wf_view_put(a->view);
    wf_type_put(a->type);
}

/* ---- one run ------------------------------------------------------------- */

/* Moves blocks of memory from or to a run; adds what was moved. */
static int move_blocks(struct wf_access *a, const struct iovec *v, int n,
                       uint64_t offset, uint64_t *moved)
{
    const struct wf_fs *fs = a->fs_file->fs;
    uint64_t done = 0;
    int rc = a->write ? fs->pwritev(a->fs_file, v, n, offset, &done)
                      : fs->preadv(a->fs_file, v, n, offset, &done);

    *moved += done;
    return rc;
}

/* Cuts a list of blocks to `bytes`. Returns its length in bytes. */
static uint64_t cut_blocks(struct iovec *v, int *n, uint64_t bytes)
{
    uint64_t sum = 0;

    for (int i = 0; i < *n; i++) {
        if (v[i].iov_len >= bytes - sum) {
            v[i].iov_len = (size_t)(bytes - sum);
            *n = i + 1;
            return bytes;
        }
        sum += v[i].iov_len;
    }
    return sum;
}

/* Moves a run from or to pieces of memory. */
static int move_pieces(struct wf_access *a, uint64_t memory,
                       const struct wf_run *run, uint64_t *moved)
{
    struct iovec v[BLOCKS];
    int rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS && *moved < run->bytes) {
        uint64_t before = *moved, bytes;
        int n = wf_type_list_segments(a->type, a->buf, a->count,
                                      memory + before, v, BLOCKS);

        bytes = cut_blocks(v, &n, run->bytes - before);
        rc = move_blocks(a, v, n, run->offset + before, moved);
        if (*moved - before < bytes)
            break;
    }
    return rc;
}

/* Moves a part of a run through the staging buffer. */
static int move_staged_part(struct wf_access *a, uint64_t memory,
                            uint64_t offset, struct iovec stage,
                            uint64_t *moved)
{
    uint64_t n = 0;
    int rc;

    if (a->write)
        wf_type_pack(a->type, a->buf, a->count, memory, stage.iov_base,
                     stage.iov_len);
    rc = move_blocks(a, &stage, 1, offset, &n);
    if (!a->write && n > 0)
        wf_type_unpack(a->type, a->buf, a->count, memory, stage.iov_base, n);
    *moved += n;
    return rc;
}

static int move_staged(struct wf_access *a, uint64_t memory,
                       const struct wf_run *run, uint64_t *moved)
{
    char small[STAGE_ON_STACK];
    uint64_t room = run->bytes < STAGE ? run->bytes : STAGE;
    char *stage = room <= sizeof small ? small : malloc((size_t)room);
    int rc = MPI_SUCCESS;

    if (!stage)
        return wf_error(MPI_ERR_NO_MEM, "no memory to stage %llu bytes",
                        (unsigned long long)room);
    while (rc == MPI_SUCCESS && *moved < run->bytes) {
        uint64_t before = *moved, left = run->bytes - before;
        struct iovec v = {stage, (size_t)(left < room ? left : room)};

        rc = move_staged_part(a, memory + before, run->offset + before, v,
                              moved);
        if (*moved - before < v.iov_len)
            break;
    }
    if (stage != small)
        free(stage);
    return rc;
}

/* Moves one run, from or to the bytes of the memory's stream behind those that
 * are done. *whole: all of it. */
static int move_run(struct wf_access *a, const struct wf_run *run, bool *whole)
{
    uint64_t memory = a->bytes_done, moved = 0;
    struct iovec v;
    int rc;

    if (wf_type_is_contiguous(a->type)) {
        v.iov_base = wf_type_data(a->type, a->buf) + memory;
        v.iov_len = (size_t)run->bytes;
        rc = move_blocks(a, &v, 1, run->offset, &moved);
    } else if (a->type->flags & WF_TYPE_SMALL_SEGMENTS) {
        rc = move_staged(a, memory, run, &moved);
    } else {
        rc = move_pieces(a, memory, run, &moved);
    }
    a->bytes_done += moved;
    *whole = moved == run->bytes;
    return rc;
}

/* ---- the whole ----------------------------------------------------------- */

static int move_runs(struct wf_access *a)
{
    struct wf_run runs[RUNS];
    uint64_t bytes = a->stream_bytes;
    bool whole = true;
    int rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS && whole && a->bytes_done < bytes) {
        int n = wf_view_list_runs(a->view, a->stream + a->bytes_done,
                                  bytes - a->bytes_done, runs, RUNS);

        for (int i = 0; i < n && rc == MPI_SUCCESS && whole; i++)
            rc = move_run(a, &runs[i], &whole);
    }
    return rc;
}

int wf_access_transfer(struct wf_access *a)
{
    struct wf_run run;
    bool whole;

    if (wf_likely(a->view->linear)) {
        run = (struct wf_run){(uint64_t)a->view->start + a->stream,
                              a->stream_bytes};
        return move_run(a, &run, &whole);
    }
    return wf_access_should_sieve(a) ? wf_access_sieve(a) : move_runs(a);
}

static int run_unlocked(struct wf_access *a)
{
    return wf_unlikely(wf_datarep_converts(a->view->datarep, a->write))
               ? wf_access_convert(a)
               : wf_access_transfer(a);
}

/* The extent of an access in the file. Where the offsets do not grow it is all
 * of the file. */
static void find_extent(const struct wf_access *a, uint64_t *first,
                        uint64_t *bytes)
{
    uint64_t last;

    *first = *bytes = 0;
    if (a->view->ascending && wf_view_find_byte(a->view, a->stream, first) &&
        wf_view_find_byte(a->view, a->stream + a->stream_bytes - 1, &last))
        *bytes = last + 1 - *first;
    else
        *first = 0;
}

static int run_locked(struct wf_access *a)
{
    const struct wf_fs *fs = a->fs_file->fs;
    uint64_t first, bytes;
    int rc, rc_unlock;

    find_extent(a, &first, &bytes);
    rc = fs->lock(a->fs_file, a->write ? WF_FS_EXCLUSIVE : WF_FS_SHARED, first,
                  bytes);
    if (rc)
        return rc;
    rc = run_unlocked(a);
    rc_unlock = fs->unlock(a->fs_file, first, bytes);
    return rc ? rc : rc_unlock;
}

int wf_access_run(struct wf_access *a)
{
    a->bytes_done = 0;
    if (a->stream_bytes == 0)
        return MPI_SUCCESS;
    return a->locks ? run_locked(a) : run_unlocked(a);
}
