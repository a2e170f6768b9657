/* The send unit: it takes a message from MPI_Send to its lane.
 *
 *   size, mode, credit                           message          completes
 *   <= max_short, contiguous or packed small     EAGER, copied    at once
 *   <= eager limit, credit left                  EAGER            tx_done
 *   synchronous, <= eager limit                  EAGER|SYNC       SYNC
 *   otherwise                                    NOTIFY           rendezvous.c
 *
 * All of them take the order lane, so that none overtakes another; where the
 * communicator's hints allow that, an eager message takes the lane of its size.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/send.h"

#include <stdlib.h>

#include "datatype/move.h"
#include "group/contact.h"
#include "os/tuning.h"
#include "progress/progress.h"
#include "protocol/comm_route.h"
#include "protocol/eager.h"
#include "protocol/failure.h"
#include "protocol/fastpath.h"
#include "protocol/location.h"
#include "protocol/message.h"
#include "protocol/payload.h"
#include "protocol/pull.h"
#include "protocol/rendezvous.h"
#include "protocol/request.h"
#include "report/error.h"

enum { SENT = 1, HELD }; /* results of try_send_by_copy */

static bool connect_location(struct weft_loc *loc, int *rc)
{
    int r;

    wf_error_forget();
    r = wf_location_connect(loc);
    if (r == 0)
        return true;
    *rc = wf_error_last()->status;
    if (!*rc && r == WEFT_ENOMEM)
        *rc =
            wf_fail(WEFT_ENOMEM, "no memory to connect to process %u", loc->id);
    if (!*rc)
        *rc = wf_fail(WEFT_EUNREACH, "process %u cannot be reached (error %d)",
                      loc->id, r);
    return false;
}

/* The slow path of wf_peer_location: a first contact, a failed peer. */
struct weft_loc *wf_peer_connect(struct wf_comm *comm, int rank, int *rc)
{
    struct wf_instance *wf = comm->wf;
    uint32_t id = wf_group_proc(comm->peers, rank);
    struct weft_loc *loc = wf_location(wf, id);

    if (!loc) {
        *rc = wf_fail(WEFT_ENOMEM, "out of memory for process %u", id);
        return NULL;
    }
    if (!loc->failed && !loc->lanes && !connect_location(loc, rc)) {
        if (!wf_status_is_loss(*rc))
            return NULL;
        wf_location_down(loc, WEFT_EPEER, wf_error_last()->text);
    }
    if (loc->failed) {
        *rc = wf_fail(
            wf_location_status(loc), "rank %d (process %u on %s)%s: %s", rank,
            id, loc->host ? loc->host : "unknown host",
            wf_location_lacks_resources(loc) ? " cannot be reached" : "",
            wf_location_down_text(loc));
        return NULL;
    }
    WF_ASSERT(loc->lanes > 0 && loc->lanes <= WF_LANES);
    if (!wf_comm_route_keys(comm, WF_SPACE_P2P))
        wf_contact_add(comm, rank, loc); /* else no fast path */
    return loc;
}

/* ---- completion ---------------------------------------------------------- */

void wf_send_complete_if_ready(struct wf_p2p *p)
{
    WF_ASSERT(p->req.type == WF_REQ_SEND);
    if (p->waits)
        return;
    if (p->has_id)
        wf_slot_release(p->req.wf->engine, p);
    if (p->pull.core)
        wf_pull_release(p);
    wf_req_complete(&p->req, 0);
}

static void on_eager_sent(struct wf_tx *t, int status)
{
    struct wf_p2p *p = wf_container(t, struct wf_p2p, tx);

    WF_ASSERT(p->waits & WF_WAITS_TX);
    p->waits &= (uint8_t)~WF_WAITS_TX;
    if (status < 0) {
        p->req.error = wf_req_mark_link_lost(&p->req, status);
        p->waits = 0;
    }
    wf_send_complete_if_ready(p);
}

void wf_send_answered(struct wf_p2p *p, int error)
{
    if (error && !p->req.error)
        p->req.error = error;
    p->waits &= (uint8_t)~WF_WAITS_ANSWER;
    wf_send_complete_if_ready(p);
}

/* Only the receiver knows whether the message was matched. The CANCEL is not
 * urgent, for it must not overtake the message that it is about. */
void wf_send_cancel(struct wf_p2p *p)
{
    struct wf_wire w;

    if (!p->has_id || !(p->waits & WF_WAITS_ANSWER))
        return;
    wf_wire_init(&w, WF_CANCEL, 0);
    w.d = wf_le64(p->id);
    wf_message_send_control_on(p->loc, p->lane, &w, NULL, 0);
}

/* ---- start --------------------------------------------------------------- */

static void set_envelope(struct wf_wire *w, const struct wf_p2p *p)
{
    const struct wf_comm *c = p->req.comm;

    w->a = wf_le64(wf_env0(p->space, c->send_context, (uint32_t)p->peer));
    w->b = wf_le64(wf_env1((uint32_t)c->rank, (uint32_t)p->tag));
}

