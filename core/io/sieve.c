/* Data sieving: the extent of many small pieces is moved at once.
 *
 *   file     ..XX...XX...XX...XX..
 *            |- a window ---|         one read; or a read, changes, a write
 *
 * The tile of a view is a datatype whose addresses are file offsets, so the
 * pieces are taken out of a window as if that was the program's memory: by
 * wf_type_pack, at the address where file offset 0 would be.
 *
 * ERRORS  A window that is written changes what is between the pieces back to
 * what it was: access.h says when that is allowed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/sieve.h"

#include <stdlib.h>

#include "datatype/move.h"
#include "datatype/type.h"
#include "io/access.h"
#include "io/fs.h"
#include "io/view.h"
#include "object/error.h"
#include "os/tuning.h"

enum { BOUNCE = 16 << 10 };

bool wf_access_should_sieve(const struct wf_access *a)
{
    const struct wf_view *v = a->view;
    int use = a->write ? a->sieve.write : a->sieve.read;

    if (use == WF_SIEVE_NEVER || !v->ascending)
        return false;
    if (use == WF_SIEVE_ALWAYS)
        return true;
    /* automatic: reads, where several pieces are close together */
    return !a->write && v->spacing <= WF_SIEVE_SPACING &&
           a->stream_bytes > (uint64_t)v->piece;
}

/* ---- between a window and memory ----------------------------------------- */

struct window {
    char *buffer;
    uint64_t room;
    uint64_t stream, bytes; /* what it holds of the view's stream */
    uint64_t first, length; /* and of the file */
};

/* Chooses the next window, from byte `stream` on. */
static void place_window(const struct wf_access *a, struct window *w)
{
    const struct wf_view *v = a->view;
    uint64_t left = a->stream_bytes - a->bytes_done, last;

    w->stream = a->stream + a->bytes_done;
    wf_view_find_byte(v, w->stream, &w->first);
    w->bytes = wf_view_count_before(v, w->first + w->room) - w->stream;
    if (w->bytes > left)
        w->bytes = left;
    WF_ASSERT(w->bytes > 0);
    wf_view_find_byte(v, w->stream + w->bytes - 1, &last);
    w->length = last + 1 - w->first;
    WF_ASSERT(w->length <= w->room);
}

/* Moves n bytes of the stream between the window and contiguous memory, from
 * byte `at` of the window's stream on. */
static void move_block(const struct wf_access *a, const struct window *w,
                       uint64_t at, char *memory, uint64_t n)
{
    const struct wf_type *tile = a->view->tile;
    uint64_t stream = w->stream + at;
    uint64_t tiles = (stream + n - 1) / (uint64_t)tile->size + 1;
    void *origin = (void *)((uintptr_t)w->buffer - (uintptr_t)w->first +
                            (uintptr_t)a->view->disp);

    if (a->write)
        wf_type_unpack(tile, origin, tiles, stream, memory, n);
    else
        wf_type_pack(tile, origin, tiles, stream, memory, n);
}

/* Moves n bytes between the window and the program's memory. */
static void move_memory(const struct wf_access *a, const struct window *w,
                        uint64_t n)
{
    char bounce[BOUNCE];

    if (n > 0 && wf_type_is_contiguous(a->type)) {
        move_block(a, w, 0, wf_type_data(a->type, a->buf) + a->bytes_done, n);
        return;
    }
    for (uint64_t at = 0; at < n; at += sizeof bounce) {
        uint64_t part = n - at < sizeof bounce ? n - at : sizeof bounce;

        if (a->write)
            wf_type_pack(a->type, a->buf, a->count, a->bytes_done + at, bounce,
                         part);
        move_block(a, w, at, bounce, part);
        if (!a->write)
            wf_type_unpack(a->type, a->buf, a->count, a->bytes_done + at,
                           bounce, part);
    }
}

/* ---- between a window and the file --------------------------------------- */

/* Returns the bytes of the window's stream in the first `length` of its
 * file. */
static uint64_t count_stream(const struct wf_access *a, const struct window *w,
                             uint64_t length)
{
    return length == w->length
               ? w->bytes
               : wf_view_count_before(a->view, w->first + length) - w->stream;
}

static int read_window(struct wf_access *a, struct window *w, bool *whole)
{
    struct iovec v = {w->buffer, (size_t)w->length};
    uint64_t length = 0, n;
    int rc = a->fs_file->fs->preadv(a->fs_file, &v, 1, w->first, &length);

    n = count_stream(a, w, length);
    move_memory(a, w, n);
    a->bytes_done += n;
    *whole = n == w->bytes;
    return rc;
}

static int write_window(struct wf_access *a, struct window *w, bool *whole)
{
    struct iovec v = {w->buffer, (size_t)w->length};
    uint64_t length = 0, n;
    int rc = MPI_SUCCESS;

    if (w->length > w->bytes) {
        rc = a->fs_file->fs->preadv(a->fs_file, &v, 1, w->first, &length);
        memset(w->buffer + length, 0, (size_t)(w->length - length));
    }
    *whole = false;
    if (rc)
        return rc;
    move_memory(a, w, w->bytes);
    length = 0;
    rc = a->fs_file->fs->pwritev(a->fs_file, &v, 1, w->first, &length);
    n = count_stream(a, w, length);
    a->bytes_done += n;
    *whole = n == w->bytes;
    return rc;
}

int wf_access_sieve(struct wf_access *a)
{
    uint64_t first = 0, last = 0;
    struct window w = {.room = a->write ? a->sieve.write_buffer
                                        : a->sieve.read_buffer};
    bool whole = true;
    int rc = MPI_SUCCESS;

    wf_view_find_byte(a->view, a->stream, &first);
    wf_view_find_byte(a->view, a->stream + a->stream_bytes - 1, &last);
    if (w.room > last + 1 - first)
        w.room = last + 1 - first;
    w.buffer = malloc((size_t)w.room);
    if (!w.buffer)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a buffer of %llu bytes",
                        (unsigned long long)w.room);
    while (rc == MPI_SUCCESS && whole && a->bytes_done < a->stream_bytes) {
        place_window(a, &w);
        rc =
            a->write ? write_window(a, &w, &whole) : read_window(a, &w, &whole);
    }
    free(w.buffer);
    return rc;
}
