/* Requests: the pool of the engine's requests; creation and completion of all.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/request.h"

#include <stdlib.h>

#include "group/endpoint_mask.h"
#include "object/status.h"
#include "os/tuning.h"
#include "progress/wait.h"
#include "protocol/comm_route.h"
#include "protocol/death.h"
#include "protocol/describe_request.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "report/call_time.h"
#include "report/error.h"
#include "route/links.h"
#include "route/location.h"

/* Numbers of requests that are allocated together: a page, then twice as many
 * each time, up to SLAB. Each slab is touched as a whole. */
enum { SLAB_FIRST = 5, SLAB = 32 };

static int add_slab(struct wf_engine *e)
{
    size_t n = (size_t)e->slab_count + 1;
    int requests = e->slab_count < 3 ? SLAB_FIRST << e->slab_count : SLAB;
    void **slabs = realloc(e->slabs, n * sizeof *slabs);
    struct wf_p2p *slab;

    if (!slabs)
        return WEFT_ENOMEM;
    e->slabs = slabs;
    slab =
        aligned_alloc(_Alignof(struct wf_p2p), (size_t)requests * sizeof *slab);
    if (!slab)
        return WEFT_ENOMEM;
    memset(slab, 0, (size_t)requests * sizeof *slab);
    WF_ASSERT(!e->free_p2p);
    e->slabs[e->slab_count++] = slab;
    for (int i = requests; i-- > 0;) {
        slab[i].next_free = e->free_p2p;
        e->free_p2p = &slab[i];
    }
    return 0;
}

static struct wf_p2p *take_free(struct wf_engine *e)
{
    struct wf_p2p *p;

    if (!e->free_p2p && add_slab(e) != 0)
        return NULL;
    WF_ASSERT(!e->free_p2p->packed && !e->free_p2p->pull.core &&
              !e->free_p2p->home);
    p = e->free_p2p;
    e->free_p2p = p->next_free;
    return p;
}

static void init_head(struct wf_req *r, struct wf_instance *wf,
                      enum wf_req_type type, struct wf_comm *comm)
{
    wf_object_init(&r->object, WF_KIND_REQUEST);
    r->wf = wf;
    r->type = (uint8_t)type;
    r->comm = comm;
    if (comm)
        wf_comm_get(comm);
}

void wf_p2p_init_blank(struct wf_p2p *p, struct wf_instance *wf,
                       enum wf_req_type type)
{
    memset(&p->req, 0, sizeof p->req);
    init_head(&p->req, wf, type, NULL);
    p->loc = NULL;
    p->waits = 0;
    p->has_id = false;
    p->type = NULL;
    if (WF_BRIEF) {
        p->defers_copy = false;
        p->stored = NULL;
    }
}

struct wf_p2p *wf_p2p_alloc(struct wf_comm *comm, enum wf_req_type type)
{
    struct wf_p2p *p = wf_cs_has_shares(&comm->wf->api)
                           ? wf_pool_take(wf_request_pool(comm->wf))
                           : take_free(comm->wf->engine);

    if (!p) {
        wf_fail(WEFT_ENOMEM, "out of memory for a request");
        return NULL;
    }
    wf_p2p_init_blank(p, comm->wf, type);
    p->req.comm = comm;
    wf_comm_get(comm);
    return p;
}

void wf_p2p_set_buffer(struct wf_p2p *p, void *buf, uint64_t count,
                       struct wf_type *type)
{
    p->buf = buf;
    p->count = count;
    p->type = type;
    p->bytes = count * (uint64_t)type->size;
    p->block = wf_type_data(type, buf);
    WF_ASSERT(type->size >= 0 &&
              (!count || p->bytes / count == (uint64_t)type->size));
    p->posted.room = !wf_type_is_contiguous(type) ? 0
                     : p->bytes < UINT32_MAX   ? (uint32_t)p->bytes
                                               : UINT32_MAX;
    wf_type_get(type);
}

