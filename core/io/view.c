/* Views: which bytes of a file a process sees, and in which order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/view.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "datatype/locate.h"
#include "datatype/segments.h"
#include "datatype/type.h"
#include "io/datarep.h"
#include "object/error.h"

_Static_assert(sizeof(void *) >= sizeof(uint64_t),
               "a tile's file offsets are addresses of a datatype");

void wf_view_get(struct wf_view *v)
{
    v->refs++;
}

void wf_view_put(struct wf_view *v)
{
    if (--v->refs > 0)
        return;
    wf_type_put(v->etype);
    wf_type_put(v->filetype);
    if (v->tile)
        wf_type_put(v->tile);
    free(v);
}

/* ---- making a view ------------------------------------------------------- */

static int check_types(const struct wf_view *v)
{
    const struct wf_type *e = v->etype, *f = v->filetype;

    if (e->size == 0 ? f->size != 0 : f->size % e->size != 0)
        return wf_error(MPI_ERR_ARG,
                        "filetype has %lld bytes, and etype %lld: a filetype "
                        "is made of whole etypes",
                        (long long)f->size, (long long)e->size);
    if (f->size > 0 && f->true_lb < 0)
        return wf_error(MPI_ERR_IO,
                        "filetype has a negative displacement, %lld",
                        (long long)f->true_lb);
    if (f->extent < 0)
        return wf_error(MPI_ERR_IO, "filetype has a negative extent, %lld",
                        (long long)f->extent);
    return MPI_SUCCESS;
}

/* The displacements grow; where data are written no byte is there twice. */
static int check_order(const struct wf_view *v, bool writes)
{
    if (!wf_type_is_nondecreasing(v->tile))
        return wf_error(MPI_ERR_IO,
                        "the displacements of filetype decrease: give the "
                        "blocks in the order in which they are in the file");
    if (writes && !wf_type_is_ascending(v->tile))
        return wf_error(MPI_ERR_IO,
                        "some bytes of filetype overlap, which is for files "
                        "opened with MPI_MODE_RDONLY");
    return MPI_SUCCESS;
}

static void set_form(struct wf_view *v)
{
    const struct wf_type *t = v->tile;

    v->linear = t->size > 0 && wf_type_is_contiguous(t) && t->extent == t->size;
    v->start = t->size > 0 ? v->disp + wf_type_locate(t, 0) : v->disp;
    if (v->linear && v->etype_size > 0 && v->datarep->kind == WF_REP_NATIVE &&
        v->start < INT64_MAX - t->true_extent)
        v->near = (uint64_t)(INT64_MAX - t->true_extent - v->start);
    if (t->size > 0) {
        v->piece = t->size / wf_type_count_segments(t);
        v->spacing = t->extent / wf_type_count_segments(t);
    }
    v->ascending =
        wf_type_is_ascending(t) &&
        (t->size == 0 || t->extent >= wf_type_locate(t, t->size - 1) + 1 -
                                          wf_type_locate(t, 0));
}

int wf_view_create(struct wf_instance *wf, const struct wf_view_wish *w,
                   struct wf_view **out)
{
    struct wf_view *v = calloc(1, sizeof *v);
    int rc;

    if (!v)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a view");
    v->refs = 1;
    v->disp = w->disp;
    v->etype = w->etype;
    v->filetype = w->filetype;
    wf_type_get(v->etype);
    wf_type_get(v->filetype);
    rc = check_types(v);
    if (rc == MPI_SUCCESS)
        rc = wf_datarep_find(wf, w->datarep, &v->datarep);
    if (rc == MPI_SUCCESS)
        rc = wf_datarep_size(wf, v->datarep, v->etype, &v->etype_size);
    if (rc == MPI_SUCCESS)
        rc = wf_datarep_tile(wf, v->datarep, v->filetype, &v->tile);
    if (rc == MPI_SUCCESS)
        rc = check_order(v, w->writes);
    if (rc) {
        wf_view_put(v);
        return rc;
    }
    set_form(v);
    *out = v;
    return MPI_SUCCESS;
}

