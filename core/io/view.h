/* Views: which bytes of a file a process sees, and in which order (MPI-5.0
 * s14.3).
 *
 *   file    disp|--XX--X---|--XX--X---|--XX--X---      tiles, one per filetype
 *   stream        01  2       34  5       67  8        the bytes it sees
 *
 * A view is a displacement and a tile that repeats from there on. The bytes of
 * the tiles, in the order of the filetype's typemap, are the stream of the
 * view, numbered from 0. An etype is etype_size bytes of it; offsets and
 * pointers of the program count etypes, everything below access.h counts bytes.
 *
 * DESIGN  A tile is a datatype whose addresses are file offsets, so the layout
 * of core/datatype finds any byte of the stream without a list of pieces. In a
 * data representation other than native the tile is the filetype with the sizes
 * that its basic types have in the file.
 *
 * INVARIANT  A view does not change; threads read it without a section.
 *
 * LOCK  refs: the API section of the file's engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_VIEW_H
#define WF_IO_VIEW_H

#include "base.h"

struct wf_datarep;
struct wf_instance;
struct wf_type;

struct wf_view {
    uint32_t refs;
    int64_t disp;                     /* bytes in front of the first tile */
    struct wf_type *etype, *filetype; /* as the program gave them */
    struct wf_type *tile;             /* one filetype, as it is in the file */
    int64_t etype_size;               /* bytes of an etype in the stream */
    const struct wf_datarep *datarep;
    bool linear;            /* stream byte b is file byte `start` + b */
    int64_t start;          /* file offset of stream byte 0 */
    uint64_t near;          /* of a linear, native view: up to this byte of the
                               stream the largest file offset is not reached;
                               0: of another one */
    bool ascending;         /* file offsets grow with the stream */
    int64_t piece, spacing; /* bytes of a run, and from one to the next, on
                               average */
};

/* A run: bytes that lie in a row in the file. */
struct wf_run {
    uint64_t offset, bytes;
};

/* The arguments of MPI_File_set_view. */
struct wf_view_wish {
    int64_t disp; /* not negative */
    struct wf_type *etype, *filetype;
    const char *datarep;
    bool writes; /* of a file that may be written */
};

/* Makes a view; an error class. May leave the section of the engine, to call
 * functions of the program. */
int wf_view_create(struct wf_instance *, const struct wf_view_wish *,
                   struct wf_view **out);
void wf_view_get(struct wf_view *);
void wf_view_put(struct wf_view *);

/* Computes the file offset of a byte of the stream. False: it is beyond 63
 * bits, or the view has no bytes. */
bool wf_view_find_byte(const struct wf_view *, uint64_t stream,
                       uint64_t *offset);

/* Returns how many bytes of the stream are in front of a file offset. The view
 * is ascending. */
uint64_t wf_view_count_before(const struct wf_view *, uint64_t offset);

/* Lists the runs of stream bytes [stream, stream + bytes), in the order of the
 * stream, adjacent ones merged: at most max, the last one perhaps in part.
 * Returns their number. The range has been checked by wf_view_check_range. */
int wf_view_list_runs(const struct wf_view *, uint64_t stream, uint64_t bytes,
                      struct wf_run *, int max);

/* Checks that the bytes of a range have file offsets. Returns an error class,
 * with the cause recorded. */
int wf_view_check_range(const struct wf_view *, uint64_t stream,
                        uint64_t bytes);

#endif