void wf_p2p_expand(struct wf_p2p *p)
{
    const struct wf_posted *q = &p->posted;

    if (!(p->req.flags & WF_REQ_LIGHT))
        return;
    WF_ASSERT(p->req.type == WF_REQ_RECV && !p->req.on_complete);
    p->req.flags &= ~(uint32_t)WF_REQ_LIGHT;
    p->peer = q->class & 2 ? MPI_ANY_SOURCE : wf_env_source(q->env1);
    p->tag = q->class & 1 ? MPI_ANY_TAG : wf_env_tag(q->env1);
    p->space = (uint8_t)(q->env0 >> 56);
    p->waits = 0;
    p->has_id = false;
    p->buf = p->block;
    p->count = p->bytes = q->room;
    p->type = p->req.wf->engine->bytes_type;
}

struct wf_req *wf_req_create(struct wf_instance *wf, enum wf_req_type type,
                             struct wf_comm *comm, const char *what)
{
    struct wf_created_req *o = calloc(1, sizeof *o);

    if (!o)
        return NULL;
    init_head(&o->req, wf, type, comm);
    o->what = what;
    wf_list_append(&wf->engine->others, &o->link);
    return &o->req;
}

static void free_created(struct wf_created_req *o)
{
    WF_ASSERT(o->req.type > WF_REQ_RECV && o->req.type != WF_REQ_NOOP);
    wf_list_remove(&o->link);
    free(o);
}

/* Release what the request holds beside its memory and its communicator. */
static void release_buffer(struct wf_p2p *p)
{
    if (p->type && !(p->req.flags & WF_REQ_LIGHT))
        wf_type_put(p->type);
    p->type = NULL;
    free(p->packed);
    p->packed = NULL;
    p->pull.core = NULL;
}

static void return_p2p(struct wf_p2p *p)
{
    struct wf_engine *e = p->req.wf->engine;

    WF_ASSERT(!wf_p2p_is_posted(p));
    release_buffer(p);
    memset(&p->req.on_complete, 0,
           sizeof p->req - offsetof(struct wf_req, on_complete));
    if (WF_BRIEF && p->home) {
        wf_pool_give(p);
        return;
    }
    p->next_free = e->free_p2p;
    e->free_p2p = p;
}

/* Release what the request holds, so that its waiter needs no section. */
static void settle_request(struct wf_req *r)
{
    struct wf_comm *comm = r->comm;

    if (r->type > WF_REQ_RECV || !wf_p2p_of(r)->home ||
        (r->flags & ~(uint32_t)WF_REQ_LIGHT) || r->error)
        return;
    release_buffer(wf_p2p_of(r));
    r->flags = WF_REQ_SETTLED;
    r->comm = NULL;
    wf_comm_put(comm);
}

bool wf_req_take_settled(MPI_Request *request, MPI_Status *status)
{
    struct wf_req *r = wf_req_of(*request);

    if (!r || !wf_req_done(r) ||
        (r->type != WF_REQ_NOOP && r->flags != WF_REQ_SETTLED))
        return false;
    *request = MPI_REQUEST_NULL;
    wf_status_set(status, r->source, r->tag, r->bytes, false);
    if (r->type != WF_REQ_NOOP) {
        r->object.kind = WF_KIND_DEAD;
        wf_pool_give(wf_p2p_of(r));
    }
    return true;
}

static int destroy_request(struct wf_req *r)
{
    struct wf_comm *comm = r->comm;
    bool p2p = r->type <= WF_REQ_RECV;
    int rc = 0;

    WF_ASSERT(r->object.kind == WF_KIND_REQUEST && r->type != WF_REQ_NOOP);
    r->object.kind = WF_KIND_DEAD;
    if (r->destroy)
        rc = r->destroy(r);
    if (p2p)
        return_p2p(wf_p2p_of(r));
    else
        free_created(wf_container(r, struct wf_created_req, req));
    if (comm)
        wf_comm_put(comm);
    return rc;
}

int wf_req_release(struct wf_req *r)
{
    if (r->type == WF_REQ_NOOP)
        return 0; /* shared */
    if (wf_req_done(r))
        return destroy_request(r);
    r->flags |= WF_REQ_DETACHED;
    return 0;
}

void wf_req_abandon(struct wf_req *r)
{
    destroy_request(r);
}

