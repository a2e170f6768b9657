/* A nonblocking access that is under way: started.c, start_collective.c.
 *
 * LOCK  the API section of the file's engine; while a task runs, rc, cause and
 * the access are the task's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_STARTED_H
#define WF_IO_STARTED_H

#include "io/access.h"
#include "io/worker.h"

struct wf_file;
struct wf_req;

/* It is the context of its request. */
struct wf_started {
    struct wf_io_task task;
    struct wf_file *file; /* referenced */
    struct wf_req *req;
    struct wf_access access;
    bool has_access;
    int rc;      /* an error class */
    char *cause; /* its text; or NULL */
};

/* Makes the request of an access; a == NULL: it moves nothing. NULL: out of
 * memory, which is recorded. */
struct wf_started *wf_started_create(struct wf_file *,
                                     const struct wf_access *a,
                                     const char *what);
/* Begins the access of this process alone; it has been checked. */
void wf_started_begin(struct wf_started *);
/* Notes the outcome, with the cause that was just recorded. */
void wf_started_record(struct wf_started *, int rc);
/* Completes the request with the outcome. */
void wf_started_complete(struct wf_started *);

/* Starts an access as a request, which owns a copy of it. what: the name of the
 * MPI function. */
int wf_file_start(struct wf_file *, const struct wf_access *, const char *what,
                  struct wf_req **);

#endif
