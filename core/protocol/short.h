/* The short path: a small message from the binding to the plugin.
 *
 *   MPI_Send --> wf_short_send --> weft_ops.send_words         all inline
 *                  | a test fails
 *                  +--> the rest of the binding: checks, errors, every case
 *
 * DESIGN  The tests do not ask what is wrong, only whether everything is as
 * usual: a predefined contiguous type, a peer that this communicator has talked
 * to, an open lane, credit left. Any other call, a wrong one included, begins
 * again on the long way, which knows all cases and names all mistakes. So this
 * path has no message to print and nothing to clean up.
 *
 * At MPI_THREAD_MULTIPLE it is open as long as the process has one thread. Then
 * it is closed, and there is another attempt between it and the long way: a thread
 * towards which the section is biased (os/mutex.h) enters by two stores, does the
 * same, and leaves by one; so does one that left it open. Any other thread takes
 * the long way and waits for its turn. An attempt that fails inside leaves that to
 * the long way, too (wf_cs_debt): no function is called for whose sake the
 * arguments would have to be kept.
 *
 * Why it is so short: one table per communicator (comm/contact.c) replaces
 * group, Location table and range check; one number per Location (short_end)
 * stands for everything that can be in the way; the header travels in
 * registers; and the call of the plugin is the last thing, so nothing is kept
 * for afterwards. A plugin without room hands the message back (wf_short_late),
 * and the Location says on whose behalf it was.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHORT_H
#define WF_SHORT_H

#include <limits.h>

#include "comm/comm.h"
#include "datatype/predefined.h"
#include "progress/progress.h"
#include "protocol/queues.h"

/* MPI_COMM_WORLD for this path; without an instance one that has no contacts. */
extern const struct wf_comm *wf_short_world WF_HIDDEN;
/* Not 0: there is such a path, which is an instance, and no lock to take. At
 * MPI_THREAD_MULTIPLE this is what says that there is one thread (os/single.h). */
extern const char *_Atomic wf_short_gate WF_HIDDEN;
/* The world where there is something to enter, now or when a second thread comes;
 * NULL: there is no such instance. */
extern const struct wf_comm *wf_short_shared WF_HIDDEN;
/* After the instance of the process, its world or its threads have changed. */
void wf_short_update(struct wf_instance *);

/* A message that the plugin hands back goes the long way, on behalf of
 * loc->late: nobody, who asks again himself, or a communicator, with these added
 * if the function is a large-count one or has a request. Returns what that function
 * does, or WF_LATE_QUEUED: the request is in loc->late_request. */
int wf_short_late(struct weft_core *, struct weft_loc *, uint64_t h0,
                  uint64_t h1, uint64_t h2, const void *data);
enum {
    WF_LATE_LARGE = 1,
    WF_LATE_REQUEST = 2,
    WF_LATE_INSIDE = 4, /* it has entered the section */
    WF_LATE_QUEUED = INT_MIN
};

/* Post a receive of bytes from a contact, or from anybody (NULL). false: take the
 * long way. */
bool wf_short_post(struct wf_comm *, struct weft_loc *from, uint64_t env1,
                   void *buf, uint64_t bytes, MPI_Request *);

static inline bool wf_short_open(void)
{
    return *wf_load_relaxed(&wf_short_gate) != 0;
}

/* Where it is open. */
static inline const struct wf_comm *wf_short_comm(MPI_Comm h)
{
    if (wf_likely(h == MPI_COMM_WORLD))
        return wf_short_world;
    return wf_is_object(h, WF_KIND_COMM) ? (const struct wf_comm *)h
                                         : &wf_comm_nobody;
}

/* The same in a thread that is a rank. */
static inline const struct wf_comm *wf_short_thread_comm(MPI_Comm h)
{
    struct wf_instance *wf = wf_thread_instance;

    if (!wf || wf_cs_to_enter(&wf->api))
        return &wf_comm_nobody;
    if (wf_likely(h == MPI_COMM_WORLD))
        return wf->world ? wf->world : &wf_comm_nobody;
    return wf_is_object(h, WF_KIND_COMM) ? (const struct wf_comm *)h
                                         : &wf_comm_nobody;
}

/* ---- inside the section, by who was there last --------------------------- */

/* Enter the engine (engines.h) of this communicator: the communicator. NULL: take
 * the long way. */
