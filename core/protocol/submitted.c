/* Submitted sends and receives: see submitted.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/submitted.h"

#include "os/tuning.h"
#include "protocol/helper.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "report/error.h"

/* ---- the submitter ------------------------------------------------------- */

static bool submit_request(struct wf_p2p *p, struct wf_comm *comm,
                           struct wf_req **out)
{
    *out = &p->req;
    wf_type_get(p->type); /* MPI_Type_free may enter another engine */
    /* This reference is counted inside, as it is released there. */
    p->req.comm = comm;
    wf_cs_submit(&comm->wf->api, &p->link);
    return true;
}

static struct wf_p2p *take_blank(struct wf_comm *comm, enum wf_req_type type)
{
    struct wf_p2p *p = wf_pool_take(wf_request_pool(comm->wf));

    if (p)
        wf_p2p_init_blank(p, comm->wf, type);
    return p;
}

bool wf_submit_send(struct wf_comm *comm, const struct wf_send_args *a,
                    struct wf_req **out)
{
    struct wf_p2p *p = take_blank(comm, WF_REQ_SEND);

    if (!p)
        return false;
    p->peer = a->dest;
    p->tag = a->tag;
    p->space = WF_SPACE_P2P;
    p->mode = WF_SEND_STANDARD;
    p->buf = (void *)(uintptr_t)a->buf;
    p->count = a->count;
    p->type = a->type;
    return submit_request(p, comm, out);
}

bool wf_submit_receive(struct wf_comm *comm, const struct wf_receive_args *a,
                       struct wf_req **out)
{
    struct wf_p2p *p = take_blank(comm, WF_REQ_RECV);

    if (!p)
        return false;
    p->peer = a->source;
    p->tag = a->tag;
    p->space = WF_SPACE_P2P;
    p->buf = a->buf;
    p->count = a->count;
    p->type = a->type;
    return submit_request(p, comm, out);
}

static bool is_busy(struct wf_mutex *m)
{
    return wf_load_relaxed(&m->next) != wf_load_relaxed(&m->serving);
}

bool wf_submitted_await(struct wf_instance *wf, MPI_Request *request,
                        MPI_Status *status)
{
    for (int i = 0; i < WF_SUBMITTED_SPINS && is_busy(&wf->api.mutex); i++) {
        if (wf_req_take(request, status))
            return true;
        wf_cpu_relax();
    }
    return false;
}

/* ---- inside -------------------------------------------------------------- */

static void start_submitted(struct wf_p2p *p)
{
    struct wf_type *type = p->type;
    int rc;

    WF_ASSERT(p->home && p->req.type <= WF_REQ_RECV && p->req.flags == 0);
    wf_comm_get(p->req.comm);
    wf_p2p_set_buffer(p, p->buf, p->count, type);
    wf_type_put(type); /* the submitter's reference */
    p->req.flags |= WF_REQ_STARTING;
    rc = p->req.type == WF_REQ_RECV ? wf_receive_start(p) : wf_send_start(p);
    if (wf_req_done(&p->req))
        return; /* it is left alone: its owner may be reading it */
    p->req.flags &= ~(uint32_t)WF_REQ_STARTING;
    if (rc == 0) {
        wf_register_with_helper(&p->req);
        return;
    }
    wf_error_forget(); /* not this thread's failure */
    wf_req_complete(&p->req, rc);
}

void wf_submitted_run(struct wf_cs *cs)
{
    struct wf_stack_link *next, *l;

    while ((l = wf_stack_take_all(&cs->submitted)) != NULL)
        for (l = wf_stack_reverse(l); l; l = next) {
            next = l->next; /* the request may be freed when it is done */
            start_submitted(wf_container(l, struct wf_p2p, link));
        }
}
