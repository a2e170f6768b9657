/* This file derives a communicator from another: see derive.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/derive.h"

#include <stdlib.h>

#include "comm/context.h"
#include "comm/engines.h"
#include "core_api.h"
#include "datatype/predefined.h"
#include "group/comm.h"
#include "object/attr.h"
#include "object/env.h"
#include "object/error.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/wait.h"
#include "protocol/comm_route.h"
#include "protocol/death.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/queues.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "route/links.h"

/* The state of one derivation, owned by its request, or by a call that waits:
 * that has no request if there is no memory for one, while others wait for this
 * member. */
struct derivation {
    struct wf_context_alloc alloc;
    struct wf_comm *result;
    struct wf_req *req; /* or NULL */
    int error;          /* MPI error class, without a request; then */
    bool over;
    uint32_t own_hint;
    bool *exhausted; /* of the plan */
    int *channel;    /* of the plan */
};

static uint64_t key_of(const struct wf_comm *comm, int tag)
{
    return (uint64_t)comm->context << 32 | (uint32_t)tag;
}

void wf_derive_init_plan(struct wf_derive_plan *p, struct wf_comm *parent)
{
    memset(p, 0, sizeof *p);
    p->parent = parent;
    p->inter = parent->inter;
    p->hint = &parent->context_hint;
    wf_agree_init_scope(&p->scope, parent);
    p->key = key_of(parent, parent->inter ? p->scope.bridge_tag : p->scope.tag);
}

/* Gives the new communicator its ids and its engine. Nothing else refers to it
 * yet. */
static void use_ids(struct wf_comm *comm, const struct wf_context_alloc *c)
{
    comm->wf = wf_engine(comm->wf, c->engine);
    comm->losses_checked =
        0; /* the other engine has its own record of the dead */
    wf_comm_set_context(comm, c->id[0], c->id[0]);
    if (!comm->inter)
        return;
    comm->local_comm->wf = comm->wf;
    comm->local_comm->losses_checked = 0;
    wf_comm_set_context(comm->local_comm, c->id[1], c->id[1]);
}

/* Releases the ids: a member without a result does not use them. */
static void release_ids(struct wf_context_alloc *c)
{
    for (unsigned i = 0; i < c->count; i++)
        wf_context_release(c->scope.comm->wf, c->id[i]);
}

/* Keeps the channel that the members have agreed on, and no other. */
static void keep_channel(struct derivation *d, int error)
{
    const struct wf_context_alloc *c = &d->alloc;
    uint32_t kept = error || c->channel < 0 ? 0 : 1u << c->channel;

    wf_channels_give_back(c->scope.comm->wf, c->channels & ~kept);
    if (d->channel)
        *d->channel = kept ? c->channel : -1;
}

static void finish_derivation(struct wf_context_alloc *c, int error)
{
    struct derivation *d = c->arg;
    keep_channel(d, error);
    /* an error of this member in the last step has reached one other */
    if (c->began && c->agree.error && d->result)
        wf_comm_tell_unmade(d->result);
    if (!error && d->result)
        use_ids(d->result, c);
    else if (!error)
        release_ids(c);
    if (d->exhausted)
        *d->exhausted = c->exhausted;
    if (d->req) {
        wf_req_complete(d->req, wf_error_status(error));
        return;
    }
    d->error = error;
    d->over = true;
}

static int free_derivation(struct wf_req *r)
{
    free(r->context);
    return MPI_SUCCESS;
}

/* Returns how many engines the communicator may be dealt to: processes of other
 * jobs are met by the first one only. */
static unsigned choose_engines(const struct wf_derive_plan *p)
{
    return (p->result && wf_comm_has_others(p->result)) ||
                   wf_comm_has_others(p->parent)
               ? 1
               : wf_engines_ensure(p->parent->wf);
}

static struct wf_req *create_request(struct wf_comm *parent)
{
    struct wf_req *r = wf_req_create(parent->wf, WF_REQ_SCHEDULE, parent,
                                     "collective operation");

    if (r) {
        r->source = MPI_ANY_SOURCE; /* the empty status */
        r->tag = MPI_ANY_TAG;
    }
    return r;
}

/* Begins a derivation, all of which is 0 but its request. */
static void begin_derivation(struct derivation *d,
                             const struct wf_derive_plan *p)
{
    struct wf_comm *parent = p->parent;

    d->result = p->result;
    if (p->result)
        p->result->origin = wf_comm_make_origin(p->result, parent, p->key);
    d->own_hint = wf_context_first_word((uint32_t)(p->key ^ p->key >> 32));
    d->alloc.scope = p->scope;
    d->alloc.key = p->key;
    d->alloc.count = p->inter ? 2 : 1;
    d->alloc.hint = p->hint ? p->hint : &d->own_hint;
    d->alloc.failed = p->failed;
    d->exhausted = p->exhausted;
    d->alloc.engines = choose_engines(p);
    d->channel = p->channel;
    if (p->channel && !(p->result && wf_comm_has_others(p->result)))
        d->alloc.channels = wf_channels_offer(parent->wf);
    d->alloc.done = finish_derivation;
    d->alloc.arg = d;
    wf_context_start(&d->alloc);
}

