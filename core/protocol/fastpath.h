/* The fast path: it takes a small message from the binding to the plugin.
 *
 *   MPI_Send --> wf_fastpath_send --> send_words of the lane      all inline
 *                  | a test fails
 *                  +--> the slow path: checks, errors, every case
 *
 * DESIGN  The tests do not find out what is wrong, only whether the call is a
 * usual one: a predefined contiguous type, a peer to which this communicator
 * has sent before, an open lane, credit left. Any other call, a wrong one
 * included, begins again on the slow path, the rest of the binding, which knows
 * all cases and names all mistakes. So the fast path has no message to print
 * and nothing to clean up.
 *
 * At MPI_THREAD_MULTIPLE it is open as long as the process has one thread. Then
 * it is closed, and there is another attempt before the slow path: a thread
 * towards which the section is biased (os/mutex.h) enters by two stores, takes
 * the fast path inside, and leaves by one store; so does a thread for which the
 * lock was left open. Any other thread takes the slow path and waits for the
 * lock. An attempt that fails inside leaves the unlock to the slow path as well
 * (wf_cs_deferred_unlock): it calls no function across which the arguments
 * would have to be kept.
 *
 * Why it is fast: one table per communicator (group/contact.c) replaces group,
 * Location table and range check; one number per Location (fastpath_end) stands
 * for everything that can be in the way; the header travels in registers; and
 * the call of the plugin is the last one, so no values are kept across it. A
 * plugin without room returns the message by wf_fastpath_no_room, and
 * loc->pending_caller says for which call of the program it was.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_FASTPATH_H
#define WF_FASTPATH_H

#include <limits.h>

#include "datatype/predefined.h"
#include "group/comm.h"
#include "object/status.h"
#include "object/statuses.h"
#include "progress/progress.h"
#include "protocol/eager.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "route/location.h"

/* MPI_COMM_WORLD for this path; without an instance a communicator without
 * contacts. */
extern const struct wf_comm *wf_fastpath_world WF_HIDDEN;
/* Points to a value that is not 0 while the path is open: there is an instance,
 * and no lock to take. At MPI_THREAD_MULTIPLE that value tells that there is
 * one thread (os/single.h). */
extern const char *_Atomic wf_fastpath_enabled WF_HIDDEN;
/* MPI_COMM_WORLD where the section may have to be entered: at
 * MPI_THREAD_MULTIPLE, or beside a resident progress thread; else NULL. */
extern const struct wf_comm *wf_fastpath_shared_world WF_HIDDEN;
/* Update the three above after the instance of the process, its world or its
 * threads have changed. */
void wf_fastpath_update(struct wf_instance *);

/* Handle a message for which the plugin had no room: queue it for the call in
 * loc->pending_caller. That is 0 if the caller tries again itself; else the
 * communicator, with these flags added if the function is a large-count one,
 * has a request or holds the section. Returns the result of that function, or
 * WF_FASTPATH_QUEUED: the request is in loc->queued_request. */
int wf_fastpath_no_room(struct weft_core *, struct weft_loc *, uint64_t h0,
                        uint64_t h1, uint64_t h2, const void *data);
/* Give the order lane its entry for copied messages, when its other functions
 * are set: send_words where the plugin, or who stands in for it, has that, or
 * else wf_fastpath_send_header. */
void wf_fastpath_prepare_lane(struct weft_loc *);

/* The send_words of a lane that takes headers from memory only: it makes one
 * for send_short. `to` is the Location. A nonblocking send may be held back by
 * the plugin until the endpoint is polled: then loc->queued_request is one that
 * completes when that has happened, and the result WF_FASTPATH_QUEUED. */
int wf_fastpath_send_header(const void *data, uint64_t h0, weft_peer *to,
                            uint64_t h1, uint64_t h2);

enum {
    WF_CALLER_REQUEST = 2,
    WF_CALLER_INSIDE = 4, /* the call holds the section */
    WF_FASTPATH_QUEUED = INT_MIN
};

