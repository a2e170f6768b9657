/* Files: the objects of MPI-IO (MPI-5.0 chapter 14).
 *
 *   wf_file -- comm      a duplicate of the communicator: its own context id,
 *                        or that of a file before it
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
#include "io/function.h"
#include "io/handle.h"
#include "io/hints.h"

struct wf_errhandler;
struct wf_fs_file;
struct wf_info;
struct wf_req;
struct wf_shared; /* io/shared.h */
struct wf_twophase;
struct wf_view;

struct wf_file {
    struct wf_object object; /* references: the program, requests */
    struct wf_instance *wf;
    struct wf_comm *comm;
    struct wf_comm *parent;     /* which may keep it: file_comm.h; or NULL */
    uint32_t comm_uses;         /* by files before this one */
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
    /* Memory for collective calls, made when all agree on the opening: later no
     * member can lack it, and leave the others waiting. */
    uint64_t *lengths;         /* a number of each member */
    struct wf_twophase *spare; /* NULL while an access has it */

    struct wf_list link;       /* of those that are open: files.h */
    struct wf_file *next_lost; /* files.h */

    uint64_t block; /* of the file system; 0: it was not asked yet */
    bool is_local;  /* the file system, likewise */
    struct wf_file_hints hints;
    struct wf_errhandler *errhandler;
    struct wf_info *info;
};

/* Ends a file: it keeps what its errors and requests need. Then drops the
 * program's reference, or with an error leaves that to the end of the rank. */
void wf_file_end(struct wf_file *, int rc);
/* Drops a reference; the last one frees the file. */
void wf_file_put(struct wf_file *);

#endif
