/* The receive unit: posting of receives, and receiving of stored messages.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/receive.h"

#include "datatype/move.h"
#include "datatype/predefined.h"
#include "object/status.h"
#include "os/tuning.h"
#include "progress/progress.h"
#include "protocol/comm_route.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/message.h"
#include "protocol/queues.h"
#include "protocol/rendezvous.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "protocol/traced.h"
#include "protocol/unexpected.h"
#include "route/links.h"

void wf_receive_match(struct wf_p2p *p, uint64_t env1, uint64_t length)
{
    wf_p2p_expand(p);
    p->req.source = wf_env_source(env1);
    p->req.tag = wf_env_tag(env1);
    p->length = length;
    WF_ASSERT(!wf_p2p_is_posted(p) && !(p->req.flags & WF_REQ_LIGHT));
    p->expected = length < p->bytes ? length : p->bytes;
    p->moved = 0;
    if (WF_TRACING(p->req.wf))
        wf_trace_note_receive(p, WF_TRACE_MATCH, p->loc, env1, length);
}

static int length_error(const struct wf_p2p *p)
{
    if (p->length > p->bytes)
        return WF_ETRUNCATED;
    return p->space == WF_SPACE_P2P && p->req.comm->asserts & WF_ASSERT_EXACT
               ? WF_ESHORT
               : 0;
}

void wf_receive_finish(struct wf_p2p *p, int error)
{
    WF_ASSERT(p->req.type == WF_REQ_RECV && p->expected <= p->bytes);
    WF_ASSERT(!p->has_id && !wf_p2p_is_posted(p));
    p->req.bytes = p->expected;
    if (!error && p->length != p->bytes)
        error = length_error(p);
    wf_req_complete(&p->req, error);
}

static void copy_stored(struct wf_p2p *p, struct wf_message *m)
{
    WF_ASSERT(p->expected <= m->room && m->state == WF_MSG_COMPLETE);
    wf_type_unpack(p->type, p->buf, p->count, 0, m->data, p->expected);
}

/* Complete a receive whose stored message was copied: answer, credit,
 * status. */
static void finish_stored(struct wf_p2p *p, struct wf_message *m)
{
    struct weft_loc *loc = m->loc;
    uint64_t charge = wf_message_charge(m);
    int error = m->error;

    WF_ASSERT(m->state == WF_MSG_COMPLETE && p->loc == loc && !m->queued);
    if (m->flags & WF_FLAG_SYNC) {
        struct wf_wire w;
        wf_wire_init(&w, WF_SYNC, 0);
        w.d = wf_le64(m->send_id);
        wf_message_send_control(loc, &w, true);
    }
    if (error) /* its payload is not complete */
        p->req.flags |= WF_REQ_LINK_LOST;
    wf_unexpected_free(m);
    wf_credit_consumed(loc, charge);
    wf_receive_finish(p, error);
}

void wf_receive_message(struct wf_p2p *p, struct wf_message *m)
{
    struct weft_loc *loc = m->loc;

    if (m->queued) {
        wf_match_unstore(&loc->wf->engine->match, &m->arrived);
        m->queued = false;
    }
    p->loc = loc;
    wf_receive_match(p, m->arrived.env1, m->length);
    switch (m->state) {
    case WF_MSG_ARRIVING:
        WF_ASSERT(m->landing && !m->landing->claimed);
        m->landing->claimed = p; /* the sink's end completes both */
        break;
    case WF_MSG_NOTIFIED:
        wf_rendezvous_accept(p, loc, &loc->wf->links->eps[m->endpoint],
                             m->send_id, m->data, m->key_bytes);
        wf_unexpected_free(m);
        break;
    default:
        if (WF_BRIEF && p->defers_copy && m->length >= WF_DEFER_COPY_MIN) {
            WF_ASSERT(!p->stored);
            p->stored = m;
            break;
        }
        copy_stored(p, m);
        finish_stored(p, m);
    }
}

