/* Running schedules.
 *
 *   start -> ready queue -> begin_vertex -> complete at once -----+
 *                                |                                v
 *                                +-> in flight -> complete -> finish_vertex
 *                                                                 |
 *            ready queue <------ releases of followers and edges -+
 *
 * A blocking run drains the ready queue in the waiting thread, outside every
 * progress call: user operations, which run without the API section, then never
 * have a plugin's frame below them. Nonblocking runs drain it where the
 * completion happens; with user operations and threads, at the end of the poll.
 *
 * A user operation leaves the API section while `running` is set: a thread that
 * completes a vertex meanwhile only queues what became ready.
 *
 * ERRORS  After the first failure nothing is computed any more, but the
 * messages go on, because other ranks wait for them: receives are received,
 * sends go without their bytes. A rank that gets less than it expects knows
 * that something is wrong, and fails in the same way; so no rank hangs, and a
 * failure reaches all that it concerns. Counts that differ between processes
 * are found like this too.
 *
 * It is different when a member of the communicator, or the way to it, is gone:
 * every member is told (protocol/death.c), and ends by itself. Then messages
 * that wait are ended, and none begin, so that no rank takes one without its
 * bytes for another mistake.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/run.h"

#include "coll/lengths.h"
#include "coll/vertex.h"
#include "group/describe_wait.h"
#include "object/error.h"
#include "os/shortage.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"

static void advance_schedule(struct wf_sched *);

/* ---- the ready queue ----------------------------------------------------- */

static void push_ready(struct wf_sched *s, int32_t number)
{
    WF_ASSERT(number >= 0 && number < s->vertices && s->v[number].wait == 0);
    s->v[number].next = -1;
    if (s->head < 0)
        s->head = number;
    else
        s->v[s->tail].next = number;
    s->tail = number;
}

static struct wf_vertex *pop_ready(struct wf_sched *s)
{
    WF_ASSERT(s->head >= 0 && s->head < s->vertices);
    struct wf_vertex *v = &s->v[s->head];

    s->head = v->next;
    return v;
}

static void release_vertex(struct wf_sched *s, int32_t number)
{
    WF_ASSERT(s->v[number].wait > 0);
    if (--s->v[number].wait == 0)
        push_ready(s, number);
}

/* ---- one vertex ---------------------------------------------------------- */

static bool is_finished(const struct wf_sched *s)
{
    return s->left == 0;
}

static void finish_vertex(struct wf_vertex *v, int error)
{
    struct wf_sched *s = v->sched;

    if (error && !s->error)
        s->error = error;
    WF_ASSERT(s->left > 0 && s->left <= s->vertices);
    s->left--;
    for (int32_t e = v->out; e >= 0; e = s->e[e].next)
        release_vertex(s, s->e[e].to);
}

/* Returns an address that no other thread has. */
static const void *thread_address(void)
{
    static _Thread_local char here;
    return &here;
}

/* Wakes the thread of a blocking run, which need not be the one that made
 * progress. */
static void wake_waiter(struct wf_sched *s)
{
    s->runnable = true;
    if (wf_cs_uses_lock(&s->wf->api) && s->waiter != thread_address())
        wf_progress_wake_leader(s->wf);
}

static int run_deferred_schedules(struct wf_instance *wf)
{
    struct wf_list *all = &wf->progress->deferred;
    int n = 0;

    for (; !wf_list_empty(all); n++) {
        struct wf_sched *s = wf_container(all->next, struct wf_sched, deferred);

        wf_list_remove(&s->deferred);
        advance_schedule(s);
    }
    wf->progress->run_deferred = NULL;
    return n;
}

/* Defers a schedule with a user operation to the end of the poll. The operation
 * would leave the API section with a plugin's progress below it, and another
 * thread would enter that plugin again. */
static void defer_schedule(struct wf_sched *s)
{
    struct wf_progress *p = s->wf->progress;

    if (!wf_list_empty(&s->deferred) || !(s->req || s->ended))
        return;
    wf_list_append(&p->deferred, &s->deferred);
    p->run_deferred = run_deferred_schedules;
}

/* Returns the outcome of a message, with its cause recorded for the program's
 * communicator. The first cause of a collective stays recorded. */
static int message_outcome(const struct wf_vertex *v, struct wf_req *r)
{
    int error = wf_error_class(r->error);

    v->sched->cut |= r->flags & WF_REQ_LINK_LOST;
    if (!error && v->kind == WF_VERTEX_RECV && v->dst)
        *(uint64_t *)v->dst = r->bytes;
    if (wf_unlikely(v->sched->error))
        return v->sched->error;
    if (error)
        wf_req_error(r);
    else if (v->kind == WF_VERTEX_RECV && !v->dst)
        error = wf_sched_check_length(v->peer, r->bytes,
                                      v->count * (uint64_t)v->type->size);
    if (wf_unlikely(error))
        wf_error_last()->owner = &v->sched->comm->object;
    return error;
}

