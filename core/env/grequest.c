/* Generalized requests: operations of the program that are waited for like the
 * library's own (MPI-5.0 s13.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "process/instance.h"
#include "protocol/request.h"

struct grequest {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra_state;
};

static int query_status(struct wf_req *r, MPI_Status *status)
{
    struct grequest *g = r->context;
    return g->query(g->extra_state, status);
}

static int destroy_request(struct wf_req *r)
{
    struct wf_instance *wf = r->wf;
    struct grequest *g = r->context;
    int rc = MPI_SUCCESS;
    if (g->free) {
        wf_cs_leave(&wf->api);
        rc = g->free(g->extra_state);
        wf_cs_enter(&wf->api);
    }
    free(g);
    return rc;
}

static int cancel_request(struct wf_req *r)
{
    struct grequest *g = r->context;
    if (!g->cancel)
        return MPI_SUCCESS;
    wf_cs_leave(&r->wf->api);
    int rc = g->cancel(g->extra_state, wf_req_done(r));
    wf_cs_enter(&r->wf->api);
    return rc;
}

int wf_mpi_grequest_start(struct wf_instance *wf,
                          MPI_Grequest_query_function *query_fn,
                          MPI_Grequest_free_function *free_fn,
                          MPI_Grequest_cancel_function *cancel_fn,
                          void *extra_state, MPI_Request *request)
{
    struct grequest *g = malloc(sizeof *g);
    struct wf_req *r =
        wf_req_create(wf, WF_REQ_GENERALIZED, NULL, "generalized request");
    if (!query_fn || !g || !r) {
        free(g);
        if (r)
            wf_req_abandon(r);
        return query_fn ? wf_error(MPI_ERR_NO_MEM, "no memory for a request")
                        : wf_error(MPI_ERR_ARG, "query_fn is a null pointer");
    }
    *g = (struct grequest){query_fn, free_fn, cancel_fn, extra_state};
    r->context = g;
    r->query = query_status;
    r->destroy = destroy_request;
    r->cancel = cancel_request;
    *request = (MPI_Request)r;
    return MPI_SUCCESS;
}

int wf_mpi_grequest_complete(struct wf_instance *wf, struct wf_req *request)
{
    bool freed;

    if (request->type != WF_REQ_GENERALIZED)
        return wf_error(MPI_ERR_REQUEST,
                        "the request is not a generalized one");
    if (wf_req_done(request))
        return wf_error(MPI_ERR_REQUEST, "the request is complete already");
    freed = request->flags & WF_REQ_DETACHED;
    /* Not detached: its end returns the result of free_fn to this function. */
    request->flags &= ~(uint32_t)WF_REQ_DETACHED;
    wf_req_complete(request, 0);
    return freed ? wf_req_release(request) : MPI_SUCCESS;
}
