/* Nonblocking accesses of one process.
 *
 *   wf_file_start --task--> I/O thread --> done --> request complete
 *
 * Where the program's functions convert data the access runs in the call: they
 * are not called in a thread that the program does not know.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "io/datarep.h"
#include "io/file.h"
#include "io/prepare.h"
#include "io/started.h"
#include "io/view.h"
#include "io/worker.h"
#include "object/error.h"
#include "object/error_text.h"
#include "protocol/request.h"

/* ---- the request --------------------------------------------------------- */

static int explain_failure(struct wf_req *r)
{
    struct wf_started *s = r->context;

    wf_error_on(s->file, s->rc, "%s",
                s->cause ? s->cause : wf_error_sentence(s->rc));
    return r->error;
}

static int destroy_request(struct wf_req *r)
{
    struct wf_started *s = r->context;

    wf_file_put(s->file);
    free(s->cause);
    free(s);
    return MPI_SUCCESS;
}

void wf_started_record(struct wf_started *s, int rc)
{
    s->rc = rc;
    free(s->cause);
    s->cause = NULL;
    if (rc)
        s->cause = strdup(wf_error_last()->text);
}

void wf_started_complete(struct wf_started *s)
{
    struct wf_file *f = s->file;

    if (s->has_access) {
        s->req->bytes = s->access.bytes_done;
        wf_access_drop(&s->access);
    }
    WF_ASSERT(f->under_way > 0);
    f->under_way--;
    wf_req_complete(s->req, wf_error_status(s->rc));
}

struct wf_started *wf_started_create(struct wf_file *f,
                                     const struct wf_access *a,
                                     const char *what)
{
    struct wf_started *s = calloc(1, sizeof *s);

    if (s)
        s->req = wf_req_create(f->wf, WF_REQ_FILE, f->comm, what);
    if (!s || !s->req) {
        free(s);
        wf_error(MPI_ERR_NO_MEM, "no memory for a request");
        return NULL;
    }
    s->req->context = s;
    s->req->explain = explain_failure;
    s->req->destroy = destroy_request;
    s->task.wf = f->wf;
    s->file = f;
    f->object.refs++;
    if (a) {
        s->access = *a;
        s->has_access = true;
        wf_access_hold(&s->access);
    }
    f->under_way++;
    return s;
}

/* ---- the task ------------------------------------------------------------ */

static struct wf_started *started_of(struct wf_io_task *task)
{
    return wf_container(task, struct wf_started, task);
}

static void run_access(struct wf_io_task *task)
{
    struct wf_started *s = started_of(task);

    wf_started_record(s, wf_access_run(&s->access));
}

static void end_access(struct wf_io_task *task)
{
    wf_started_complete(started_of(task));
}

static bool runs_in_call(const struct wf_access *a)
{
    return a->view->datarep->kind == WF_REP_REGISTERED;
}

void wf_started_begin(struct wf_started *s)
{
    int rc;

    if (!s->has_access) {
        end_access(&s->task);
        return;
    }
    if (runs_in_call(&s->access)) {
        wf_started_record(s, wf_file_run(s->file, &s->access));
        end_access(&s->task);
        return;
    }
    s->task.run = run_access;
    s->task.done = end_access;
    rc = wf_io_submit(&s->task);
    if (rc) {
        wf_started_record(s, rc);
        end_access(&s->task);
    }
}

int wf_file_start(struct wf_file *f, const struct wf_access *a,
                  const char *what, struct wf_req **out)
{
    struct wf_started *s = wf_started_create(f, a, what);

    if (!s)
        return MPI_ERR_NO_MEM;
    *out = s->req;
    wf_started_begin(s);
    return MPI_SUCCESS;
}