static void complete_vertex(struct wf_req *r)
{
    struct wf_vertex *v = r->context;
    struct wf_sched *s = v->sched;
    int error = message_outcome(v, r);

    WF_ASSERT(v->under_way && wf_req_done(r));
    v->under_way = false;
    wf_req_release(r);
    finish_vertex(v, error);
    if (!s->blocking && s->user_op && s->wf->api.on)
        defer_schedule(s);
    else if (!s->blocking)
        advance_schedule(s);
    else if (s->head >= 0 || is_finished(s))
        wake_waiter(s);
}

static bool is_vertex_lost(const struct wf_req *r)
{
    const struct wf_vertex *v = r->context;
    return wf_comm_is_dead(v->sched->comm);
}

static void track_request(struct wf_vertex *v, struct wf_req *r)
{
    int error;

    if (wf_req_done(r)) {
        error = message_outcome(v, r);
        wf_req_release(r);
        finish_vertex(v, error);
        return;
    }
    r->flags |= WF_REQ_INTERNAL;
    WF_ASSERT(!r->on_complete && !v->under_way);
    r->context = v;
    r->on_complete = complete_vertex;
    v->under_way = true;
    r->lost = is_vertex_lost;
    v->sched->endpoint_mask |= wf_req_endpoints(r);
}

/* Starts a message, and waits for memory for it: another member waits for the
 * message. */
static int start_message(const struct wf_sched *s, const struct wf_vertex *v,
                         struct wf_req **r)
{
    struct wf_comm *comm = v->local ? s->local : s->comm;
    int status, tag = v->local ? s->local_tag : s->tag;
    unsigned attempts = 0;

    do
        status =
            v->kind == WF_VERTEX_SEND
                ? wf_isend(comm, v->src, s->error ? 0 : v->count, v->type,
                           v->peer, tag, WF_SPACE_COLL, WF_SEND_STANDARD, r)
                : wf_irecv(comm, v->src, v->count, v->type, v->peer, tag,
                           WF_SPACE_COLL, r);
    while (wf_unlikely(status == WEFT_ENOMEM) && s->error != MPI_ERR_NO_MEM &&
           wf_shortage_wait(&attempts));
    return wf_error_class(status);
}

static void begin_message(struct wf_sched *s, struct wf_vertex *v)
{
    int32_t follower = v->follower;
    struct wf_req *r;
    int rc;

    if (v->kind == WF_VERTEX_SEND && v->dst) {
        const struct wf_sched_deferred_buf *what = v->dst;
        v->src = (void *)(uintptr_t)what->buf;
        v->count = what->bytes;
    }
    if (wf_unlikely(s->cut || s->error == MPI_ERR_PROC_ABORTED))
        rc = s->error;
    else if (wf_unlikely(wf_comm_is_dead(s->comm)))
        rc = s->error ? s->error : wf_error_class(wf_comm_record_dead(s->comm));
    else
        rc = start_message(s, v, &r);
    if (rc)
        finish_vertex(v, rc);
    else
        track_request(v, r);
    if (follower >= 0)
        release_vertex(s, follower);
}

static int compute_vertex(const struct wf_vertex *v)
{
    switch ((enum wf_vertex_kind)v->kind) {
    case WF_VERTEX_REDUCE:
        return wf_op_apply(v->sched->wf, v->op, v->src, v->dst, v->count,
                           v->type);
    case WF_VERTEX_COPY:
        return wf_sched_copy_now(
            (struct wf_sched_block){v->src, v->count, v->type},
            (struct wf_sched_block){v->dst, v->dcount, v->dtype});
    case WF_VERTEX_CALL:
        return v->fn(v->dst);
    default:
        return MPI_SUCCESS; /* a fence */
    }
}

static void begin_vertex(struct wf_sched *s, struct wf_vertex *v)
{
    if (v->kind == WF_VERTEX_SEND || v->kind == WF_VERTEX_RECV)
        begin_message(s, v);
    else
        finish_vertex(v, s->error ? MPI_SUCCESS : compute_vertex(v));
}

/* ---- the whole ----------------------------------------------------------- */

static void drain_ready_queue(struct wf_sched *s)
{
    WF_ASSERT(!s->running);
    s->running = true;
    while (s->head >= 0)
        begin_vertex(s, pop_ready(s));
    s->running = false;
}

/* Ends a schedule that is a part of a larger operation. */
static void end_part(struct wf_sched *s)
{
    void (*ended)(void *, int) = s->ended;
    void *arg = s->ended_arg;
    int error = s->error;

    wf_sched_destroy(s);
    ended(arg, error);
}

static void advance_schedule(struct wf_sched *s)
{
    struct wf_req *r;

    if (s->running)
        return;
    drain_ready_queue(s);
    if (!is_finished(s))
        return;
    WF_ASSERT(s->head < 0);
    /* While its user operation ran outside of the section, another thread may
     * have completed one of its messages. */
    wf_list_remove(&s->deferred);
    if (s->req) {
        r = s->req;
        s->req = NULL;
        wf_req_complete(r, wf_error_status(s->error));
    } else if (s->ended) {
        end_part(s);
    }
}

