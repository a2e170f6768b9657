/* The description of a wait for a request, for the state page.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/describe_request.h"

#include "group/describe_wait.h"
#include "protocol/queues.h"
#include "report/state.h"

static int64_t encode_wildcard(int value, int any)
{
    return value == any ? WF_STATE_ANY : value;
}

/* Describe a light receive as wf_p2p_expand would fill it in, without changing
 * it. */
static void describe_light(const struct wf_p2p *p, struct wf_wait *w)
{
    const struct wf_posted *q = &p->posted;

    wf_wait_set_peer(w, p->req.comm, false,
                     q->class & 2 ? WF_STATE_ANY : wf_env_source(q->env1));
    w->tag = q->class & 1 ? WF_STATE_ANY : wf_env_tag(q->env1);
    w->bytes = q->room;
}

static void describe_p2p(const struct wf_p2p *p, struct wf_wait *w)
{
    if (p->req.flags & WF_REQ_LIGHT) {
        describe_light(p, w);
        return;
    }
    wf_wait_set_peer(w, p->req.comm, false,
                     encode_wildcard(p->peer, MPI_ANY_SOURCE));
    w->tag = encode_wildcard(p->tag, MPI_ANY_TAG);
    w->bytes = p->bytes;
    if (p->space != WF_SPACE_P2P) { /* it is part of a larger call */
        w->operation = WF_STATE_COLLECTIVE;
        w->tag = INT64_MAX;
        w->bytes = WF_STATE_NOT_KNOWN;
    }
}

void wf_wait_describe_request(const struct wf_req *r, struct wf_wait *w)
{
    wf_wait_set_comm(w, r->comm);
    if (r->type == WF_REQ_SEND)
        w->operation =
            ((const struct wf_p2p *)wf_container(r, struct wf_p2p, req))
                        ->mode == WF_SEND_SYNC
                ? WF_STATE_SSEND
                : WF_STATE_SEND;
    else
        w->operation = r->type == WF_REQ_RECV          ? WF_STATE_RECV
                       : r->type == WF_REQ_GENERALIZED ? WF_STATE_GENERALIZED
                       : r->type == WF_REQ_NOOP        ? WF_STATE_UNKNOWN
                                                       : WF_STATE_COLLECTIVE;
    if (r->type <= WF_REQ_RECV)
        describe_p2p(wf_container(r, struct wf_p2p, req), w);
}
