/* Partitioned communication: the functions for both sides. See part.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "part/part.h"

#include <stdlib.h>

#include "object/error.h"
#include "process/instance.h"
#include "protocol/engine.h"

static int refuse_cancel(struct wf_req *r)
{
    return wf_error_on(r->comm, MPI_ERR_REQUEST,
                       "a partitioned operation cannot be cancelled");
}

static struct wf_req *create_inactive_request(struct wf_comm *comm)
{
    struct wf_req *r = wf_req_create(comm->wf, WF_REQ_PARTITIONED, comm,
                                     "partitioned operation");
    if (!r)
        return NULL;
    r->flags = WF_REQ_PERSISTENT;
    wf_store_relaxed(&r->done, 1); /* inactive counts as done */
    r->cancel = refuse_cancel;
    return r;
}

int wf_part_check(const struct wf_part_args *a)
{
    if (a->partitions > 0)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG,
                    "partitions is %d; a partitioned operation has at least 1",
                    a->partitions);
}

void *wf_part_create(size_t size, const struct wf_part_args *a,
                     int (*start)(struct wf_req *),
                     int (*destroy)(struct wf_req *))
{
    struct wf_part *p = calloc(1, size);
    struct wf_req *r = p ? create_inactive_request(a->comm) : NULL;
    if (!r) {
        free(p);
        wf_error(MPI_ERR_NO_MEM, "no memory for a request");
        return NULL;
    }
    r->start = start;
    r->destroy = destroy;
    r->context = p;
    p->req = r;
    p->buf = (char *)(uintptr_t)a->buf;
    p->type = a->type;
    p->count = (uint64_t)a->count;
    p->partitions = a->partitions;
    p->peer = a->peer;
    p->tag = a->tag;
    wf_type_get(a->type);
    wf_list_init(&p->orphan);
    return p;
}

void wf_part_drop(struct wf_part *p)
{
    struct wf_instance *wf = p->req->wf;

    wf_type_put(p->type);
    p->req = NULL;
    if (p->setup_over)
        free(p);
    else
        wf_engine_keep_orphan(wf, &p->orphan);
}

bool wf_part_finish_setup(struct wf_part *p)
{
    p->setup_over = true;
    if (p->req)
        return true;
    wf_list_remove(&p->orphan);
    free(p);
    return false;
}

static void end_message(struct wf_req *message)
{
    struct wf_part_watch *w = message->context;
    int error = wf_error_class(message->error);
    w->bytes = message->bytes;
    wf_req_release(message);
    w->over(w, error);
}

void wf_part_follow_message(struct wf_part_watch *w, int rc,
                            struct wf_req *message)
{
    int error = rc;
    if (rc == MPI_SUCCESS && !wf_req_done(message)) {
        message->flags |= WF_REQ_INTERNAL;
        message->context = w;
        message->on_complete = end_message;
        return;
    }
    if (rc == MPI_SUCCESS) {
        error = wf_error_class(message->error);
        w->bytes = message->bytes;
        wf_req_release(message);
    }
    w->over(w, error);
}

void wf_part_count_message(struct wf_part *p, int error)
{
    if (error && !p->req->error)
        p->req->error = wf_error_status(error);
    if (--p->pending == 0)
        wf_req_complete(p->req, 0);
}