void wf_req_withdraw(struct wf_req *r)
{
    if (wf_receive_withdraw(wf_p2p_of(r)))
        wf_req_complete(r, 0);
    wf_req_release(r);
}

static int report_wrong_length(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    if (p->space == WF_SPACE_COLL)
        return wf_fail_on(r->comm, WF_ETRUNCATED,
                          "rank %d sent %llu bytes where %llu are expected: "
                          "the processes have called different collectives, "
                          "or one with different counts or datatypes",
                          r->source, (unsigned long long)p->length,
                          (unsigned long long)p->bytes);
    return wf_fail_on(
        r->comm, r->error,
        "the message from rank %d with tag %d has %llu bytes, "
        "the receive buffer holds %llu%s",
        r->source, r->tag, (unsigned long long)p->length,
        (unsigned long long)p->bytes,
        r->error == WF_ESHORT ? ", and mpi_assert_exact_length is true" : "");
}

/* The reason why an operation of several parts failed. */
static const char *explain_part_failure(const struct wf_req *r)
{
    if (r->error == WEFT_ENOMEM)
        return "no memory for a part of the operation";
    if (r->type == WF_REQ_SCHEDULE && wf_status_is_wrong_length(r->error))
        return "a process sent another number of bytes than is expected: the "
               "processes have called different collectives, or one with "
               "different counts or datatypes, or it has failed there";
    return "an operation inside failed";
}

int wf_req_error(struct wf_req *r)
{
    struct weft_loc *loc;

    if (wf_likely(!r->error))
        return 0;
    if (r->type == WF_REQ_ONE_SIDED || r->type == WF_REQ_FILE)
        return r->explain(r);
    if (wf_status_is_loss(r->error) && r->comm &&
        (r->type == WF_REQ_SCHEDULE || r->lost) && wf_comm_is_dead(r->comm))
        return wf_comm_record_dead(r->comm);
    if (r->type == WF_REQ_PARTITIONED && r->explain &&
        wf_status_is_wrong_length(r->error))
        return r->explain(r);
    if (r->type > WF_REQ_RECV)
        return wf_fail_on(r->comm, r->error, "%s", explain_part_failure(r));
    if (r->type == WF_REQ_RECV && wf_status_is_wrong_length(r->error))
        return report_wrong_length(r);
    loc = wf_p2p_of(r)->loc;
    if (!loc || !(loc->failed || loc->down_reason))
        return wf_fail_on(r->comm, r->error,
                          r->error == WEFT_ENOMEM
                              ? "no memory for a part of the operation"
                              : "a process of the communicator is gone");
    return wf_fail_on(r->comm, r->error, "process %u on %s %s: %s", loc->id,
                      loc->host ? loc->host : "unknown host",
                      wf_location_down_verb(loc), wf_location_down_text(loc));
}

void wf_req_needs_progress(struct wf_req *r)
{
    if (!(r->flags & WF_REQ_QUIESCENT))
        return;
    WF_ASSERT(r->wf->api.quiescent_ops > 0);
    r->flags &= ~(uint32_t)WF_REQ_QUIESCENT;
    r->wf->api.quiescent_ops--;
}

void wf_req_complete(struct wf_req *r, int status)
{
    void (*on_complete)(struct wf_req *) = r->on_complete;
    bool detached = r->flags & WF_REQ_DETACHED;
    struct wf_instance *wf = r->wf;

    WF_ASSERT(r->object.kind == WF_KIND_REQUEST && r->type != WF_REQ_NOOP);
    WF_ASSERT(!wf_load_relaxed(&r->done) && status <= 0);
    if (status && !r->error)
        r->error = status;
    if (wf_unlikely(r->flags & WF_REQ_WITH_HELPER)) {
        wf_req_needs_progress(r);
        r->flags &= ~(uint32_t)WF_REQ_WITH_HELPER;
        WF_ASSERT(wf->api.helper_ops > 0);
        wf->api.helper_ops--;
    }
    if (WF_BRIEF && !on_complete)
        settle_request(r);
    wf_store_release(&r->done, 1); /* pairs with wf_req_done */
    if (on_complete)
        on_complete(r);
    else if (detached)
        destroy_request(r);
    if (wf->api.on) /* r may be freed; on_complete may have completed others */
        wf_progress_notify(wf);
}

