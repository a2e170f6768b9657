/* Files: the objects of MPI-IO (MPI-5.0 chapter 14).
 *
 *   wf_file -- comm      a duplicate of the communicator: its own context id
 *           -- fs_file   the file as this process has opened it
 *           -- view      which bytes of it this process sees
 *
 * docs/internals/files.md has the ways of an access.
 *
 * LOCK  everything here: the API section of the file's engine. An access that
 * runs reads fs_file and its view, which do not change, outside of it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_FILE_H
#define WF_IO_FILE_H

#include "group/comm.h"
#include "io/access.h"
#include "io/handle.h"
#include "io/hints.h"

struct wf_errhandler;
struct wf_fs_file;
struct wf_info;
struct wf_req;
struct wf_shared; /* io/shared.h */
struct wf_view;

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

struct wf_file {
    struct wf_object object; /* references: the program, requests */
    struct wf_instance *wf;
    struct wf_comm *comm;
    struct wf_fs_file *fs_file; /* NULL: closed */
    char *path;                 /* without a prefix for the file system */
    int amode;
    struct wf_view *view;
    uint64_t position; /* individual file pointer, bytes of the stream */
    bool closed;       /* MPI_File_close was called */
    bool atomic;
    bool sieves_writes; /* the hint of a member says so: all writes lock */
    uint32_t under_way; /* accesses that run outside the section */
    uint8_t split;      /* enum wf_split */
    struct wf_req *split_request;
    struct wf_shared *shared; /* the shared file pointer */
    uint64_t shared_start;    /* its value at first, bytes of the stream */

    struct wf_file *next_lost; /* files.h */

    uint64_t block; /* of the file system; 0: it was not asked yet */
    struct wf_file_hints hints;
    struct wf_errhandler *errhandler;
    struct wf_info *info;
};

/* Ends a file: it keeps what its errors and requests need. Then drops the
 * program's reference, or with an error leaves that to the end of the rank. */
void wf_file_end(struct wf_file *, int rc);
/* Drops a reference; the last one frees the file. */
void wf_file_put(struct wf_file *);

/* The error of a call that sequential mode forbids. */
int wf_file_refuse_sequential(void);

/* ---- positions ----------------------------------------------------------- */

/* Computes where a pointer at `position` (bytes of the stream) is after
 * MPI_File_seek. An error class. */
int wf_file_find_position(const struct wf_file *, MPI_Offset offset, int whence,
                          uint64_t position, uint64_t *out);
/* Returns the etypes in bytes of the stream. */
MPI_Offset wf_file_count_etypes(const struct wf_file *, uint64_t bytes);

/* ---- accesses ------------------------------------------------------------ */

/* Where an access begins. */
enum wf_pointer {
    WF_AT_OFFSET,   /* MPI_File_x_at */
    WF_AT_POSITION, /* the individual pointer, which advances */
    WF_AT_STREAM    /* a byte of the stream, as the shared pointer says */
};

/* An access as the program asks for it. */
struct wf_file_call {
    struct wf_file *file;
    enum wf_pointer pointer;
    int64_t offset; /* etypes; with WF_AT_STREAM bytes */
    void *buf;
    MPI_Count count;
    struct wf_type *type;
    bool write;
};

/* Checks a call and makes an access of it. With WF_AT_POSITION the pointer
 * advances. An error class. May leave the section. */
int wf_file_prepare(const struct wf_file_call *, struct wf_access *);

/* Performs an access in this thread, outside the section. */
int wf_file_run(struct wf_file *, struct wf_access *);

/* Performs a collective access, and agrees on the outcome. rc: the error that
 * this process has met, or MPI_SUCCESS; with an error it only takes part, and
 * the access is not looked at. */
int wf_file_run_collective(struct wf_file *, struct wf_access *, int rc);

/* Start an access, or a collective one, as a request, which owns a copy of the
 * access. what: the name of the MPI function. rc: as above. */
int wf_file_start(struct wf_file *, const struct wf_access *, const char *what,
                  struct wf_req **);
int wf_file_start_collective(struct wf_file *, const struct wf_access *, int rc,
                             const char *what, struct wf_req **);

/* Run, or start, what a call was prepared to, and give the program the status,
 * or the request. rc: the outcome of that; an error is returned. */
int wf_file_finish_call(struct wf_file *, struct wf_access *, int rc,
                        MPI_Status *);
int wf_file_start_call(struct wf_file *, const struct wf_access *, int rc,
                       const char *what, MPI_Request *);

/* Begin a split collective with a request that was started, and end it. */
int wf_file_check_split(const struct wf_file *);
int wf_file_begin_split(struct wf_file *, const struct wf_access *, int rc,
                        enum wf_split, const char *what);
int wf_file_end_split(struct wf_file *, enum wf_split, MPI_Status *);

#endif
