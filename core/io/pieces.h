/* Pieces of a file in the messages of collective accesses, and a window of the
 * file that they are put into or taken out of.
 *
 *   file     |--XX--XX--XX--XXXX--XXXX--|      a window
 *   pieces   3 of 2 bytes, 4 apart; 2 of 4 bytes, 6 apart
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_PIECES_H
#define WF_IO_PIECES_H

#include "base.h"

struct wf_fs_file;
struct wf_view;

/* `count` pieces of `bytes` each, which begin `stride` apart; as it is sent. */
struct wf_pieces {
    uint64_t offset, bytes, stride, count;
};

struct wf_piece_list {
    struct wf_pieces *p;
    uint64_t n, room;
};

/* Lists the pieces of a range of a view's stream; offsets grow. Frees what the
 * list had before. False: out of memory. */
bool wf_pieces_list(struct wf_piece_list *, const struct wf_view *,
                    uint64_t stream, uint64_t bytes);
void wf_pieces_free(struct wf_piece_list *);

/* A window of the file in memory. */
struct wf_window {
    char *buf;
    uint64_t first, bytes; /* of the file */
    uint64_t *used;        /* a bit for each byte that is in some piece */
    uint64_t end; /* of what a transfer has reached: all below it is moved */
};

/* Makes a window, or moves it to another place of the file, with no byte used.
 * False: out of memory. */
bool wf_window_place(struct wf_window *, uint64_t first, uint64_t bytes);
void wf_window_free(struct wf_window *);

/* Returns whether pieces from another process lie in a window and have so many
 * bytes. */
bool wf_window_holds(const struct wf_window *, const struct wf_pieces *,
                     uint64_t n, uint64_t bytes);
/* Marks the bytes of the pieces as used. */
void wf_window_mark(struct wf_window *, const struct wf_pieces *, uint64_t n);
/* Copies data into the pieces, or out of those below file offset `end`; returns
 * how many bytes that were. */
void wf_window_put(struct wf_window *, const struct wf_pieces *, uint64_t n,
                   const char *data);
uint64_t wf_window_get(const struct wf_window *, const struct wf_pieces *,
                       uint64_t n, uint64_t end, char *data);

/* Writes the used bytes of a window, or reads at least those, and sets `end`:
 * where an error, or the end of the file, was met; else UINT64_MAX. Returns an
 * error class. */
int wf_window_write(struct wf_window *, struct wf_fs_file *);
int wf_window_read(struct wf_window *, struct wf_fs_file *);

#endif