static inline const struct wf_comm *wf_short_enter(MPI_Comm h) WF_UNANALYSED
{
    const struct wf_comm *c = wf_short_shared;

    if (wf_unlikely(!c))
        return NULL;
    if (wf_unlikely(h != MPI_COMM_WORLD)) {
        if (!wf_is_object(h, WF_KIND_COMM))
            return NULL;
        c = (const struct wf_comm *)h;
    }
    return wf_likely(c->wf && wf_cs_take_again(&c->wf->api)) ? c : NULL;
}

/* The same of a request: its engine. */
static inline struct wf_instance *
wf_short_enter_request(MPI_Request *request) WF_UNANALYSED
{
    struct wf_req *r;

    if (wf_unlikely(!wf_short_shared || !request))
        return NULL;
    r = wf_req_of(*request);
    return wf_likely(r && wf_cs_take_again(&r->wf->api)) ? r->wf : NULL;
}

static inline void wf_short_leave(struct wf_instance *wf) WF_UNANALYSED
{
    wf_cs_give(&wf->api);
}

/* The long way begins by leaving. */
static inline void wf_short_owe(struct wf_instance *wf) WF_UNANALYSED
{
    wf_cs_debt.inside = &wf->api;
}

/* The credit that is left when n bytes leave now, by copy; negative: they may
 * not. */
static inline int64_t wf_short_left(const struct weft_loc *loc, uint64_t n)
{
    return n < loc->short_end
               ? loc->credit - (int64_t)n - WF_MESSAGE_OVERHEAD
               : -1;
}

/* On whose behalf the next message goes: that of the last one, mostly. */
static inline void wf_short_behalf(struct weft_loc *loc, uintptr_t who)
{
    if (wf_unlikely(loc->late != who))
        loc->late = who;
}

/* The bookkeeping and the call: WEFT_OK, or the result of wf_short_late. */
static inline int wf_short_put(struct weft_loc *loc, int64_t left,
                               const void *data, uint64_t n, uint64_t env0,
                               uint64_t env1)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    loc->credit = left;
    l->seq++;
    return l->send_words(data, WF_SHORT_EAGER | n << 32, l->peer, env0, env1);
}

/* MPI_BOTTOM and the like; but nothing is as well sent from NULL. */
static inline bool wf_short_no_buffer(const void *buf, MPI_Count count)
{
    return wf_unlikely((uintptr_t)buf <= 2) && (buf || count);
}

/* What a call asks for, when it asks for the usual. */
struct wf_short {
    const struct wf_comm *comm;
    struct weft_loc *loc;
    uint64_t n;
    int64_t left;
};

/* false: take the long way. */
static inline __attribute__((always_inline)) bool
wf_short_may(struct wf_short *s, const struct wf_comm *comm, const void *buf,
             MPI_Count count, MPI_Datatype datatype, int dest, int tag)
{
    uint64_t size;

    if (wf_unlikely((count | tag) < 0 || count > INT_MAX))
        return false;
    s->comm = comm;
    s->loc = wf_contact(s->comm, dest);
    if (wf_unlikely(!s->loc || wf_short_no_buffer(buf, count)))
        return false;
    size = wf_type_short_size(datatype);
    s->n = (uint64_t)count * size;
    if (wf_unlikely(!size))
        return false;
    s->left = wf_short_left(s->loc, s->n);
    return wf_likely(s->left >= 0);
}

/* MPI_SUCCESS, or what the long way returned when there was no room. */
static inline __attribute__((always_inline)) int
wf_short_send(const struct wf_short *s, const void *buf, int dest, int tag,
              int flags)
{
    wf_short_behalf(s->loc, (uintptr_t)s->comm + (uintptr_t)flags);
    return wf_short_put(s->loc, s->left, buf, s->n,
                        s->comm->send_env0 | (uint32_t)dest,
                        s->comm->send_env1 | (uint32_t)tag);
}

/* A send to MPI_PROC_NULL in which nothing is wrong: its communicator. NULL: take
 * the long way. Nothing of the engine is looked at, so in no section. */
static inline const struct wf_comm *
wf_short_nowhere(MPI_Comm h, const void *buf, MPI_Count count,
                 MPI_Datatype datatype, int tag)
{
    const struct wf_comm *shared = wf_short_shared, *c;

    if (wf_unlikely((count | tag) < 0 || !wf_type_short_size(datatype) ||
                    wf_short_no_buffer(buf, count)))
        return NULL;
    if (wf_likely(h == MPI_COMM_WORLD))
        c = shared ? shared : wf_short_world;
    else
        c = (shared || wf_short_open()) && wf_is_object(h, WF_KIND_COMM)
                ? (const struct wf_comm *)h
                : NULL;
    return wf_likely(c && c->wf) ? c : NULL; /* not wf_comm_nobody */
}