/* Choose the lane of the envelope. 0, or a failure. */
static int choose_lane(struct wf_p2p *p)
{
    unsigned lane;
    int r = wf_comm_route_choose_lane(p->req.comm, p->space, p->loc, &lane);

    p->lane = (uint8_t)lane;
    return r;
}

/* The lane of an eager message. Ordered pairs (protocol/order.h) have one
 * numbered lane. */
static unsigned eager_lane(const struct wf_p2p *p)
{
    bool any = p->req.comm->asserts & WF_ASSERT_OVERTAKING && !p->loc->order;

    if (wf_unlikely(p->lane != WF_LANE_ORDER))
        return p->lane;

    return wf_unlikely(any) && p->space == WF_SPACE_P2P
               ? wf_bulk_lane(p->loc, p->bytes)
               : WF_LANE_ORDER;
}

static int start_eager(struct wf_p2p *p, unsigned lane)
{
    bool sync = p->mode == WF_SEND_SYNC;
    uint16_t flags = sync ? WF_FLAG_SYNC : WEFT_HDR_SHORT;

    if (p->mode == WF_SEND_READY)
        flags |= WF_FLAG_READY;
    WF_ASSERT(lane < p->loc->lanes &&
              wf_eager_choose(p->loc, lane, p->bytes,
                              (enum wf_send_mode)p->mode) != WF_BY_RENDEZVOUS);
    wf_wire_init(&p->tx.hdr, WF_EAGER, flags);
    set_envelope(&p->tx.hdr, p);
    p->waits = WF_WAITS_TX;
    if (sync) {
        if (wf_slot_add_pending(p) != 0)
            return wf_fail(WEFT_ENOMEM, "out of memory for a send");
        p->tx.hdr.d = wf_le64(p->id);
        p->waits |= WF_WAITS_ANSWER;
    }
    wf_send_set_payload(p, 0, p->bytes);
    p->tx.done = on_eager_sent;
    wf_credit_change(p->loc, -(int64_t)(p->bytes + WF_MESSAGE_OVERHEAD));
    wf_message_send(p->loc, lane, &p->tx);
    return 0;
}

/* Poll until there is room and credit for a message to dest. False: there is
 * none, or nothing had to be waited for. Only for sends of the program: other
 * sends may come from inside progress.
 * A message without room needs a request and a place in the FIFO, one without
 * credit a rendezvous. A receiver that is in MPI makes room in no time, so the
 * sender waits for it, but only as long as that pays: after a receiver that
 * computes the next sends poll once. */
static bool poll_for_room(struct wf_comm *comm, int dest, uint64_t bytes)
{
    struct weft_loc *loc = wf_contact_of(comm, dest);
    int left;

    if (!loc || !loc->lanes || !wf_eager_lacks_room(loc, bytes))
        return false;
    for (left = loc->send_poll_budget;
         left >= 0 && wf_eager_lacks_room(loc, bytes); left--)
        wf_progress_poll(comm->wf, 1u << loc->lane[WF_LANE_ORDER].core->index);
    loc->send_poll_budget = left < 0 ? 0 : WF_ROOM_POLLS;
    return left >= 0;
}

static bool is_rendezvous(const struct wf_p2p *p, unsigned lane)
{
    return wf_eager_choose(p->loc, lane, p->bytes,
                           (enum wf_send_mode)p->mode) == WF_BY_RENDEZVOUS;
}

static void reset_request(struct wf_p2p *p)
{
    WF_ASSERT(p->req.type == WF_REQ_SEND && !p->has_id);
    p->req.error = 0;
    p->req.source = MPI_ANY_SOURCE;
    p->req.tag = MPI_ANY_TAG;
    p->req.bytes = 0;
    wf_store_relaxed(&p->req.done, 0);
}

int wf_send_start(struct wf_p2p *p)
{
    int rc = 0;
    unsigned lane;

    reset_request(p);
    if (p->peer == MPI_PROC_NULL) {
        wf_req_complete(&p->req, 0);
        return 0;
    }
    p->loc = wf_peer_location(p->req.comm, p->peer, &rc);
    if (!p->loc || (rc = choose_lane(p)) != 0)
        return rc;
    lane = eager_lane(p);
    return is_rendezvous(p, lane) ? wf_rendezvous_notify(p)
                                  : start_eager(p, lane);
}

/* Send at once by copy if size, layout, room and credit allow. SENT, HELD, 0:
 * take the slow path, negative: failure. */
