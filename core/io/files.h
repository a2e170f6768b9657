/* The state of this chapter in a rank: made when it is first needed.
 *
 * LOCK  section objects, but for `open`: engines share it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_FILES_H
#define WF_IO_FILES_H

#include "progress/engines.h"

struct wf_datarep;
struct wf_errhandler;
struct wf_file;
struct wf_fs;

struct wf_files_state {
    struct wf_files base;               /* must be first */
    struct wf_errhandler *null_handler; /* of MPI_FILE_NULL */
    struct wf_datarep *registered;
    const struct wf_fs *fs; /* the file system; NULL: wf_fs_posix */
    struct wf_file *lost; /* closed, but data of them were lost: wf_raise still
                             needs them */
    struct wf_list open[WF_ENGINES_ALL]; /* files of each engine. LOCK: its
                                            section */
    void (*release)(struct wf_file *);   /* closes one that the program has left
                                            open; set with the first open one */
};

/* Returns the state of the calling rank; NULL: out of memory. */
struct wf_files_state *wf_files_state(struct wf_instance *);
/* The same without making it; NULL: there is none yet, or no rank. */
struct wf_files_state *wf_files_find_state(struct wf_instance *);

/* Notes a file that was opened, with the function that releases it if it is not
 * closed, or the end of one; with the last one its engine has no more to do
 * with I/O threads. */
void wf_files_note_open(struct wf_file *, void (*release)(struct wf_file *));
void wf_files_note_close(struct wf_file *);

#endif