uint32_t wf_req_endpoints(struct wf_req *r)
{
    struct weft_loc *loc;
    uint32_t mask = 0;

    if (r->type == WF_REQ_NOOP)
        return 0; /* the endpoints that hold it back are polled in any case */
    if (r->type == WF_REQ_GENERALIZED)
        return WF_SOURCES_ENDPOINTS; /* the program knows what completes it */
    if (r->type == WF_REQ_FILE)
        return UINT32_MAX; /* an I/O thread, or messages of its collective */
    loc = r->type > WF_REQ_RECV ? NULL : wf_p2p_of(r)->loc;
    if (!loc || !loc->lanes ||
        (r->comm && wf_comm_route_keys(r->comm, wf_p2p_of(r)->space)))
        return r->comm ? wf_comm_endpoint_mask(r->comm)
                       : wf_links_any_source_mask(r->wf);
    for (unsigned i = 0; i < loc->lanes; i++)
        mask |= 1u << loc->lane[i].core->index;
    return mask;
}

uint32_t wf_req_complete_held(struct wf_instance *wf)
{
    uint32_t mask = wf->held;

    wf->held = 0;
    wf_store_release(&wf->engine->held.done, 1); /* pairs with wf_req_done */
    return mask;
}

static bool is_done(void *arg)
{
    return wf_req_done(arg);
}

/* The number of messages to poll for: no more than there are receives, for
 * others had better stay with the transport than be stored. */
static int spin_budget(const struct wf_engine *e)
{
    uint32_t posted = wf_match_posted_count(&e->match);

    posted += !posted;
    return posted > WF_RECEIVE_BUDGET_MOST ? WF_RECEIVE_BUDGET_MOST
                                           : (int)posted;
}

static inline void poll_order_lane(struct wf_req *r)
{
    struct weft_loc *loc = wf_p2p_of(r)->loc;

    if (loc && loc->lanes)
        wf_progress_spin(r->wf, &loc->lane[WF_LANE_ORDER].core->source,
                         spin_budget(r->wf->engine), &r->done);
}

/* MPI_Wait polls in front of its slow path, which measures the rest. */
WF_COLD static void poll_timed(struct wf_req *r)
{
    bool begun = wf_call_begin();

    poll_order_lane(r);
    if (begun)
        wf_call_end(WF_CALL_COMPLETION, 0);
}

void wf_req_poll_briefly(struct wf_req *r)
{
    if (r->type > WF_REQ_RECV)
        return;
    if (wf_call_is_timed())
        poll_timed(r);
    else
        poll_order_lane(r);
}

static void describe_request(const void *r, struct wf_wait *w)
{
    wf_wait_describe_request(r, w);
}

void wf_req_await_with_cause(struct wf_req *r,
                             const struct wf_wait_cause *cause)
{
    if (wf_progress_may_spin(r->wf))
        wf_req_poll_briefly(r);
    if (!wf_req_done(r))
        wf_progress_wait(r->wf, wf_req_endpoints(r), is_done, r, cause);
}

void wf_req_await(struct wf_req *r)
{
    struct wf_wait_cause cause = {describe_request, r};

    wf_req_await_with_cause(r, &cause);
}

int wf_wait(struct wf_req **req, MPI_Status *status)
{
    struct wf_req *r = *req;
    int error;

    WF_ASSERT(r->object.kind == WF_KIND_REQUEST);
    WF_ASSERT(!r->on_complete && !(r->flags & WF_REQ_DETACHED));
    if (!wf_req_done(r))
        wf_req_await(r);
    WF_ASSERT(wf_req_done(r));
    error = wf_req_error(r);
    wf_status_set(status, r->source, r->tag, r->bytes,
                  r->flags & WF_REQ_CANCELLED);
    wf_req_release(r);
    *req = NULL;
    return error;
}

int wf_wait_all(int n, struct wf_req **reqs)
{
    int first = 0;

    for (int i = 0; i < n; i++) {
        int error = reqs[i] ? wf_wait(&reqs[i], MPI_STATUS_IGNORE) : 0;
        if (error && !first)
            first = error;
    }
    return first;
}