/* ---- from the stream to the file and back -------------------------------- */

bool wf_view_find_byte(const struct wf_view *v, uint64_t stream,
                       uint64_t *offset)
{
    const struct wf_type *t = v->tile;
    int64_t at;

    if (t->size == 0 || stream > INT64_MAX)
        return false;
    if (v->linear) {
        *offset = (uint64_t)v->start + stream;
        return *offset <= INT64_MAX;
    }
    int64_t tile = (int64_t)stream / t->size;
    if (__builtin_mul_overflow(tile, t->extent, &at) ||
        __builtin_add_overflow(at, v->disp, &at) ||
        __builtin_add_overflow(at, wf_type_locate(t, (int64_t)stream % t->size),
                               &at))
        return false;
    *offset = (uint64_t)at;
    return true;
}

/* The number of the last tile whose first byte is below an offset. */
static uint64_t find_tile_below(const struct wf_view *v, uint64_t offset)
{
    if (v->tile->extent == 0)
        return 0;
    return (offset - 1 - (uint64_t)v->start) / (uint64_t)v->tile->extent;
}

uint64_t wf_view_count_before(const struct wf_view *v, uint64_t offset)
{
    const struct wf_type *t = v->tile;
    uint64_t tile;

    WF_ASSERT(v->ascending);
    if (t->size == 0 || offset <= (uint64_t)v->start)
        return 0;
    if (v->linear)
        return offset - (uint64_t)v->start;
    tile = find_tile_below(v, offset);
    offset -= (uint64_t)v->disp + tile * (uint64_t)t->extent;
    return tile * (uint64_t)t->size +
           (uint64_t)wf_type_count_below(t, (int64_t)offset);
}

int wf_view_list_runs(const struct wf_view *v, uint64_t stream, uint64_t bytes,
                      struct wf_run *runs, int max)
{
    enum { BATCH = 64 };
    struct iovec segments[BATCH];
    uint64_t tiles;
    int n;

    if (bytes == 0 || max <= 0)
        return 0;
    if (v->linear) {
        *runs = (struct wf_run){(uint64_t)v->start + stream, bytes};
        return 1;
    }
    tiles = (stream + bytes - 1) / (uint64_t)v->tile->size + 1;
    n = wf_type_list_segments(v->tile, (void *)(uintptr_t)v->disp, tiles,
                              stream, segments, max < BATCH ? max : BATCH);
    for (int i = 0; i < n; i++) {
        uint64_t length = segments[i].iov_len;

        if (length >= bytes) {
            length = bytes;
            n = i + 1;
        }
        runs[i].offset = (uintptr_t)segments[i].iov_base;
        runs[i].bytes = length;
        bytes -= length;
    }
    return n;
}

int wf_view_check_range(const struct wf_view *v, uint64_t stream,
                        uint64_t bytes)
{
    uint64_t last, end;

    if (bytes == 0 || (bytes <= v->near && stream <= v->near - bytes))
        return MPI_SUCCESS;
    if (v->tile->size == 0)
        return wf_error(MPI_ERR_ARG,
                        "the view has no bytes, and %llu are to "
                        "be transferred",
                        (unsigned long long)bytes);
    /* The whole last tile must fit: its pieces are listed as one. */
    if (__builtin_add_overflow(stream, bytes - 1, &last) ||
        __builtin_add_overflow(last, (uint64_t)v->tile->size, &end) ||
        !wf_view_find_byte(v, last, &last) ||
        (int64_t)last > INT64_MAX - v->tile->true_extent)
        return wf_error(MPI_ERR_ARG,
                        "the end of the access, %llu bytes from byte %llu of "
                        "the view, is beyond the largest file offset",
                        (unsigned long long)bytes, (unsigned long long)stream);
    return MPI_SUCCESS;
}