void wf_receive_copy_stored(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);
    struct wf_message *m;

    if (wf_req_done(r) || !p->defers_copy)
        return;
    /* the engine does not touch `stored`: it belongs to the caller */
    m = p->stored;
    if (!m)
        return;
    copy_stored(p, m);
    WF_SECTION(engine, r->wf) {
        p->stored = NULL;
        finish_stored(p, m);
    }
}

static void note_posted(const struct wf_p2p *p, const struct wf_comm *comm)
{
    struct weft_loc *from =
        p->peer == MPI_ANY_SOURCE
            ? NULL
            : wf_location(comm->wf, wf_group_proc(comm->peers, p->peer));

    wf_trace_note_receive(p, WF_TRACE_RECEIVE, from, p->posted.env1, p->bytes);
}

int wf_receive_start(struct wf_p2p *p)
{
    struct wf_comm *comm = p->req.comm;
    struct wf_match *match = &comm->wf->engine->match;
    struct wf_arrived *a;
    int rc = 0;

    p->req.error = 0;
    wf_store_relaxed(&p->req.done, 0);
    if (p->peer == MPI_PROC_NULL) {
        p->req.source = MPI_PROC_NULL;
        p->req.tag = MPI_ANY_TAG;
        p->req.bytes = 0;
        wf_req_complete(&p->req, 0);
        return 0;
    }
    WF_ASSERT(!wf_p2p_is_posted(p) && !p->has_id && comm->rank >= 0);
    p->posted.env0 = wf_env0(p->space, comm->context, (uint32_t)comm->rank);
    p->posted.env1 = wf_env1((uint32_t)p->peer, (uint32_t)p->tag);
    p->posted.class = wf_match_class(p->peer, p->tag);
    if (WF_TRACING(p->req.wf))
        note_posted(p, comm);
    p->loc = NULL;
    a = wf_match_find_arrived(match, p->posted.env0, p->posted.env1,
                              wf_class_mask(p->posted.class));
    if (a) {
        wf_receive_message(p, wf_container(a, struct wf_message, arrived));
        return 0;
    }
    if (p->peer == MPI_ANY_SOURCE)
        rc = wf_check_any_source(comm);
    else
        p->loc = wf_peer_location(comm, p->peer, &rc);
    if (p->loc)
        rc = wf_comm_route_check(comm, p->space, p->loc);
    if (rc)
        return rc;
    wf_match_post(match, &p->posted);
    return 0;
}

bool wf_receive_withdraw(struct wf_p2p *p)
{
    if (!wf_p2p_is_posted(p))
        return false;
    wf_match_unpost(&p->req.wf->engine->match, &p->posted);
    return true;
}

static inline __attribute__((always_inline)) int
post_new_receive(struct wf_comm *comm, const struct wf_receive_args *a,
                 enum wf_space space, bool defers_copy, struct wf_req **out)
{
    struct wf_p2p *p = wf_p2p_alloc(comm, WF_REQ_RECV);
    int rc;

    *out = NULL;
    if (!p)
        return WEFT_ENOMEM;
    p->peer = a->source;
    p->tag = a->tag;
    p->space = (uint8_t)space;
    if (WF_BRIEF)
        p->defers_copy = defers_copy;
    wf_p2p_set_buffer(p, a->buf, a->count, a->type);
    *out = &p->req;
    rc = wf_receive_start(p);
    if (WF_BRIEF && !p->stored)
        /* a message that comes later is copied by the engine */
        p->defers_copy = false;
    if (rc) {
        wf_store_relaxed(&p->req.done, 1);
        wf_req_release(&p->req);
        *out = NULL;
    }
    return rc;
}

int wf_irecv(struct wf_comm *comm, void *buf, uint64_t count,
             struct wf_type *type, int source, int tag, enum wf_space space,
             struct wf_req **out)
{
    struct wf_receive_args a = {buf, count, type, source, tag};

    return post_new_receive(comm, &a, space, false, out);
}

int wf_irecv_defer_copy(struct wf_comm *comm, const struct wf_receive_args *a,
                   struct wf_req **out)
{
    return post_new_receive(comm, a, WF_SPACE_P2P, true, out);
}