static int try_send_by_copy(struct wf_comm *comm, const void *buf,
                            uint64_t count, struct wf_type *type, int dest,
                            int tag, unsigned space, bool more, int *rc)
{
    uint8_t packed[WF_PACK_SHORT];
    uint64_t bytes = count * (uint64_t)type->size;
    struct weft_loc *loc = wf_peer_location(comm, dest, rc);
    const void *data = packed;
    int r;

    if (wf_unlikely(!loc))
        return -1;
    wf_side_take_back(loc);
    if (!wf_eager_takes_copy(loc, bytes) ||
        wf_unlikely(wf_comm_route_keys(comm, space)))
        return 0;
    if (wf_likely(wf_type_is_contiguous(type)))
        data = wf_type_data(type, buf);
    else if (bytes <= WF_PACK_SHORT)
        wf_type_pack(type, buf, count, 0, packed, bytes);
    else
        return 0;
    r = wf_fastpath_try_send(
        loc, data, bytes, wf_env0(space, comm->send_context, (uint32_t)dest),
        wf_env1((uint32_t)comm->rank, (uint32_t)tag), more);
    return wf_likely(r == WEFT_OK) ? SENT : r == WF_FASTPATH_QUEUED ? HELD : 0;
}

/* Send by copy if possible, for a send of the program after having polled for
 * room. Returns as try_send_by_copy. */
static int send_by_copy(struct wf_comm *comm, const struct wf_send_args *a,
                        unsigned space, enum wf_send_mode mode, int *rc)
{
    bool more = mode == WF_SEND_WINDOW;
    int now;

    if (mode == WF_SEND_SYNC)
        return 0;
    now = try_send_by_copy(comm, a->buf, a->count, a->type, a->dest, a->tag,
                           space, more, rc);
    if (wf_unlikely(!now) && space == WF_SPACE_P2P &&
        poll_for_room(comm, a->dest, a->count * (uint64_t)a->type->size))
        now = try_send_by_copy(comm, a->buf, a->count, a->type, a->dest, a->tag,
                               space, more, rc);
    return now;
}

int wf_send_restart(struct wf_p2p *p)
{
    struct wf_send_args a = {p->buf, p->count, p->type, p->peer, p->tag};
    int rc = 0, now = 0;

    if (p->peer != MPI_PROC_NULL)
        now = send_by_copy(p->req.comm, &a, p->space,
                           (enum wf_send_mode)p->mode, &rc);
    if (!now)
        return wf_send_start(p);
    WF_ASSERT(now != HELD);
    if (now == SENT) {
        reset_request(p);
        wf_req_complete(&p->req, 0);
    }
    return rc;
}

/* Send on the slow path: with a request that completes when user memory is free
 * again. */
int wf_isend_queued(struct wf_comm *comm, const void *buf, uint64_t count,
                    struct wf_type *type, int dest, int tag,
                    enum wf_space space, enum wf_send_mode mode,
                    struct wf_req **out)
{
    struct wf_p2p *p = wf_p2p_alloc(comm, WF_REQ_SEND);
    int rc;

    *out = NULL;
    if (!p)
        return WEFT_ENOMEM;
    p->peer = dest;
    p->tag = tag;
    p->space = (uint8_t)space;
    p->mode = (uint8_t)mode;
    wf_p2p_set_buffer(p, (void *)(uintptr_t)buf, count, type);
    rc = wf_send_start(p);
    if (rc) {
        wf_store_relaxed(&p->req.done, 1);
        wf_req_release(&p->req);
        return rc;
    }
    *out = &p->req;
    return 0;
}

bool wf_isend_bytes(struct wf_comm *comm, const void *data, uint64_t bytes,
                    int dest, int tag, struct wf_req **out)
{
    struct wf_engine *e = comm->wf->engine;
    int rc, now = try_send_by_copy(comm, data, bytes, e->bytes_type, dest, tag,
                                   WF_SPACE_P2P, true, &rc);

    if (now <= 0)
        return false; /* the slow path says why */
    *out = now == HELD ? &e->held : &e->sent;
    return true;
}

int wf_isend(struct wf_comm *comm, const void *buf, uint64_t count,
             struct wf_type *type, int dest, int tag, enum wf_space space,
             enum wf_send_mode mode, struct wf_req **out)
{
    struct wf_send_args a = {buf, count, type, dest, tag};
    struct wf_engine *e = comm->wf->engine;
    int rc = 0, now;

    *out = &e->sent;
    if (dest == MPI_PROC_NULL)
        return 0;
    now = send_by_copy(comm, &a, space, mode, &rc);
    if (!now)
        return wf_isend_queued(comm, buf, count, type, dest, tag, space, mode,
                               out);
    if (now == HELD)
        *out = &e->held;
    return rc;
}

int wf_send(struct wf_comm *comm, const void *buf, uint64_t count,
            struct wf_type *type, int dest, int tag, enum wf_space space)
{
    struct wf_req *req;
    int rc = 0;

    if (wf_unlikely(dest == MPI_PROC_NULL) ||
        wf_likely(try_send_by_copy(comm, buf, count, type, dest, tag, space,
                                   false, &rc)))
        return rc;
    rc = wf_isend_queued(comm, buf, count, type, dest, tag, space,
                         WF_SEND_STANDARD, &req);
    return rc ? rc : wf_wait(&req, MPI_STATUS_IGNORE);
}
