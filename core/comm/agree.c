/* This file carries out agreements: see agree.h.
 *
 * A member that meets an error goes on with all bits cleared and takes every
 * step, so that no other member waits for a message that never comes. When a
 * member is dead, each of the others ends the agreement by itself
 * (protocol/death.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/agree.h"

#include "datatype/predefined.h"
#include "object/error_class.h"
#include "process/instance.h"
#include "progress/wait.h"
#include "protocol/death.h"
#include "protocol/receive.h"
#include "protocol/send.h"

enum { GROUP_BEFORE, BRIDGE, GROUP_AFTER, ENDED };

static bool run_steps(struct wf_agree *a);

static void record_error(struct wf_agree *a, int error)
{
    if (!a->error)
        a->error = error;
}

/* Takes over the error of a message that has ended. A lost connection to a
 * member ends the agreement as the member's death does, even if the error is
 * one of this process, such as a lack of memory: derive.c reports the cause. */
static void take_outcome(struct wf_agree *a, const struct wf_req *r)
{
    if (r->error)
        record_error(a, r->flags & WF_REQ_LINK_LOST ? MPI_ERR_PROC_ABORTED
                                                    : wf_error_class(r->error));
}

/* Both messages of a step have ended: merges the words that were received, and
 * moves on to the next step. */
static void finish_step(struct wf_agree *a)
{
    for (int i = 0; i < a->n; i++)
        a->value[i] = a->error ? 0 : a->value[i] & a->input[i];
    if (a->phase == BRIDGE)
        a->phase = GROUP_AFTER;
    else
        a->step++;
}

static void continue_agreement(struct wf_agree *a)
{
    finish_step(a);
    if (run_steps(a))
        a->resume(a);
}

static void return_from_bridge(struct wf_engine_task *e)
{
    continue_agreement(wf_container(e, struct wf_agree, task));
}

/* Both messages have ended, in the engine `here`: the agreement goes on in its
 * own. */
static void finish_exchange(struct wf_agree *a, struct wf_instance *here)
{
    if (here == a->wf) {
        continue_agreement(a);
        return;
    }
    a->task.run = return_from_bridge;
    wf_engine_task_post(a->wf, &a->task);
}

static void complete_message(struct wf_req *r)
{
    struct wf_agree *a = r->context;
    struct wf_instance *here = r->wf;
    take_outcome(a, r);
    wf_req_release(r);
    if (--a->pending == 0)
        finish_exchange(a, here);
}

/* ---- dead members ------------------------------------------------------ */

static bool is_group_dead(const struct wf_agree_scope *s)
{
    struct wf_comm *c = s->comm;

    if (!wf_comm_is_dead(c))
        return false;
    for (int i = 0; s->ranks && i < s->size; i++)
        if (wf_proc_is_dead(c->wf, wf_group_proc(c->local, s->ranks[i])))
            return true;
    return !s->ranks;
}

bool wf_agree_bridge_has_dead(const struct wf_agree_scope *s)
{
    return s->others ? wf_group_has_dead(s->bridge->wf, s->others)
                     : wf_comm_is_dead(s->bridge);
}

/* Runs in the engine of the group, which must not read the state of the
 * bridge's engine. */
bool wf_agree_has_dead(const struct wf_agree_scope *s)
{
    return is_group_dead(s) || (s->result && wf_comm_is_dead(s->result)) ||
           (s->bridge && s->bridge->wf == s->comm->wf && s->me == s->leader &&
            wf_agree_bridge_has_dead(s));
}

static bool is_message_lost(const struct wf_req *r)
{
    const struct wf_agree *a = r->context;

    return r->wf == a->wf ? wf_agree_has_dead(a->scope)
                          : wf_agree_bridge_has_dead(a->scope);
}

/* Tracks a message whose start returned rc, until it ends. */
static void track_message(struct wf_agree *a, int rc, struct wf_req *r)
{
    if (rc != MPI_SUCCESS) {
        record_error(a, rc);
    } else if (wf_req_done(r)) {
        take_outcome(a, r);
        wf_req_release(r);
    } else {
        r->flags |= WF_REQ_INTERNAL;
        r->on_complete = complete_message;
        r->lost = is_message_lost;
        r->context = a;
        a->pending++;
    }
}

/* The messages of a step: one is sent to `to`, one received from `from`. */
struct peers {
    struct wf_comm *comm;
    int to, from, tag;
    enum wf_space space;
};

/* Starts the message to the other one: 0 after an error, which may be of the
 * step's other message. */
static int send_words(struct wf_agree *a, const struct peers *p,
                      struct wf_req **r)
{
    if (a->error)
        memset(a->value, 0, (size_t)a->n * sizeof *a->value);
    return wf_isend(p->comm, a->value, (uint64_t)a->n, wf_type_of(MPI_UINT64_T),
                    p->to, p->tag, p->space, WF_SEND_STANDARD, r);
}

