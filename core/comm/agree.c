/* Agreement by dissemination: see agree.h.
 *
 * A member that meets an error goes on with all bits cleared and takes every
 * step, so that no other member waits for a message that never comes. When a
 * member is gone, each ends by itself (protocol/death.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/agree.h"

#include "instance.h"
#include "protocol/death.h"

enum { GROUP_BEFORE, BRIDGE, GROUP_AFTER, ENDED };

static bool run(struct wf_agree *a);

static void fail(struct wf_agree *a, int error)
{
    if (!a->error)
        a->error = error;
}

/* A message has ended. Where the way to a member is lost this agreement is at its
 * end, whatever this process lacks: derive.c says what. */
static void take_outcome(struct wf_agree *a, const struct wf_req *r)
{
    if (r->error)
        fail(a, r->flags & WF_REQ_LINK_LOST ? MPI_ERR_PROC_ABORTED : r->error);
}

/* Both messages of a step are over: take in what came. */
static void absorb(struct wf_agree *a)
{
    for (int i = 0; i < a->n; i++)
        a->value[i] = a->error ? 0 : a->value[i] & a->input[i];
    if (a->phase == BRIDGE)
        a->phase = GROUP_AFTER;
    else
        a->step++;
}

static void go_on(struct wf_agree *a)
{
    absorb(a);
    if (run(a))
        a->resume(a);
}

static void back(struct wf_errand *e)
{
    go_on(wf_container(e, struct wf_agree, errand));
}

/* Both messages are over, in the engine `here`. */
static void both_done(struct wf_agree *a, struct wf_instance *here)
{
    if (here == a->wf) {
        go_on(a);
        return;
    }
    a->errand.run = back;
    wf_errand_post(a->wf, &a->errand);
}

static void message_done(struct wf_req *r)
{
    struct wf_agree *a = r->context;
    struct wf_instance *here = r->wf;
    take_outcome(a, r);
    wf_req_release(r);
    if (--a->pending == 0)
        both_done(a, here);
}

/* ---- members that are gone -------------------------------------------------- */

static bool group_dead(const struct wf_agree_scope *s)
{
    struct wf_comm *c = s->comm;

    if (!wf_comm_is_dead(c))
        return false;
    for (int i = 0; s->ranks && i < s->size; i++)
        if (wf_proc_is_dead(c->wf, wf_group_proc(c->local, s->ranks[i])))
            return true;
    return !s->ranks;
}

bool wf_agree_bridge_dead(const struct wf_agree_scope *s)
{
    return s->others ? wf_group_has_dead(s->bridge->wf, s->others)
                     : wf_comm_is_dead(s->bridge);
}

/* Called in the engine of the group; the state of the bridge's engine must not be
 * read there. */
bool wf_agree_dead(const struct wf_agree_scope *s)
{
    return group_dead(s) || (s->result && wf_comm_is_dead(s->result)) ||
           (s->bridge && s->bridge->wf == s->comm->wf && s->me == s->leader &&
            wf_agree_bridge_dead(s));
}

static bool message_lost(const struct wf_req *r)
{
    const struct wf_agree *a = r->context;

    return r->wf == a->wf ? wf_agree_dead(a->scope)
                          : wf_agree_bridge_dead(a->scope);
}

/* Count a message that was started with result rc. */
static void watch(struct wf_agree *a, int rc, struct wf_req *r)
{
    if (rc != MPI_SUCCESS) {
        fail(a, rc);
    } else if (wf_req_done(r)) {
        take_outcome(a, r);
        wf_req_release(r);
    } else {
        r->flags |= WF_REQ_INTERNAL;
        r->on_complete = message_done;
        r->lost = message_lost;
        r->context = a;
        a->pending++;
    }
}

struct peers {
    struct wf_comm *comm;
    int to, from, tag;
    enum wf_space space;
};

/* True when both messages are over already. */
static bool begin(struct wf_agree *a, const struct peers *p)
{
    struct wf_type *word = wf_type_of(MPI_UINT64_T);
    struct wf_req *r = NULL;
    a->pending = 1; /* not before both are started */
    int rc = wf_irecv(p->comm, a->input, (uint64_t)a->n, word, p->from, p->tag,
                      p->space, &r);
    watch(a, rc, r);
    rc = wf_isend(p->comm, a->value, (uint64_t)a->n, word, p->to, p->tag,
                  p->space, WF_SEND_STANDARD, &r);
    watch(a, rc, r);
    return --a->pending == 0;
}

static bool exchange(struct wf_agree *a, const struct peers *p)
{
    if (!begin(a, p))
        return false;
    absorb(a);
    return true;
}

static int rank_of_member(const struct wf_agree_scope *s, int member)
{
    member = (member + s->size) % s->size;
    return s->ranks ? s->ranks[member] : member;
}

static bool group_step(struct wf_agree *a)
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
    return exchange(a, &p);
}

static struct peers over_bridge(const struct wf_agree_scope *s)
{
    return (struct peers){s->bridge, s->bridge_rank, s->bridge_rank,
                          s->bridge_tag, s->bridge_space};
}

/* In the bridge's engine. */
static void cross(struct wf_errand *e)
{
    struct wf_agree *a = wf_container(e, struct wf_agree, errand);
    struct peers p = over_bridge(a->scope);
    bool dead = wf_agree_bridge_dead(a->scope);
    if (dead)
        fail(a, MPI_ERR_PROC_ABORTED);
    if (dead || begin(a, &p))
        both_done(a, a->scope->bridge->wf);
}

static bool bridge_step(struct wf_agree *a)
{
    const struct wf_agree_scope *s = a->scope;
    if (s->me != s->leader) {
        a->phase = GROUP_AFTER;
        return true;
    }
    struct peers p = over_bridge(s);
    if (s->bridge->wf == a->wf)
        return exchange(a, &p);
    a->errand.run = cross;
    wf_errand_post(s->bridge->wf, &a->errand);
    return false;
}

/* Take steps until one has to wait (false) or the end (true). */
static bool run(struct wf_agree *a)
{
    while (a->phase != ENDED)
        if (a->error == MPI_ERR_PROC_ABORTED || wf_agree_dead(a->scope)) {
            a->error = MPI_ERR_PROC_ABORTED; /* whatever failed for that */
            a->phase = ENDED;
        } else if (!(a->phase == BRIDGE ? bridge_step(a) : group_step(a)))
            return false;
    return true;
}

bool wf_agree_start(struct wf_agree *a)
{
    a->wf = a->scope->comm->wf;
    a->phase = GROUP_BEFORE;
    a->step = 0;
    a->error = MPI_SUCCESS;
    return run(a);
}

void wf_agree_all(struct wf_agree_scope *s, struct wf_comm *comm)
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
