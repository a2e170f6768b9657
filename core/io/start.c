/* Nonblocking accesses, and collective ones in their independent form.
 *
 *   wf_file_start --job--> I/O thread --> done --> request complete
 *   wf_file_start_collective              done --> reduction --> request
 *
 * The reduction of a collective access is built when the access is started, so
 * that its messages have the tag of that call in all members, whatever the
 * order in which accesses end.
 *
 * Where the program's functions convert data the access runs in the call: they
 * are not called in a thread that the program does not know.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "coll/args.h"
#include "coll/run.h"
#include "core_api.h"
#include "datatype/op.h"
#include "datatype/predefined.h"
#include "io/datarep.h"
#include "io/file.h"
#include "io/view.h"
#include "io/worker.h"
#include "object/error.h"
#include "object/error_text.h"
#include "protocol/request.h"

/* An access that is under way. It is the context of its request. */
struct started {
    struct wf_io_job job;
    struct wf_file *file; /* referenced */
    struct wf_req *req;
    struct wf_access access;
    bool has_access;
    int rc;                /* of the access, then of all members */
    char *cause;           /* its text; or NULL */
    struct wf_sched *vote; /* NULL: not collective, or over */
    int64_t mine, all;     /* the words of the vote */
};

/* ---- the request --------------------------------------------------------- */

static int explain_failure(struct wf_req *r)
{
    struct started *s = r->context;

    wf_error_on(s->file, s->rc, "%s",
                s->cause ? s->cause : wf_error_sentence(s->rc));
    return r->error;
}

static int destroy_request(struct wf_req *r)
{
    struct started *s = r->context;

    wf_file_put(s->file);
    free(s->cause);
    free(s);
    return MPI_SUCCESS;
}

static void record_outcome(struct started *s, int rc)
{
    s->rc = rc;
    free(s->cause);
    s->cause = NULL;
    if (rc)
        s->cause = strdup(wf_error_last()->text);
}

/* The access and, if it was collective, the vote are over. */
static void complete_access(struct started *s)
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

static struct started *
create_started(struct wf_file *f, const struct wf_access *a, const char *what)
{
    struct started *s = calloc(1, sizeof *s);

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
    s->job.wf = f->wf;
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

/* Takes a request back that was not started. */
static void discard_started(struct started *s)
{
    if (s->has_access)
        wf_access_drop(&s->access);
    s->file->under_way--;
    wf_req_abandon(s->req);
}

/* ---- the vote of a collective access ------------------------------------- */

static int build_vote(struct started *s)
{
    struct wf_coll_args a = {.comm = s->file->comm,
                             .sbuf = &s->mine,
                             .rbuf = &s->all,
                             .rcount = 1,
                             .rtype = wf_type_of(MPI_INT64_T),
                             .op = wf_op_of(MPI_MAX)};

    if (s->file->comm->size == 1)
        return MPI_SUCCESS;
    return wf_coll_build(wf_build_allreduce, &a, false, &s->vote);
}

static void finish_vote(void *arg, int rc)
{
    struct started *s = arg;

    if (rc)
        record_outcome(s, rc);
    else if (s->all != s->mine)
        record_outcome(s, wf_file_record_vote(s->all));
    complete_access(s);
}

static void start_vote(struct started *s)
{
    struct wf_sched *vote = s->vote;

    s->vote = NULL;
    s->mine = wf_file_encode_vote(s->rc, s->file->comm->rank);
    wf_sched_start_part(vote, finish_vote, s);
}

/* ---- the job ------------------------------------------------------------- */

static struct started *started_of(struct wf_io_job *job)
{
    return wf_container(job, struct started, job);
}

static void run_access(struct wf_io_job *job)
{
    struct started *s = started_of(job);

    record_outcome(s, wf_access_run(&s->access));
}

static void end_access(struct wf_io_job *job)
{
    struct started *s = started_of(job);

    if (s->vote)
        start_vote(s);
    else
        complete_access(s);
}

static bool runs_in_call(const struct wf_access *a)
{
    return a->view->datarep->kind == WF_REP_REGISTERED;
}

/* Starts the access; it has been checked. */
static void start_access(struct started *s)
{
    int rc;

    if (!s->has_access) {
        end_access(&s->job);
        return;
    }
    if (runs_in_call(&s->access)) {
        record_outcome(s, wf_file_run(s->file, &s->access));
        end_access(&s->job);
        return;
    }
    s->job.run = run_access;
    s->job.done = end_access;
    rc = wf_io_submit(&s->job);
    if (rc) {
        record_outcome(s, rc);
        end_access(&s->job);
    }
}

int wf_file_start(struct wf_file *f, const struct wf_access *a,
                  const char *what, struct wf_req **out)
{
    struct started *s = create_started(f, a, what);

    if (!s)
        return MPI_ERR_NO_MEM;
    *out = s->req;
    start_access(s);
    return MPI_SUCCESS;
}

int wf_file_start_collective(struct wf_file *f, const struct wf_access *a,
                             int rc, const char *what, struct wf_req **out)
{
    struct started *s = create_started(f, rc ? NULL : a, what);

    if (!s)
        return MPI_ERR_NO_MEM;
    record_outcome(s, rc);
    rc = build_vote(s);
    if (rc) {
        discard_started(s);
        return rc;
    }
    *out = s->req;
    start_access(s);
    return MPI_SUCCESS;
}
