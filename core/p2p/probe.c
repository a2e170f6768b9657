/* Probing for messages, with and without taking them (MPI-5.0 s3.8).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "group/describe_wait.h"
#include "group/endpoint_mask.h"
#include "object/error.h"
#include "object/status.h"
#include "progress/wait.h"
#include "protocol/comm_route.h"
#include "protocol/failure.h"
#include "protocol/helper.h"
#include "protocol/helper_requests.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "route/location.h"

struct probe {
    struct wf_comm *comm;
    uint64_t env0, env1, mask;
    struct weft_loc *loc; /* the source, unless it is MPI_ANY_SOURCE */
    struct wf_message *found;
};

static int init_probe(struct probe *p, struct wf_comm *comm, int source,
                      int tag)
{
    int status = 0;

    *p = (struct probe){
        .comm = comm,
        .env0 = wf_env0(WF_SPACE_P2P, comm->context, (uint32_t)comm->rank),
        .env1 = wf_env1((uint32_t)source, (uint32_t)tag),
        .mask = wf_match_mask(source, tag)};
    if (source == MPI_ANY_SOURCE)
        return wf_error_class(wf_check_any_source(comm));
    p->loc = wf_peer_location(comm, source, &status);
    if (p->loc)
        status = wf_comm_route_check(comm, WF_SPACE_P2P, p->loc);
    return wf_error_class(status);
}

/* Look in the unexpected queue for a message that matches, without polling. */
static bool find_match(struct probe *p)
{
    struct wf_arrived *a = wf_match_find_arrived(&p->comm->wf->engine->match,
                                                 p->env0, p->env1, p->mask);

    p->found = a ? wf_container(a, struct wf_message, arrived) : NULL;
    return a != NULL;
}

static bool found_or_failed(void *arg)
{
    struct probe *p = arg;

    return find_match(p) ||
           (p->loc ? p->loc->failed : wf_check_any_source(p->comm) != 0);
}

static uint32_t endpoints_of(const struct probe *p)
{
    return p->loc && p->loc->lanes && !wf_comm_route_keys(p->comm, WF_SPACE_P2P)
               ? 1u << p->loc->lane[0].core->index
               : wf_comm_endpoint_mask(p->comm);
}

static void fill_status(const struct wf_message *m, MPI_Status *status)
{
    wf_status_set(status, wf_env_source(m->arrived.env1),
                  wf_env_tag(m->arrived.env1), m->length, false);
}

static void fill_status_no_proc(MPI_Status *status)
{
    wf_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
}

static void describe_wait(const void *arg, struct wf_wait *w)
{
    const struct probe *p = arg;

    w->operation = WF_STATE_PROBE;
    wf_wait_set_comm(w, p->comm);
    wf_wait_set_peer(w, p->comm, false,
                     p->mask & WF_MASK_SOURCE ? wf_env_source(p->env1)
                                              : WF_STATE_ANY);
    w->tag = p->mask & WF_MASK_TAG ? wf_env_tag(p->env1) : WF_STATE_ANY;
}

/* Wait for a matching message. The error of a dead source is recorded. */
static int wait_for_match(struct probe *p, struct wf_comm *comm, int source,
                          int tag)
{
    struct wf_wait_cause cause = {describe_wait, p};
    int rc = init_probe(p, comm, source, tag);

    if (rc && !find_match(p))
        return rc;
    if (!find_match(p) && p->loc)
        wf_location_watch(p->loc);
    if (!p->found)
        wf_progress_wait(comm->wf, endpoints_of(p), found_or_failed, p, &cause);
    if (p->found)
        return MPI_SUCCESS;
    return init_probe(p, comm, source, tag); /* records the cause */
}

/* Look for a matching message; if there is none, poll once and look again. */
static int poll_for_match(struct probe *p, struct wf_comm *comm, int source,
                          int tag)
{
    struct wf_wait_cause cause = {describe_wait, p};
    int rc = init_probe(p, comm, source, tag);

    if (find_match(p))
        return MPI_SUCCESS;
    if (rc)
        return rc;
    wf_progress_poll_for_test(comm->wf, endpoints_of(p), &cause);
    if (!find_match(p))
        comm->wf->engine->probed = p->loc;
    return MPI_SUCCESS;
}

int wf_mpi_probe(struct wf_instance *wf, int source, int tag,
                 struct wf_comm *comm, MPI_Status *status)
{
    struct probe p;
    int rc;

    if (source == MPI_PROC_NULL) {
        fill_status_no_proc(status);
        return MPI_SUCCESS;
    }
    rc = wait_for_match(&p, comm, source, tag);
    if (rc == MPI_SUCCESS)
        fill_status(p.found, status);
    return rc;
}

