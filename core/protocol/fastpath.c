/* The parts of the fast path that are not inline: see fastpath.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/fastpath.h"

#include "datatype/predefined.h"
#include "group/raise.h"
#include "object/error_class.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "report/call_time.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "protocol/unexpected.h"
#include "route/location.h"

static const char path_open = 1, path_shut = 0;

const struct wf_comm *wf_fastpath_world = &wf_comm_without_contacts;
const char *_Atomic wf_fastpath_enabled = &path_shut;
const struct wf_comm *wf_fastpath_shared_world;

static const char *flag_of(struct wf_instance *wf)
{
    if (!wf || wf_cs_uses_lock(&wf->api) ||
        wf_load_relaxed(&wf->rank->slow_calls))
        return &path_shut; /* what it sends or receives has no records */
    return wf->api.threads ? wf_single_flag() : &path_open;
}

void wf_fastpath_update(struct wf_instance *wf)
{
    bool slow = wf && (WF_TRACING(wf) || wf_call_is_timed());
    bool open = wf && wf->world && !slow;
    const struct wf_comm *world = open ? wf->world : &wf_comm_without_contacts;
    const struct wf_comm *shared =
        wf && wf_cs_is_kept_on(&wf->api) && !slow ? world : NULL;

    if (wf && wf_load_relaxed(&wf->rank->slow_calls) != slow)
        wf_store_relaxed(&wf->rank->slow_calls, slow);
    if (wf != wf_load_relaxed(&wf_process_instance) || (wf && wf->rank->ranks))
        /* This instance is one of several, of a simulation or of ranks that are
         * threads; one of those acts as the process for a while. */
        return;
    /* Other threads read these without the section: they are written only when
     * they change. One that sees an old value because a trace begins enters,
     * and finds lanes that record what it sends. */
    if (wf_fastpath_world != world)
        wf_write_pointer(&wf_fastpath_world, world);
    if (wf_fastpath_shared_world != shared)
        wf_write_pointer(&wf_fastpath_shared_world, shared);
    /* relaxed: a thread that sees the old value finds the path shut, too */
    wf_store_relaxed(&wf_fastpath_enabled, flag_of(wf));
}

/* Take a light request, from this thread's share of the pool or from the
 * engine's; NULL: none is at hand. */
static inline struct wf_p2p *take_light(struct wf_comm *comm,
                                        struct weft_loc *from, void *buf,
                                        uint64_t bytes, bool share)
{
    struct wf_engine *e = comm->wf->engine;
    struct wf_p2p *p =
        share ? wf_pool_take(wf_request_pool(comm->wf)) : e->free_p2p;

    if (wf_unlikely(!p))
        return NULL;
    if (share)
        p->defers_copy = false;
    else
        e->free_p2p = p->next_free;
    __builtin_prefetch(p->next_free, 1);
    __builtin_prefetch((char *)p->next_free + WF_CACHE_LINE, 1);
    wf_object_init(&p->req.object, WF_KIND_REQUEST);
    p->req.wf = comm->wf;
    p->req.comm = comm;
    comm->object.refs++;
    p->req.type = WF_REQ_RECV;
    p->req.flags = WF_REQ_LIGHT;
    wf_store_relaxed(&p->req.done, 0);
    p->req.error = 0;
    p->block = buf;
    p->posted.room = (uint32_t)bytes;
    p->loc = from;
    return p;
}

static bool finish_stored(struct wf_p2p *p, struct wf_arrived *a)
{
    struct wf_envelope_length got;

    if (!wf_unexpected_take(a, p->block, p->posted.room, &got)) {
        wf_store_relaxed(&p->req.done, 1);
        wf_req_release(&p->req);
        return false;
    }
    p->req.source = wf_env_source(got.env1);
    p->req.tag = wf_env_tag(got.env1);
    p->req.bytes = got.bytes;
    if (WF_BRIEF && p->home)
        wf_req_complete(&p->req, 0); /* its waiter needs no section then */
    else
        wf_store_relaxed(&p->req.done, 1);
    return true;
}

static inline __attribute__((always_inline)) bool
post_light(struct wf_comm *comm, struct wf_p2p *p, uint64_t env1,
           MPI_Request *request)
{
    struct wf_match *match = &comm->wf->engine->match;
    struct wf_arrived *a;

    p->posted.env0 = comm->recv_env0;
    p->posted.env1 = env1;
    p->posted.class = wf_match_class(wf_env_source(env1), wf_env_tag(env1));
    a = wf_match_find_arrived(match, p->posted.env0, env1,
                              wf_class_mask(p->posted.class));
    if (wf_unlikely(a != NULL)) {
        if (!finish_stored(p, a))
            return false;
    } else {
        wf_match_post(match, &p->posted);
    }
    *request = (MPI_Request)&p->req;
    return true;
}