/* Starts both messages of a step. Returns true when both have ended already. */
static bool start_exchange(struct wf_agree *a, const struct peers *p)
{
    struct wf_type *word = wf_type_of(MPI_UINT64_T);
    struct wf_req *r = NULL;
    a->pending = 1; /* keeps it above 0 until both are started */
    int status = wf_irecv(p->comm, a->input, (uint64_t)a->n, word, p->from,
                          p->tag, p->space, &r);
    track_message(a, wf_error_class(status), r);
    status = send_words(a, p, &r);
    /* the other one waits: it learns of a shortage that has passed */
    if (wf_error_class(status) == MPI_ERR_NO_MEM) {
        record_error(a, MPI_ERR_NO_MEM);
        status = send_words(a, p, &r);
    }
    track_message(a, wf_error_class(status), r);
    return --a->pending == 0;
}

static bool exchange_words(struct wf_agree *a, const struct peers *p)
{
    if (!start_exchange(a, p))
        return false;
    finish_step(a);
    return true;
}

static int rank_of_member(const struct wf_agree_scope *s, int member)
{
    member = (member + s->size) % s->size;
    return s->ranks ? s->ranks[member] : member;
}

static bool take_group_step(struct wf_agree *a)
{
    const struct wf_agree_scope *s = a->scope;
    int distance = 1 << a->step;
    if (distance >= s->size) {
        a->step = 0;
        a->phase = a->phase == GROUP_BEFORE && s->bridged ? BRIDGE : ENDED;
        return true;
    }
    struct peers p = {s->comm, rank_of_member(s, s->me + distance),
                      rank_of_member(s, s->me - distance), s->tag, s->space};
    return exchange_words(a, &p);
}

static struct peers bridge_peers_of(const struct wf_agree_scope *s)
{
    return (struct peers){s->bridge, s->bridge_rank, s->bridge_rank,
                          s->bridge_tag, s->bridge_space};
}

/* Runs in the bridge's engine, as a cross-engine task. */
static void cross_bridge(struct wf_engine_task *e)
{
    struct wf_agree *a = wf_container(e, struct wf_agree, task);
    struct peers p = bridge_peers_of(a->scope);
    bool dead = wf_agree_bridge_has_dead(a->scope);
    if (dead)
        record_error(a, MPI_ERR_PROC_ABORTED);
    if (dead || start_exchange(a, &p))
        finish_exchange(a, a->scope->bridge->wf);
}

static bool take_bridge_step(struct wf_agree *a)
{
    const struct wf_agree_scope *s = a->scope;
    if (s->me != s->leader || !s->bridge) {
        a->phase = GROUP_AFTER;
        return true;
    }
    struct peers p = bridge_peers_of(s);
    if (s->bridge->wf == a->wf)
        return exchange_words(a, &p);
    a->task.run = cross_bridge;
    wf_engine_task_post(s->bridge->wf, &a->task);
    return false;
}

/* Takes steps until one has to wait (false) or the agreement has ended
 * (true). */
static bool run_steps(struct wf_agree *a)
{
    while (a->phase != ENDED)
        if (a->error == MPI_ERR_PROC_ABORTED || wf_agree_has_dead(a->scope)) {
            a->error = MPI_ERR_PROC_ABORTED; /* replaces errors that followed
                                                from it */
            a->phase = ENDED;
        } else if (!(a->phase == BRIDGE ? take_bridge_step(a)
                                        : take_group_step(a)))
            return false;
    return true;
}

bool wf_agree_start(struct wf_agree *a)
{
    a->wf = a->scope->comm->wf;
    a->phase = GROUP_BEFORE;
    a->step = 0;
    a->error = MPI_SUCCESS;
    return run_steps(a);
}

void wf_agree_init_scope(struct wf_agree_scope *s, struct wf_comm *comm)
{
    struct wf_comm *group = comm->inter ? comm->local_comm : comm;
    *s = (struct wf_agree_scope){.comm = group,
                                 .size = group->size,
                                 .me = group->rank,
                                 .tag = wf_comm_draw_tag(group),
                                 .space = WF_SPACE_NBC};
    if (!comm->inter)
        return;
    s->bridged = true;
    s->bridge = comm;
    s->bridge_tag = wf_comm_draw_tag(comm);
    s->bridge_space = WF_SPACE_NBC;
    s->result = comm;
}

/* ---- waiting ------------------------------------------------------------- */

struct waiting {
    struct wf_agree agree;
    bool over;
};

static void end_agreement(struct wf_agree *a)
{
    wf_container(a, struct waiting, agree)->over = true;
}

static bool is_over(void *arg)
{
    return ((struct waiting *)arg)->over;
}

int wf_agree_run_over(const struct wf_agree_scope *s, uint64_t *value,
                      uint64_t *input, int n)
{
    struct waiting w = {.agree = {.scope = s,
                                  .n = n,
                                  .value = value,
                                  .input = input,
                                  .resume = end_agreement}};

    if (s->size == 1 && !s->bridged)
        return MPI_SUCCESS;
    if (!wf_agree_start(&w.agree))
        wf_progress_wait(s->comm->wf, UINT32_MAX, is_over, &w, NULL);
    return w.agree.error;
}

int wf_agree_run(struct wf_comm *comm, uint64_t *value, uint64_t *input, int n)
{
    struct wf_agree_scope scope;

    wf_agree_init_scope(&scope, comm);
    return wf_agree_run_over(&scope, value, input, n);
}