/* Post a receive of bytes from a contact, or from any source (NULL). False:
 * take the slow path. */
bool wf_fastpath_post_receive(struct wf_comm *, struct weft_loc *from,
                              uint64_t env1, void *buf, uint64_t bytes,
                              MPI_Request *);

/* True if the path is open: no section has to be entered. */
static inline bool wf_fastpath_is_open(void)
{
    return *wf_load_relaxed(&wf_fastpath_enabled) != 0;
}

/* The communicator of a handle where the path is open. One without contacts if
 * the handle is wrong. */
static inline const struct wf_comm *wf_fastpath_comm_of(MPI_Comm h)
{
    if (wf_likely(h == MPI_COMM_WORLD))
        return wf_read_pointer(&wf_fastpath_world);
    return wf_is_object(h, WF_KIND_COMM) ? (const struct wf_comm *)h
                                         : &wf_comm_without_contacts;
}

/* The communicator of a handle in a thread that is a rank. One without contacts
 * if the path is not open there, or the handle is wrong. */
static inline const struct wf_comm *wf_fastpath_thread_comm_of(MPI_Comm h)
{
    struct wf_instance *wf = wf_thread_instance;

    if (!wf || wf_cs_needs_lock(&wf->api) ||
        wf_load_relaxed(&wf->rank->slow_calls))
        return &wf_comm_without_contacts;
    if (wf_likely(h == MPI_COMM_WORLD))
        return wf->world ? wf->world : &wf_comm_without_contacts;
    return wf_is_object(h, WF_KIND_COMM) ? (const struct wf_comm *)h
                                         : &wf_comm_without_contacts;
}

/* The communicator of a handle where MPI_COMM_WORLD is `world`; NULL: it is
 * none, or there is no world. */
static inline const struct wf_comm *
wf_fastpath_find_comm(const struct wf_comm *world, MPI_Comm h)
{
    if (wf_unlikely(!world) || wf_likely(h == MPI_COMM_WORLD))
        return world;
    return wf_is_object(h, WF_KIND_COMM) ? (const struct wf_comm *)h : NULL;
}

/* The communicator of a handle where the section may have to be entered; NULL:
 * take the slow path. */
static inline const struct wf_comm *wf_fastpath_shared_comm_of(MPI_Comm h)
{
    return wf_fastpath_find_comm(wf_read_pointer(&wf_fastpath_shared_world), h);
}

/* ---- inside the section, by the thread that was there last --------------- */

/* The world of a thread that is a rank and whose section is on for good; NULL:
 * there is none, or it is not for this path. */
static inline const struct wf_comm *wf_fastpath_thread_shared_world(void)
{
    struct wf_instance *wf = wf_thread_instance;

    return wf && wf_cs_is_kept_on(&wf->api) &&
                   !wf_load_relaxed(&wf->rank->slow_calls)
               ? wf->world
               : NULL;
}

/* The same as wf_fastpath_enter in a thread that is a rank. */
static inline const struct wf_comm *
wf_fastpath_enter_thread_rank(MPI_Comm h) WF_UNANALYSED
{
    const struct wf_comm *world = wf_fastpath_thread_shared_world();
    const struct wf_comm *c = wf_fastpath_find_comm(world, h);

    return c && c->wf == world->wf && wf_cs_try_relock(&c->wf->api) ? c : NULL;
}

/* Enter the engine (engines.h) of this communicator, if this thread was the
 * last one inside. Returns the communicator. NULL: take the slow path. */
static inline const struct wf_comm *wf_fastpath_enter(MPI_Comm h) WF_UNANALYSED
{
    const struct wf_comm *c = wf_fastpath_shared_comm_of(h);

    return wf_likely(c && c->wf && wf_cs_try_relock(&c->wf->api)) ? c : NULL;
}

/* Enter the engine of a request, if this thread was the last one inside.
 * Returns the engine. NULL: take the slow path. */