int wf_derive_start(const struct wf_derive_plan *p, struct wf_req **req)
{
    struct derivation *d = calloc(1, sizeof *d);
    struct wf_req *r = create_request(p->parent);
    if (!d || !r) {
        free(d);
        if (r)
            wf_req_abandon(r);
        return wf_error(MPI_ERR_NO_MEM, "no memory for a request");
    }
    r->context = d;
    r->destroy = free_derivation;
    d->req = r;
    *req = r;
    begin_derivation(d, p);
    return MPI_SUCCESS;
}

static bool is_over(void *arg)
{
    return ((const struct derivation *)arg)->over;
}

/* Returns the class with which the agreement ends. */
static int await_derivation(const struct wf_derive_plan *p)
{
    struct derivation d = {.req = create_request(p->parent)};
    struct wf_req *r = d.req;

    begin_derivation(&d, p);
    if (r)
        return wf_error_class(wf_wait(&r, MPI_STATUS_IGNORE));
    wf_progress_wait(p->parent->wf, UINT32_MAX, is_over, &d, NULL);
    return d.error;
}

/* Records again why a member that was addressed has no route, if there is one:
 * the agreement has only kept the error class. */
static int record_no_route(const struct wf_comm *parent)
{
    struct wf_instance *wf = parent->wf;

    for (int i = 0; i < parent->peers->size; i++) {
        struct weft_loc *loc =
            wf_links_find(wf->links, wf_group_proc(parent->peers, i));
        if (loc && !loc->lanes && wf_location_connect(loc) < 0)
            return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

/* Records why the agreement failed: the engine's record only says that
 * something inside did. */
static int record_failure(const struct wf_comm *parent, int rc, bool exhausted)
{
    const struct weft_loc *loc = wf_any_failed(parent);

    if (rc == MPI_ERR_NOT_SAME)
        return wf_error(rc, "another process of the communicator failed in "
                            "this call");
    if (rc == MPI_ERR_PROC_ABORTED && !loc)
        return wf_error(rc, "a process that takes part is gone");
    if (exhausted)
        return wf_error(rc, "all context ids are in use: free communicators "
                            "that are no longer needed");
    if (rc == MPI_ERR_NO_MEM)
        return wf_error(rc, "no memory to agree on a context id");
    if (!loc && record_no_route(parent))
        return rc;
    if (!loc)
        return wf_error(rc, "the processes could not agree on a context id "
                            "because the communication among them failed");
    return wf_error(wf_error_class(wf_location_status(loc)),
                    "the processes could not agree on a context id: process %u "
                    "on %s %s: %s",
                    loc->id, loc->host ? loc->host : "unknown host",
                    wf_location_down_verb(loc), wf_location_down_text(loc));
}

void wf_derive_discard(struct wf_comm *comm)
{
    wf_attr_delete_all(comm->wf, WF_KIND_COMM, wf_comm_handle(comm),
                       &comm->attrs);
    wf_comm_put(comm);
}

int wf_derive_run(const struct wf_derive_plan *p, int rc, MPI_Comm *newcomm)
{
    struct wf_error_record cause = *wf_error_last();
    struct wf_derive_plan plan = *p;
    bool exhausted = false;
    int agreement = rc;
    plan.exhausted = &exhausted;
    if (rc == MPI_ERR_NO_MEM) /* log before another process aborts the job */
        wf_log(p->parent->wf, WF_LOG_WARN, "no communicator: %s",
               cause.text[0] ? cause.text : "out of memory");
    /* when a process is dead each member ends by itself, and waits for none */
    if (rc != MPI_ERR_PROC_ABORTED)
        agreement = await_derivation(&plan);
    *newcomm = MPI_COMM_NULL;
    if (agreement == MPI_SUCCESS && !p->failed) {
        if (p->result)
            *newcomm = wf_comm_handle(p->result);
        return MPI_SUCCESS;
    }
    if (p->result)
        wf_derive_discard(p->result);
    if (rc == MPI_SUCCESS)
        return record_failure(p->parent, agreement, exhausted);
    if (wf_error_class(cause.status) == rc && cause.text[0])
        wf_error(rc, "%s", cause.text);
    return rc;
}

int wf_derive_create_private(struct wf_comm *over, enum wf_route_kind kind,
                             int rc, struct wf_comm **out)
{
    struct wf_derive_plan plan;
    MPI_Comm handle;

    wf_derive_init_plan(&plan, over);
    wf_group_get(over->local);
    plan.result = wf_comm_create(over->wf, over->local, NULL, WF_CONTEXT_NONE,
                                 WF_CONTEXT_NONE);
    if (plan.result)
        wf_comm_route_give_kind(plan.result, over, kind);
    else if (rc == MPI_SUCCESS)
        rc = MPI_ERR_NO_MEM;
    plan.failed = rc != MPI_SUCCESS;
    rc = wf_derive_run(&plan, rc, &handle);
    *out = rc == MPI_SUCCESS ? (struct wf_comm *)handle : NULL;
    return rc;
}

/* ---- words over the bridge ----------------------------------------------- */

enum { SWAP_WORDS_MAX = 4 /* per process: more is a mistake */ };

/* Returns how many processes are known: of the own job, and of others. */
static uint32_t count_known(const struct wf_rank *rank)
{
    uint32_t n = 0;

    for (const struct wf_job *job = &rank->job; job; job = job->next)
        n += job->size;
    return n;
}

/* wf_req.lost of a message between leaders. */
static bool is_message_lost(const struct wf_req *r)
{
    return wf_agree_bridge_has_dead(r->context);
}

static int await_words(const struct wf_agree_scope *s, struct wf_req *r)
{
    return wf_error_class(
        wf_wait_unless_lost(r, is_message_lost, s, MPI_STATUS_IGNORE));
}

int wf_bridge_swap(const struct wf_agree_scope *s, struct wf_type *type,
                   const void *mine, size_t n, void *theirs, size_t their_n)
{
    struct wf_req *in, *out;
    int rc, sent;
    if (wf_agree_bridge_has_dead(s))
        return wf_error(MPI_ERR_PROC_ABORTED, "a process that takes part is "
                                              "gone");
    rc = wf_error_class(wf_irecv(s->bridge, theirs, their_n, type,
                                 s->bridge_rank, s->bridge_tag, s->bridge_space,
                                 &in));
    if (rc != MPI_SUCCESS)
        return rc;
    sent = wf_error_class(wf_isend(s->bridge, mine, n, type, s->bridge_rank,
                                   s->bridge_tag, s->bridge_space,
                                   WF_SEND_STANDARD, &out));
    if (sent != MPI_SUCCESS) {
        wf_req_withdraw(in);
        return sent;
    }
    sent = await_words(s, out);
    rc = await_words(s, in);
    return rc ? rc : sent;
}

/* Runs inside the section of the bridge's engine. */
static int swap_over_bridge(const struct wf_agree_scope *s,
                            const uint32_t *mine, uint32_t n, uint32_t **theirs,
                            uint32_t *their_n)
{
    struct wf_type *word = wf_type_of(MPI_UINT32_T);
    int rc = wf_bridge_swap(s, word, &n, 1, their_n, 1);
    if (rc != MPI_SUCCESS)
        return rc;
    if (*their_n / SWAP_WORDS_MAX > count_known(s->bridge->wf->rank))
        return wf_error(MPI_ERR_INTERN, "the remote leader announced %u words",
                        *their_n);
    *theirs = malloc(((size_t)*their_n + 1) * sizeof **theirs);
    if (!*theirs)
        return wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
    rc = wf_bridge_swap(s, word, mine, n, *theirs, *their_n);
    if (rc != MPI_SUCCESS)
        free(*theirs);
    return rc;
}

static int swap_between_leaders(const struct wf_agree_scope *s,
                                const uint32_t *mine, uint32_t n,
                                uint32_t **theirs, uint32_t *their_n)
{
    wf_engine_switch(s->comm->wf, s->bridge->wf);
    int rc = swap_over_bridge(s, mine, n, theirs, their_n);
    wf_engine_switch(s->bridge->wf, s->comm->wf);
    return rc;
}

int wf_bridge_exchange_words(const struct wf_agree_scope *s,
                             const uint32_t *mine, uint32_t n,
                             uint32_t **theirs, uint32_t *their_n)
{
    struct wf_instance *wf = s->comm->wf;
    struct wf_type *word = wf_type_of(MPI_UINT32_T);
    bool leader = s->me == s->leader;
    int rc = MPI_SUCCESS;
    uint32_t head[2] = {0, 0}; /* error class, number of words */
    if (leader)
        rc = swap_between_leaders(s, mine, n, theirs, their_n);
    if (leader) {
        head[0] = (uint32_t)rc;
        head[1] = rc == MPI_SUCCESS ? *their_n : 0;
    }
    int rc2 = wf_mpi_bcast(wf, head, 2, word, s->leader, s->comm);
    if (rc != MPI_SUCCESS)
        return rc;
    if (rc2 == MPI_SUCCESS && head[0] != MPI_SUCCESS)
        rc2 = wf_error((int)head[0],
                       "rank %d of the local group could not "
                       "talk to the remote leader",
                       s->leader);
    if (rc2 == MPI_SUCCESS && !leader) {
        *their_n = head[1];
        *theirs = malloc(((size_t)head[1] + 1) * sizeof **theirs);
        if (!*theirs)
            return wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
    }
    if (rc2 == MPI_SUCCESS)
        rc2 = wf_mpi_bcast(wf, *theirs, *their_n, word, s->leader, s->comm);
    else if (leader)
        free(*theirs);
    return rc2;
}
