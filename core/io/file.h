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

struct wf_errhandler;
struct wf_fs_file;
struct wf_info;
struct wf_shared_pointer; /* io/shared.h */
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
    struct wf_object object;
    struct wf_instance *wf;
    struct wf_comm *comm;
    struct wf_fs_file *fs_file;
    char *path; /* without a prefix that names a file system */
    int amode;
    struct wf_view *view;
    uint64_t position;  /* individual file pointer, bytes of the stream */
    bool atomic;
    bool locks_writes;  /* a member may sieve its writes */
    uint32_t under_way; /* accesses that run outside the section */
    uint8_t split;      /* enum wf_split */
    struct wf_req *split_request;
    struct wf_shared_pointer *shared; /* NULL: not used yet */

    struct wf_sieve sieve;
    struct wf_errhandler *errhandler;
    struct wf_info *info;
};

/* ---- errors of collective calls ------------------------------------------ */

/* Agrees on the outcome of a collective call: each member calls it with its
 * own error class, or MPI_SUCCESS. Returns the greatest of all; where another
 * member had it, records which one. */
int wf_file_agree(struct wf_file *, int rc);

/* Checks that all members have passed the same words, and agrees on the outcome
 * rc as wf_file_agree does. what: the argument, for the message. */
int wf_file_agree_on_words(struct wf_comm *, int rc, const int64_t *words,
                           int n, const char *what);

/* ---- accesses ------------------------------------------------------------ */

/* Where an access begins. */
enum wf_pointer {
    WF_AT_OFFSET,    /* MPI_File_x_at */
    WF_AT_POSITION,  /* the individual pointer, which advances */
    WF_AT_STREAM     /* a byte of the stream, as the shared pointer says */
};

/* An access as the program asks for it. */
struct wf_file_call {
    struct wf_file *file;
    enum wf_pointer pointer;
    MPI_Offset offset; /* etypes; with WF_AT_STREAM bytes */
    void *buf;
    MPI_Count count;
    struct wf_type *type;
    bool write;
    bool collective; /* the call is one of all members */
};

/* Checks a call and makes an access of it: amode, atomic mode, range of the
 * view. With WF_AT_POSITION the pointer advances. */
int wf_file_prepare(const struct wf_file_call *, struct wf_access *);

/* Performs an access in this thread, outside the section. */
int wf_file_run(struct wf_file *, struct wf_access *);

/* Performs the accesses of a collective call, and agrees on the outcome.
 * rc: the error that this process has met before, or MPI_SUCCESS; then it only
 * takes part. collective.c; the two-phase schedule takes its place. */
int wf_file_run_collective(struct wf_file *, struct wf_access *, int rc);

/* Start an access, or a collective one, as a request. With rc, as above. The
 * request owns a copy of the access. */
int wf_file_start(struct wf_file *, const struct wf_access *, const char *what,
                  struct wf_req **);
int wf_file_start_collective(struct wf_file *, const struct wf_access *, int rc,
                             const char *what, struct wf_req **);

#endif