/* ---- blocking, without a request ----------------------------------------- */

struct wf_p2p *wf_expected_claim(struct wf_expected *x)
{
    struct wf_p2p *p = wf_p2p_alloc(x->comm, WF_REQ_RECV);

    if (!p)
        return NULL; /* it is stored as unexpected: the slow path finds it */
    WF_ASSERT(x->env0 != WF_ENV0_NONE);
    WF_ASSERT(wf_load_relaxed(&x->state) == WF_EXPECTED_NOT);
    p->peer = wf_env_source(x->env1);
    p->tag = x->mask & WF_MASK_TAG ? wf_env_tag(x->env1) : MPI_ANY_TAG;
    p->space = (uint8_t)(x->env0 >> 56);
    wf_p2p_set_buffer(p, x->buf, x->bytes, wf_type_of(MPI_BYTE));
    p->req.error = 0;
    wf_store_relaxed(&p->req.done, 0);
    x->env0 = WF_ENV0_NONE;
    x->bytes = 0;
    wf_store_relaxed(&x->state, WF_EXPECTED_CLAIMED);
    x->req = &p->req;
    return p;
}

static int finish_expected(struct wf_expected *x, MPI_Status *status)
{
    struct wf_req *req = x->req;

    if (wf_load_relaxed(&x->state) == WF_EXPECTED_CLAIMED) {
        wf_call_name = "MPI_Recv"; /* the binding has not set it yet */
        return wf_wait(&req, status);
    }
    if (status != MPI_STATUS_IGNORE)
        wf_status_set(status, wf_env_source(x->env1), wf_env_tag(x->env1),
                      x->bytes, false);
    x->bytes = 0;
    return 0;
}

static inline __attribute__((always_inline)) bool
receive_stored(struct wf_arrived *a, const struct wf_expected *what,
               MPI_Status *status, int *rc)
{
    struct wf_envelope_length got;

    if (!wf_unexpected_take(a, what->buf, what->bytes, &got))
        return false;
    if (status != MPI_STATUS_IGNORE)
        wf_status_set(status, wf_env_source(got.env1), wf_env_tag(got.env1),
                      got.bytes, false);
    *rc = 0;
    return true;
}

/* Do the bookkeeping for a message that the plugin has copied to its place. */
static inline void finish_words(struct wf_expected *x, struct weft_loc *loc,
                                struct weft_core *core, MPI_Status *status)
{
    uint64_t n = x->bytes;

    if (status != MPI_STATUS_IGNORE)
        wf_status_set(status, wf_env_source(x->env1), wf_env_tag(x->env1), n,
                      false);
    x->env0 = WF_ENV0_NONE;
    x->bytes = 0;
    core->rx_count++;
    core->rx_bytes += n;
    wf_credit_consumed(loc, n + WF_MESSAGE_OVERHEAD);
}

/* Poll for the message until it comes or that does not pay any more. False: it
 * has not come. */
static inline __attribute__((always_inline)) bool
receive_expected(struct wf_comm *comm, struct weft_loc *loc,
                 const struct wf_expected *what, MPI_Status *status, int *rc)
{
    struct wf_instance *wf = comm->wf;
    struct wf_expected *x = &wf->engine->expected;
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];
    int polls = 0;

    WF_ASSERT(x->env0 == WF_ENV0_NONE && comm->rank >= 0);
    memcpy(&x->env0, &what->env0,
           sizeof *x - offsetof(struct wf_expected, env0));
    *rc = 0;
    if (wf_unlikely(!l->recv_words))
        wf_progress_spin(wf, &l->core->source, 1, &x->state);
    else
        do {
            if (wf_likely(l->recv_words(l->peer, &x->want) == WEFT_DONE)) {
                finish_words(x, loc, l->core, status);
                return true;
            }
        } while (
            wf_progress_keep_spinning(wf, &l->core->source, &x->state, &polls));
    if (wf_unlikely(wf_load_relaxed(&x->state) == WF_EXPECTED_NOT)) {
        x->env0 = WF_ENV0_NONE;
        x->bytes = 0;
        return false;
    }
    *rc = finish_expected(x, status);
    return true;
}