static inline struct wf_instance *
wf_fastpath_enter_request(MPI_Request *request) WF_UNANALYSED
{
    const struct wf_comm *shared = wf_read_pointer(&wf_fastpath_shared_world);
    struct wf_req *r;

    if (wf_unlikely((!shared && !wf_fastpath_thread_shared_world()) ||
                    !request))
        return NULL;
    r = wf_req_of(*request);
    return wf_likely(r && wf_cs_try_relock(&r->wf->api)) ? r->wf : NULL;
}

static inline void wf_fastpath_leave(struct wf_instance *wf) WF_UNANALYSED
{
    wf_cs_unlock(&wf->api);
}

/* Defer leaving: the slow path begins with it. */
static inline void
wf_fastpath_defer_unlock(struct wf_instance *wf) WF_UNANALYSED
{
    wf_cs_deferred_unlock.inside = &wf->api;
}

/* Set the call for which the next message is sent. It mostly is that of the
 * last one, and then nothing is stored. */
static inline void wf_fastpath_set_caller(struct weft_loc *loc, uintptr_t who)
{
    if (wf_unlikely(loc->pending_caller != who))
        loc->pending_caller = who;
}

/* Do the bookkeeping and call the plugin. WEFT_OK, or the result of
 * wf_fastpath_no_room. */
static inline int wf_fastpath_send_words(struct weft_loc *loc, int64_t left,
                                         const void *data, uint64_t n,
                                         uint64_t env0, uint64_t env1)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    WF_ASSERT(left >= 0 && left == wf_eager_left_by_copy(loc, n));
    loc->credit = left;
    l->seq++;
    return l->send_words(data, WF_SHORT_EAGER | n << 32, l->words_peer, env0,
                         env1);
}

/* Send now, by copy, for a caller that has another way if that fails; window:
 * the plugin may hold the message back, to send it with later ones. WEFT_OK,
 * WF_FASTPATH_QUEUED: it is held, or WEFT_EAGAIN: nothing has happened. */
static inline int wf_fastpath_try_send(struct weft_loc *loc, const void *data,
                                       uint64_t n, uint64_t env0, uint64_t env1,
                                       bool window)
{
    int64_t left;

    wf_side_take_back(loc);
    left = wf_eager_left_by_copy(loc, n);
    if (wf_unlikely(left < 0))
        return WEFT_EAGAIN;
    wf_fastpath_set_caller(loc, window ? WF_CALLER_REQUEST : 0);
    return wf_fastpath_send_words(loc, left, data, n, env0, env1);
}

/* True for MPI_BOTTOM and the like; but NULL is right for 0 elements. */
static inline bool wf_fastpath_lacks_buffer(const void *buf, MPI_Count count)
{
    return wf_unlikely((uintptr_t)buf <= 2) && (buf || count);
}

/* A send of the usual kind: what its call asks for. */
struct wf_fastpath_args {
    const struct wf_comm *comm;
    struct weft_loc *loc;
    uint64_t n;
    int64_t left;
};

/* Check that a send may take the fast path. False: take the slow path. */
static inline __attribute__((always_inline)) bool
wf_fastpath_may_send(struct wf_fastpath_args *s, const struct wf_comm *comm,
                     const void *buf, MPI_Count count, MPI_Datatype datatype,
                     int dest, int tag)
{
    uint64_t size;

    if (wf_unlikely((count | tag) < 0 || count > INT_MAX))
        return false;
    s->comm = comm;
    s->loc = wf_contact_of(s->comm, dest);
    if (wf_unlikely(!s->loc || wf_fastpath_lacks_buffer(buf, count)))
        return false;
    size = wf_type_contig_size(datatype);
    s->n = (uint64_t)count * size;
    if (wf_unlikely(!size))
        return false;
    s->left = wf_eager_left_by_copy(s->loc, s->n);
    return wf_likely(s->left >= 0);
}

/* Send. 0, or the result of the slow path when there was no room. */
static inline __attribute__((always_inline)) int
wf_fastpath_send(const struct wf_fastpath_args *s, const void *buf, int dest,
                 int tag, int flags)
{
    wf_fastpath_set_caller(s->loc, (uintptr_t)s->comm + (uintptr_t)flags);
    return wf_fastpath_send_words(s->loc, s->left, buf, s->n,
                                  s->comm->send_env0 | (uint32_t)dest,
                                  s->comm->send_env1 | (uint32_t)tag);
}