/* Prepares a run. Vertices without dependencies become ready in the order of
 * creation. */
static void prepare_run(struct wf_sched *s)
{
    WF_ASSERT(!s->running && wf_list_empty(&s->deferred));
    s->left = s->vertices;
    s->head = s->tail = -1;
    for (int i = 0; i < s->vertices; i++) {
        s->v[i].sched = s;
        s->v[i].wait = s->v[i].need;
        s->v[i].under_way = false;
        if (s->v[i].need == 0)
            push_ready(s, i);
    }
}

static int report_no_memory(struct wf_sched *s)
{
    wf_sched_destroy(s);
    return wf_error(MPI_ERR_NO_MEM, "out of memory for a collective operation");
}

static bool is_runnable(void *arg)
{
    struct wf_sched *s = arg;
    return s->runnable;
}

static void describe_wait(const void *arg, struct wf_wait *w)
{
    const struct wf_sched *s = arg;
    const struct wf_vertex *v = wf_sched_find_message(s);

    w->operation = WF_STATE_COLLECTIVE;
    wf_wait_set_comm(w, s->comm);
    w->number = (uint64_t)s->tag + 1;
    if (v)
        wf_wait_set_peer(w, s->comm, v->local, v->peer);
}

static void run_recorded(struct wf_sched *s)
{
    struct wf_wait_cause cause = {describe_wait, s};

    s->blocking = true;
    s->waiter = thread_address();
    prepare_run(s);
    drain_ready_queue(s);
    while (!is_finished(s)) {
        if (s->head < 0)
            wf_progress_wait(s->wf, s->endpoint_mask, is_runnable, s, &cause);
        s->runnable = false;
        drain_ready_queue(s);
    }
}

/* The section is off, or it is on for a progress thread only, which sleeps
 * elsewhere: the run may poll and wakes nobody. */
bool wf_sched_may_be_direct(const struct wf_sched *s)
{
    return !wf_cs_uses_lock(&s->wf->api) ||
           (!s->wf->rank->multiple && wf_progress_is_only_thread(s->wf));
}

void wf_sched_begin_direct(struct wf_sched *s)
{
    s->direct = wf_sched_may_be_direct(s) && !s->comm->inter && !s->error;
}

int wf_sched_run(struct wf_sched *s)
{
    int error;

    if (!s || s->no_memory)
        return report_no_memory(s);
    if (wf_unlikely(s->vertices))
        run_recorded(s);
    error = s->error;
    wf_sched_destroy(s);
    return error;
}

static int destroy_with_request(struct wf_req *r)
{
    struct wf_sched *s = r->context;

    s->req = NULL;
    wf_sched_destroy(s);
    return MPI_SUCCESS;
}

static int restart_request(struct wf_req *r)
{
    struct wf_sched *s = r->context;

    r->error = 0;
    s->cut = false;
    s->error = wf_sched_first_error(s);
    wf_store_relaxed(&r->done, 0);
    s->req = r;
    s->endpoint_mask = 0;
    prepare_run(s);
    advance_schedule(s);
    return MPI_SUCCESS;
}

static struct wf_req *make_request(struct wf_sched *s)
{
    struct wf_req *r =
        wf_req_create(s->wf, WF_REQ_SCHEDULE, s->comm, "collective operation");

    if (!r)
        return NULL;
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
    r->context = s;
    r->destroy = destroy_with_request;
    return r;
}

/* Completes the request of a schedule that was performed while it was built. */
static void complete_at_once(struct wf_sched *s, struct wf_req *r)
{
    int error = s->error;

    r->context = NULL;
    r->destroy = NULL;
    wf_sched_destroy(s);
    wf_req_complete(r, wf_error_status(error));
}

static void start_recorded(struct wf_sched *s, struct wf_req *r)
{
    s->req = r;
    prepare_run(s);
    advance_schedule(s);
}

int wf_sched_start(struct wf_sched *s, struct wf_req **out)
{
    struct wf_req *r = s && !s->no_memory ? make_request(s) : NULL;

    if (!r)
        return report_no_memory(s);
    *out = r;
    if (s->vertices == 0)
        complete_at_once(s, r);
    else
        start_recorded(s, r);
    return MPI_SUCCESS;
}

void wf_sched_start_part(struct wf_sched *s, void (*ended)(void *, int),
                         void *arg)
{
    if (!s || s->no_memory) {
        ended(arg, report_no_memory(s));
        return;
    }
    s->ended = ended;
    s->ended_arg = arg;
    if (s->vertices == 0) {
        end_part(s);
        return;
    }
    prepare_run(s);
    advance_schedule(s);
}

int wf_sched_make_persistent(struct wf_sched *s, struct wf_req **out)
{
    struct wf_req *r = s && !s->no_memory ? make_request(s) : NULL;

    if (!r)
        return report_no_memory(s);
    r->flags |= WF_REQ_PERSISTENT;
    r->start = restart_request;
    wf_store_relaxed(&r->done, 1); /* inactive */
    *out = r;
    return MPI_SUCCESS;
}