/* false: take the long way. *rc: the result, not raised yet. */
static inline __attribute__((always_inline)) bool
wf_short_recv(const struct wf_comm *c, void *buf, MPI_Count count,
              MPI_Datatype datatype, int source, int tag, MPI_Status *status,
              int *rc)
{
    struct weft_loc *from = wf_contact(c, source);
    uint64_t mask, size;

    if (wf_unlikely(!from))
        return false;
    mask = wf_match_mask(source, tag);
    size = wf_type_short_size(datatype);
    if (wf_unlikely(count < 0 || count > INT_MAX || !size ||
                    (tag < 0 && (tag != MPI_ANY_TAG || c->asserts)) ||
                    wf_short_no_buffer(buf, count)))
        return false;
    return wf_receive_short(
        (struct wf_comm *)c, from,
        &(struct wf_expected){
            .env0 = c->recv_env0,
            .env1 = wf_env1((uint32_t)source, (uint32_t)tag) & mask,
            .mask = mask,
            .buf = buf,
            .bytes = (uint64_t)count * size,
            .comm = (struct wf_comm *)c},
        status, rc);
}

/* false: take the long way. */
static inline __attribute__((always_inline)) bool
wf_short_irecv(const struct wf_comm *c, void *buf, MPI_Count count,
               MPI_Datatype datatype, int source, int tag,
               MPI_Request *request, int *rc)
{
    struct weft_loc *from = wf_contact(c, source);
    uint64_t size = wf_type_short_size(datatype);

    *rc = MPI_SUCCESS;
    if (wf_unlikely(!from && (source != MPI_ANY_SOURCE || !c->wf || c->freed ||
                              c->asserts)))
        return false;
    if (wf_unlikely(count < 0 || count > INT_MAX || !size ||
                    (tag < 0 && (tag != MPI_ANY_TAG || c->asserts)) ||
                    wf_short_no_buffer(buf, count) || !request))
        return false;
    return wf_short_post((struct wf_comm *)c, from,
                         wf_env1((uint32_t)source, (uint32_t)tag), buf,
                         (uint64_t)count * size, request);
}

/* Take the outcome of a request that is done and has nothing special about it.
 * false: nothing has happened. */
static inline bool wf_short_finish_done(struct wf_req *r, MPI_Request *request,
                                        MPI_Status *status)
{
    if (wf_req_simple(r))
        wf_p2p_recycle(wf_p2p_of(r));
    else if (r->type != WF_REQ_NOOP)
        return false;
    *request = MPI_REQUEST_NULL;
    if (status != MPI_STATUS_IGNORE)
        wf_status_set(status, r->source, r->tag, r->bytes, false);
    return true;
}

static inline bool wf_short_finish(MPI_Request *request, MPI_Status *status)
{
    struct wf_req *r = wf_req_of(*request);

    return wf_likely(r && wf_req_done(r)) &&
           wf_short_finish_done(r, request, status);
}

/* false: take the long way. */
static inline bool wf_short_wait(MPI_Request *request, MPI_Status *status,
                                 int *rc)
{
    struct wf_req *r;

    *rc = MPI_SUCCESS;
    if (wf_unlikely(!request))
        return false;
    r = wf_req_of(*request);
    if (wf_unlikely(!r || (r->wf->api.on && (WF_BRIEF || !wf_short_open()))))
        return false;
    if (!wf_req_done(r))
        wf_req_spin(r);
    return wf_short_finish(request, status);
}

/* The same inside the section. */
static inline bool wf_short_wait_inside(struct wf_instance *wf,
                                        MPI_Request *request,
                                        MPI_Status *status, int *rc)
{
    struct wf_req *r = wf_req_of(*request);

    *rc = MPI_SUCCESS;
    if (!wf_req_done(r)) {
        if (wf_progress_sole(wf))
            wf_req_spin(r);
        if (!wf_req_done(r))
            return false;
    }
    return wf_req_take(request, status) ||
           wf_short_finish_done(r, request, status);
}

/* The same; *request is complete, or the one of the long way. */
static inline __attribute__((always_inline)) int
wf_short_isend(const struct wf_short *s, const void *buf, int dest, int tag,
               int large, MPI_Request *request)
{
    int rc;

    *request = (MPI_Request)&s->comm->wf->engine->sent;
    rc = wf_short_send(s, buf, dest, tag, large | WF_LATE_REQUEST);
    if (wf_likely(rc != WF_LATE_QUEUED))
        return rc;
    *request = (MPI_Request)s->loc->late_request;
    return MPI_SUCCESS;
}

#endif
