/* The functions of the standard that access files, as their bindings and the
 * chapter see them: core/api/file_access.py has the table.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_FUNCTION_H
#define WF_IO_FUNCTION_H

#include "base.h"

struct wf_file;
struct wf_type;

/* Where an access begins. */
enum wf_file_pointer {
    WF_AT_OFFSET,   /* MPI_File_x_at */
    WF_AT_POSITION, /* the individual pointer, which advances */
    WF_AT_STREAM    /* a byte of the stream, as the shared pointer says */
};

/* The split collective that is under way. */
enum wf_split {
    WF_SPLIT_NONE,
    WF_SPLIT_READ_AT_ALL,
    WF_SPLIT_WRITE_AT_ALL,
    WF_SPLIT_READ_ALL,
    WF_SPLIT_WRITE_ALL,
    WF_SPLIT_READ_ORDERED,
    WF_SPLIT_WRITE_ORDERED
};

struct wf_file_call;

/* A function, but for the width of its count. */
struct wf_file_function {
    const char
        *name; /* of the int form: report/state.h says which was called */
    /* Performs a call of this function inside the section. out: the program's
     * status or request; NULL: it has neither. Returns an error class. */
    int (*perform)(const struct wf_file_call *, const struct wf_file_function *,
                   void *out);
    /* Takes part in a collective call whose arguments are wrong here, so that
     * the others do not wait for this process. rc: the error, which is
     * returned; waits: the call is a blocking one. Called outside the section.
     * NULL: it is the call of one process. */
    int (*refuse)(struct wf_file *, int rc, bool waits);
    uint8_t pointer; /* enum wf_file_pointer */
    uint8_t split;   /* enum wf_split, which it begins */
    bool write;
    bool has_request; /* `out` is one */
    bool waits;       /* it is blocking */
};

/* A call as the program makes it, with checked arguments. */
struct wf_file_call {
    struct wf_file *file;
    enum wf_file_pointer pointer;
    int64_t offset; /* etypes; with WF_AT_STREAM bytes */
    void *buf;
    MPI_Count count;
    struct wf_type *type;
    bool write;
};

#endif