int wf_mpi_iprobe(struct wf_instance *wf, int source, int tag,
                  struct wf_comm *comm, int *flag, MPI_Status *status)
{
    struct probe p;
    int rc;

    *flag = 1;
    if (source == MPI_PROC_NULL) {
        fill_status_no_proc(status);
        return MPI_SUCCESS;
    }
    rc = poll_for_match(&p, comm, source, tag);
    *flag = rc == MPI_SUCCESS && p.found;
    if (*flag)
        fill_status(p.found, status);
    return rc;
}

/* ---- matched probe ------------------------------------------------------- */

/* Take the found message out of the unexpected queue and make a handle of
 * it. */
static void take_message(struct probe *p, MPI_Message *message,
                         MPI_Status *status)
{
    struct wf_message *m = p->found;

    wf_match_unstore(&p->comm->wf->engine->match, &m->arrived);
    m->queued = false;
    m->comm = p->comm;
    wf_comm_get(m->comm);
    fill_status(m, status);
    *message = (MPI_Message)m;
}

int wf_mpi_mprobe(struct wf_instance *wf, int source, int tag,
                  struct wf_comm *comm, MPI_Message *message,
                  MPI_Status *status)
{
    struct probe p;
    int rc;

    if (source == MPI_PROC_NULL) {
        *message = MPI_MESSAGE_NO_PROC;
        fill_status_no_proc(status);
        return MPI_SUCCESS;
    }
    rc = wait_for_match(&p, comm, source, tag);
    if (rc == MPI_SUCCESS)
        take_message(&p, message, status);
    return rc;
}

int wf_mpi_improbe(struct wf_instance *wf, int source, int tag,
                   struct wf_comm *comm, int *flag, MPI_Message *message,
                   MPI_Status *status)
{
    struct probe p;
    int rc;

    *flag = 1;
    if (source == MPI_PROC_NULL) {
        *message = MPI_MESSAGE_NO_PROC;
        fill_status_no_proc(status);
        return MPI_SUCCESS;
    }
    rc = poll_for_match(&p, comm, source, tag);
    *flag = rc == MPI_SUCCESS && p.found;
    if (*flag)
        take_message(&p, message, status);
    return rc;
}

/* Start a receive of a message that was matched by a probe. */
static int receive_message(struct wf_message *m, void *buf, uint64_t count,
                           struct wf_type *type, struct wf_req **out)
{
    struct wf_comm *comm = m->comm;
    struct wf_p2p *p = wf_p2p_alloc(comm, WF_REQ_RECV);

    if (!p)
        return MPI_ERR_NO_MEM;
    m->comm = NULL;
    p->peer = wf_env_source(m->arrived.env1);
    p->tag = wf_env_tag(m->arrived.env1);
    wf_p2p_set_buffer(p, buf, count, type);
    wf_receive_message(p, m);
    wf_comm_put(comm); /* the message's reference; the request has its own */
    *out = &p->req;
    return MPI_SUCCESS;
}

static int start_matched_receive(struct wf_instance *wf, void *buf,
                                 MPI_Count count, struct wf_type *datatype,
                                 MPI_Message *message, MPI_Request *request)
{
    struct wf_message *m = wf_message_of(*message);
    int rc;

    if (*message == MPI_MESSAGE_NO_PROC) {
        *message = MPI_MESSAGE_NULL;
        return wf_error_class(wf_irecv(wf->self, buf, (uint64_t)count, datatype,
                                       MPI_PROC_NULL, 0, WF_SPACE_P2P,
                                       (struct wf_req **)request));
    }
    if (!m)
        return wf_error(
            MPI_ERR_REQUEST,
            "the message handle is not valid; it "
            "comes from MPI_Mprobe or MPI_Improbe and is used once");
    rc = receive_message(m, buf, (uint64_t)count, datatype,
                         (struct wf_req **)request);
    if (rc == MPI_SUCCESS)
        *message = MPI_MESSAGE_NULL;
    return rc;
}

int wf_mpi_imrecv(struct wf_instance *wf, void *buf, MPI_Count count,
                  struct wf_type *datatype, MPI_Message *message,
                  MPI_Request *request)
{
    int rc = start_matched_receive(wf, buf, count, datatype, message, request);

    if (rc == MPI_SUCCESS)
        wf_register_with_helper((struct wf_req *)*request);
    return rc;
}

int wf_mpi_mrecv(struct wf_instance *wf, void *buf, MPI_Count count,
                 struct wf_type *datatype, MPI_Message *message,
                 MPI_Status *status)
{
    MPI_Request request;
    struct wf_req *r;
    int rc = start_matched_receive(wf, buf, count, datatype, message, &request);

    if (rc)
        return rc;
    r = (struct wf_req *)request;
    return wf_error_class(wf_wait(&r, status));
}