/* Receive a message that no posted receive could take. Inline, for a call would
 * spill all arguments. */
static inline __attribute__((always_inline)) bool
receive_now(struct wf_comm *comm, struct weft_loc *loc,
            const struct wf_expected *what, MPI_Status *status, int *rc)
{
    struct wf_engine *e = comm->wf->engine;

    if (wf_unlikely(e->match.stored)) {
        struct wf_arrived *a =
            wf_match_search(&e->match, what->env0, what->env1, what->mask);
        if (a)
            return receive_stored(a, what, status, rc);
    }
    if (loc->failed || e->expected.env0 != WF_ENV0_NONE)
        return false;
    return receive_expected(comm, loc, what, status, rc);
}

bool wf_receive_fast(struct wf_comm *comm, struct weft_loc *loc,
                     const struct wf_expected *what, MPI_Status *status,
                     int *rc)
{
    const struct wf_match *m = &comm->wf->engine->match;

    if (wf_unlikely(!wf_match_none_posted(m) &&
                    wf_match_may_take(m, what->env0, what->env1, what->mask)))
        return false;
    return receive_now(comm, loc, what, status, rc);
}

bool wf_receive_now(struct wf_comm *comm, struct weft_loc *loc,
                    const struct wf_expected *what, MPI_Status *status, int *rc)
{
    struct wf_arrived *a;

    if (wf_likely(loc != NULL))
        return receive_now(comm, loc, what, status, rc);
    a = wf_match_find_arrived(&comm->wf->engine->match, what->env0, what->env1,
                              what->mask);
    return a && receive_stored(a, what, status, rc);
}

/* Receive as wf_receive_fast does, by rank instead of contact. */
static bool try_fast_path(struct wf_comm *comm, void *buf, uint64_t count,
                          struct wf_type *type, int source, int tag,
                          enum wf_space space, MPI_Status *status, int *rc)
{
    struct weft_loc *loc = wf_contact_of(comm, source);
    uint64_t mask = wf_match_mask(source, tag);

    if (!loc || WF_TRACING(comm->wf) || !wf_progress_may_spin(comm->wf) ||
        !wf_type_is_contiguous(type))
        return false;
    return wf_receive_fast(
        comm, loc,
        &(struct wf_expected){
            .env0 = wf_env0(space, comm->context, (uint32_t)comm->rank),
            .env1 = wf_env1((uint32_t)source, (uint32_t)tag) & mask,
            .mask = mask,
            .buf = wf_type_data(type, buf),
            .bytes = count * (uint64_t)type->size,
            .comm = comm},
        status, rc);
}

int wf_recv(struct wf_comm *comm, void *buf, uint64_t count,
            struct wf_type *type, int source, int tag, enum wf_space space,
            MPI_Status *status)
{
    struct wf_req *req;
    int rc;

    if (try_fast_path(comm, buf, count, type, source, tag, space, status, &rc))
        return rc;
    rc = wf_irecv(comm, buf, count, type, source, tag, space, &req);
    return rc ? rc : wf_wait(&req, status);
}

int wf_sendrecv(struct wf_comm *comm, const void *sbuf, uint64_t scount,
                struct wf_type *stype, int dest, void *rbuf, uint64_t rcount,
                struct wf_type *rtype, int source, int tag, enum wf_space space)
{
    struct wf_req *reqs[2] = {NULL, NULL};
    int rc = wf_irecv(comm, rbuf, rcount, rtype, source, tag, space, &reqs[0]);

    if (rc)
        return rc;
    rc = wf_isend(comm, sbuf, scount, stype, dest, tag, space, WF_SEND_STANDARD,
                  &reqs[1]);
    if (rc) {
        wf_req_withdraw(reqs[0]);
        return rc;
    }
    return wf_wait_all(2, reqs);
}