/* A function of its own: its call of the pool would have the other spill. */
static __attribute__((noinline)) bool
post_from_share(struct wf_comm *comm, struct weft_loc *from, uint64_t env1,
                void *buf, uint64_t bytes, MPI_Request *request)
{
    struct wf_p2p *p = take_light(comm, from, buf, bytes, true);

    return wf_likely(p != NULL) && post_light(comm, p, env1, request);
}

bool wf_fastpath_post_receive(struct wf_comm *comm, struct weft_loc *from,
                              uint64_t env1, void *buf, uint64_t bytes,
                              MPI_Request *request)
{
    struct wf_p2p *p;

    if (wf_unlikely(bytes >= WF_HELP_MIN_BYTES ||
                    (from ? from->failed : comm->wf->engine->failures != 0)))
        return false;
    if (wf_cs_has_shares(&comm->wf->api))
        return post_from_share(comm, from, env1, buf, bytes, request);
    p = take_light(comm, from, buf, bytes, false);
    return wf_likely(p != NULL) && post_light(comm, p, env1, request);
}

static void undo_bookkeeping(struct weft_loc *loc, uint64_t n)
{
    loc->credit += (int64_t)(n + WF_MESSAGE_OVERHEAD);
    loc->lane[WF_LANE_ORDER].seq--;
}

static const char *function_name(bool request)
{
    return request ? "MPI_Isend" : "MPI_Send";
}

static int raise_outside(struct wf_comm *comm, const char *function, int rc,
                         bool inside)
{
    struct wf_instance *wf = comm->wf;

    if (inside)
        wf_cs_unlock(&wf->api);
    rc = wf_raise(wf, comm, function, wf_error_class(rc));
    if (inside)
        wf_cs_lock(&wf->api);
    return rc;
}

/* ---- sending ------------------------------------------------------------- */

/* Note that a plugin holds back a message, to send it with others: such sends
 * are complete when the endpoint has been polled. */
static int note_held(struct weft_loc *loc)
{
    struct wf_instance *wf = loc->wf;

    WF_ASSERT(loc->lanes > 0);
    wf->held |= 1u << loc->lane[WF_LANE_ORDER].core->index;
    wf_store_relaxed(&wf->engine->held.done, 0);
    loc->queued_request = &wf->engine->held;
    return WF_FASTPATH_QUEUED;
}

int wf_fastpath_send_header(const void *data, uint64_t h0, weft_peer *to,
                            uint64_t h1, uint64_t h2)
{
    struct weft_loc *loc = (struct weft_loc *)to;
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];
    uint64_t w[WEFT_HDR / 8] = {wf_le64(h0), wf_le64(h1), wf_le64(h2)};
    uintptr_t caller = loc->pending_caller;
    bool window = caller & WF_CALLER_REQUEST;
    int r = l->send_short(l->peer, (const weft_hdr *)w, data, h0 >> 32,
                          window ? WEFT_TX_MORE : 0);

    if (wf_likely(r == WEFT_DONE))
        return WEFT_OK;
    if (r == WEFT_OK)
        return note_held(loc);
    loc->pending_caller = caller; /* the plugin may have called back */
    return wf_fastpath_no_room(l->core, loc, h0, h1, h2, data);
}

void wf_fastpath_prepare_lane(struct weft_loc *loc)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    l->words_peer = l->peer;
    if (!l->send_words && l->send_short) {
        l->send_words = wf_fastpath_send_header;
        l->words_peer = (weft_peer *)loc;
    }
    wf_location_update_fastpath(loc);
}

/* The datatype was contiguous, so the message is sent again as bytes. */
int wf_fastpath_no_room(struct weft_core *core, struct weft_loc *loc,
                        uint64_t h0, uint64_t h1, uint64_t h2, const void *data)
{
    struct wf_comm *comm =
        (struct wf_comm *)(loc->pending_caller & ~(uintptr_t)7);
    bool request = loc->pending_caller & WF_CALLER_REQUEST;
    bool inside = loc->pending_caller & WF_CALLER_INSIDE;
    struct wf_req *req;
    int rc;

    undo_bookkeeping(loc, h0 >> 32);
    if (!comm)
        return WEFT_EAGAIN;
    rc = wf_isend_queued(comm, data, h0 >> 32, wf_type_of(MPI_BYTE),
                         (int)(uint32_t)h1, wf_env_tag(h2), WF_SPACE_P2P,
                         WF_SEND_STANDARD, &req);
    if (!rc && request) {
        loc->queued_request = req;
        return WF_FASTPATH_QUEUED;
    }
    if (!rc) {
        wf_call_name = function_name(request);
        rc = wf_wait(&req, MPI_STATUS_IGNORE);
    }
    return rc ? raise_outside(comm, function_name(request), rc, inside)
              : 0;
}