/* True if the send side of a rank is lent: send_side.h. */
static inline bool wf_fastpath_is_lent(MPI_Comm h, int dest)
{
    const struct wf_comm *c = WF_OBJECTS ? wf_fastpath_shared_comm_of(h) : NULL;
    struct weft_loc *loc = c ? wf_contact_seen(c, dest) : NULL;

    return loc && wf_side_is_lent(loc);
}

/* Send by a send side that is lent, without the section. Returns the
 * communicator; NULL: nothing has happened. */
static inline __attribute__((always_inline)) const struct wf_comm *
wf_fastpath_send_beside(MPI_Comm h, const void *buf, MPI_Count count,
                        MPI_Datatype datatype, int dest, int tag)
{
    const struct wf_comm *c = wf_fastpath_shared_comm_of(h);
    struct weft_loc *loc = c ? wf_contact_seen(c, dest) : NULL;
    uint64_t size = wf_type_contig_size(datatype);

    /* another thread may have changed what the caller has asked */
    if (wf_unlikely(!loc || (count | tag) < 0 || count > INT_MAX || !size ||
                    wf_fastpath_lacks_buffer(buf, count)))
        return NULL;
    return wf_side_send(loc, buf, (uint64_t)count * size,
                        c->send_env0 | (uint32_t)dest,
                        c->send_env1 | (uint32_t)tag)
               ? c
               : NULL;
}

/* Check a send to MPI_PROC_NULL. Returns its communicator; NULL: take the slow
 * path. Nothing of the engine is accessed, so no section is needed. */
static inline const struct wf_comm *
wf_fastpath_to_proc_null(MPI_Comm h, const void *buf, MPI_Count count,
                         MPI_Datatype datatype, int tag)
{
    const struct wf_comm *shared = wf_read_pointer(&wf_fastpath_shared_world);
    const struct wf_comm *c;

    if (wf_unlikely((count | tag) < 0 || !wf_type_contig_size(datatype) ||
                    wf_fastpath_lacks_buffer(buf, count)))
        return NULL;
    if (wf_likely(h == MPI_COMM_WORLD))
        c = shared ? shared : wf_read_pointer(&wf_fastpath_world);
    else
        c = (shared || wf_fastpath_is_open()) && wf_is_object(h, WF_KIND_COMM)
                ? (const struct wf_comm *)h
                : NULL;
    return wf_likely(c && c->wf) ? c : NULL; /* not wf_comm_without_contacts */
}

/* Receive and wait. False: take the slow path. *rc: the result, not raised
 * yet. */
static inline __attribute__((always_inline)) bool
wf_fastpath_recv(const struct wf_comm *c, void *buf, MPI_Count count,
                 MPI_Datatype datatype, int source, int tag, MPI_Status *status,
                 int *rc)
{
    struct weft_loc *from = wf_contact_of(c, source);
    uint64_t mask, size;

    if (wf_unlikely(!from))
        return false;
    mask = wf_match_mask(source, tag);
    size = wf_type_contig_size(datatype);
    if (wf_unlikely(count < 0 || count > INT_MAX || !size ||
                    (tag < 0 && (tag != MPI_ANY_TAG || c->asserts)) ||
                    wf_fastpath_lacks_buffer(buf, count)))
        return false;
    return wf_receive_fast(
        (struct wf_comm *)c, from,
        &(struct wf_expected){.env0 = c->recv_env0,
                              .env1 = wf_env1((uint32_t)source, (uint32_t)tag) &
                                      mask,
                              .mask = mask,
                              .buf = buf,
                              .bytes = (uint64_t)count * size,
                              .comm = (struct wf_comm *)c},
        status, rc);
}

