/* An access: elements in memory, and a range of the stream of a view.
 *
 *   memory   buf, count, type     the packed stream of the elements
 *   file     view, stream         the stream of the view from this byte on
 *
 * Where the data representation is native the two streams are the same, byte
 * for byte, and access.c walks them together. It is the one place that moves
 * data between memory and a file for one process.
 *
 * OWNERS  Whoever fills in an access holds references to view and type for as
 * long as it runs (wf_access_hold and wf_access_drop, inside the section). The
 * file may not be closed meanwhile: wf_file.under_way counts.
 *
 * THREADS  wf_access_run reads what the access points to and changes the access
 * alone. It runs in any thread, without a section; it may wait for the disk.
 *
 * ERRORS  wf_access_run returns an error class and records the cause on the
 * calling thread; `bytes_done` is right in any case.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_ACCESS_H
#define WF_IO_ACCESS_H

#include "base.h"

struct wf_fs_file;
struct wf_type;
struct wf_view;

/* How an access treats what is between its pieces in the file. */
struct wf_sieve {
    uint8_t read, write;                /* enum wf_sieve_use */
    uint64_t read_buffer, write_buffer; /* bytes of a buffer */
};
enum wf_sieve_use { WF_SIEVE_NEVER, WF_SIEVE_AUTOMATIC, WF_SIEVE_ALWAYS };

struct wf_access {
    struct wf_fs_file *fs_file;
    struct wf_view *view;
    uint64_t stream; /* first byte of the view's stream */
    void *buf;       /* only read if `write` */
    uint64_t count;
    struct wf_type *type;
    uint64_t stream_bytes; /* bytes of the view's stream that it takes */
    bool write;
    bool locks; /* the extent of the access, as one range */
    struct wf_sieve sieve;

    uint64_t bytes_done; /* of the memory's packed stream: for the status */
};

/* Takes, or drops, references to the view and the type. */
void wf_access_hold(struct wf_access *);
void wf_access_drop(struct wf_access *);

/* Performs the access. A read is short, without an error, at the end of the
 * file only. */
int wf_access_run(struct wf_access *);

/* Moves the bytes of an access that are the same in memory and in the file. */
int wf_access_transfer(struct wf_access *);

#endif