/* Start a receive. False: take the slow path. */
static inline __attribute__((always_inline)) bool
wf_fastpath_irecv(const struct wf_comm *c, void *buf, MPI_Count count,
                  MPI_Datatype datatype, int source, int tag,
                  MPI_Request *request, int *rc)
{
    struct weft_loc *from = wf_contact_of(c, source);
    uint64_t size = wf_type_contig_size(datatype);

    *rc = 0;
    if (wf_unlikely(!from && (source != MPI_ANY_SOURCE || !c->wf || c->freed ||
                              c->asserts)))
        return false;
    if (wf_unlikely(count < 0 || count > INT_MAX || !size ||
                    (tag < 0 && (tag != MPI_ANY_TAG || c->asserts)) ||
                    wf_fastpath_lacks_buffer(buf, count) || !request))
        return false;
    return wf_fastpath_post_receive((struct wf_comm *)c, from,
                                    wf_env1((uint32_t)source, (uint32_t)tag),
                                    buf, (uint64_t)count * size, request);
}

/* Take the outcome of a request that is done and needs no more work. False:
 * nothing has happened. */
static inline bool wf_fastpath_finish_done(struct wf_req *r,
                                           MPI_Request *request,
                                           MPI_Status *status)
{
    if (wf_req_is_simple(r) && !(WF_BRIEF && wf_p2p_of(r)->home))
        wf_p2p_recycle(wf_p2p_of(r));
    else if (r->type != WF_REQ_NOOP)
        return false;
    *request = MPI_REQUEST_NULL;
    if (status != MPI_STATUS_IGNORE)
        wf_status_set(status, r->source, r->tag, r->bytes, false);
    return true;
}

/* Take the outcome of a request if it is done and needs no more work. */
static inline bool wf_fastpath_finish(MPI_Request *request, MPI_Status *status)
{
    struct wf_req *r = wf_req_of(*request);

    return wf_likely(r && wf_req_done(r)) &&
           wf_fastpath_finish_done(r, request, status);
}

/* Finish the requests of an array from `first` on, as far as they are done.
 * Returns how many. Inside the section. */
static inline int wf_fastpath_finish_row(int first, int count,
                                         MPI_Request *requests,
                                         MPI_Status *statuses)
{
    int i = first;

    while (i < count &&
           wf_fastpath_finish(&requests[i], wf_status_at(statuses, i)))
        i++;
    return i - first;
}

/* Wait for a request. False: take the slow path. */
static inline bool wf_fastpath_wait(MPI_Request *request, MPI_Status *status,
                                    int *rc)
{
    struct wf_req *r;

    *rc = 0;
    if (wf_unlikely(!request))
        return false;
    r = wf_req_of(*request);
    if (wf_unlikely(!r || (r->wf->api.on && !wf_fastpath_is_open())))
        return false;
    if (!wf_req_done(r))
        wf_req_poll_briefly(r);
    return wf_fastpath_finish(request, status);
}

/* Wait for a request inside the section. False: take the slow path. */
static inline bool wf_fastpath_wait_inside(struct wf_instance *wf,
                                           MPI_Request *request,
                                           MPI_Status *status, int *rc)
{
    struct wf_req *r = wf_req_of(*request);

    *rc = 0;
    if (!wf_req_done(r)) {
        if (wf_progress_is_only_thread(wf))
            wf_req_poll_briefly(r);
        if (!wf_req_done(r))
            return false;
    }
    return wf_fastpath_finish_done(r, request, status) ||
           wf_req_take(request, status);
}

/* Start a send. *request is complete, or that of the slow path. */
static inline __attribute__((always_inline)) int
wf_fastpath_isend(const struct wf_fastpath_args *s, const void *buf, int dest,
                  int tag, int large, MPI_Request *request)
{
    int rc;

    *request = (MPI_Request)&s->comm->wf->engine->sent;
    rc = wf_fastpath_send(s, buf, dest, tag, large | WF_CALLER_REQUEST);
    if (wf_likely(rc != WF_FASTPATH_QUEUED))
        return rc;
    *request = (MPI_Request)s->loc->queued_request;
    return 0;
}

#endif
