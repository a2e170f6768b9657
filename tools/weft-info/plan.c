/* This file builds, matches and weighs the schedules of all ranks: see plan.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/error.h"
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "coll/cleanup.h"
#include "process/rank.h"

enum { REFERENCES = 1 << 28 /* nobody drops the last one */ };

static bool set_error(struct plan *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool set_error(struct plan *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->error, sizeof p->error, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- ranks --------------------------------------------------------------- */

static void make_comm(struct plan *p, struct wf_comm *c, int process,
                      bool inter)
{
    int side = p->left > 0 && process >= p->left;
    *c = (struct wf_comm){.object = {WF_KIND_COMM, REFERENCES},
                          .wf = p->wf,
                          .inter = inter,
                          .local = &p->groups[side],
                          .peers = &p->groups[inter ? !side : side],
                          .size = p->groups[side].size,
                          .rank = process - (int)p->groups[side].first,
                          .oversubscription = {.known = true}};
}

static void make_comms(struct plan *p)
{
    bool inter = p->left > 0;
    p->groups[0] = (struct wf_group){.size = inter ? p->left : p->ranks,
                                     .stride = 1};
    p->groups[1] = (struct wf_group){.size = p->ranks - p->left, .stride = 1,
                                     .first = (uint32_t)p->left};
    for (int i = 0; i < p->ranks; i++) {
        make_comm(p, &p->locals[i], i, false);
        make_comm(p, &p->comms[i], i, inter);
        if (inter)
            p->comms[i].local_comm = &p->locals[i];
    }
}

bool plan_open(struct plan *p, int ranks, int left, int nodes,
               const struct wf_coll_rules *rules)
{
    size_t n = (size_t)ranks;
    *p = (struct plan){.ranks = ranks, .left = left};
    p->wf = calloc(1, sizeof *p->wf);
    p->comms = calloc(n, sizeof *p->comms);
    p->locals = calloc(n, sizeof *p->locals);
    p->scheds = calloc(n, sizeof(struct wf_sched *));
    p->base = calloc(n + 1, sizeof *p->base);
    p->boot.node_of = calloc(n, sizeof *p->boot.node_of);
    if (!p->wf || !p->comms || !p->locals || !p->scheds || !p->base ||
        !p->boot.node_of)
        return set_error(p, "out of memory");
    p->boot.size = (uint32_t)ranks;
    p->boot.node_count = (uint32_t)nodes;
    for (int i = 0; i < ranks; i++)
        p->boot.node_of[i] = (uint32_t)((int64_t)i * nodes / ranks);
    p->rank =
        (struct wf_rank){.home = p->wf, .boot = &p->boot, .coll_rules = rules};
    p->wf->rank = &p->rank;
    make_comms(p);
    return true;
}

static void drop_schedules(struct plan *p)
{
    for (int i = 0; p->scheds && i < p->ranks; i++) {
        wf_sched_destroy(p->scheds[i]);
        p->scheds[i] = NULL;
    }
    free(p->message);
    free(p->message_of);
    free(p->depth);
    p->message = NULL;
    p->message_of = NULL;
    p->depth = NULL;
    p->messages = 0;
}

void plan_close(struct plan *p)
{
    drop_schedules(p);
    for (int i = 0; p->comms && p->locals && i < p->ranks; i++) {
        wf_layout_drop(&p->comms[i]);
        wf_layout_drop(&p->locals[i]);
    }
    if (p->wf)
        wf_sched_fini(p->wf);
    free(p->wf);
    free(p->comms);
    free(p->locals);
    free(p->scheds);
    free(p->base);
    free(p->boot.node_of);
}

/* ---- building ------------------------------------------------------------ */

static bool build_rank(struct plan *p, int rank, wf_coll_builder *builder,
                       plan_args *args, void *user)
{
    struct wf_coll_args a = {.comm = &p->comms[rank]};
    struct wf_sched *s = wf_sched_create(a.comm);
    p->scheds[rank] = s;
    if (!s)
        return set_error(p, "out of memory");
    args(user, rank, &a);
    int rc = builder(s, &a);
    if (rc != MPI_SUCCESS)
        return set_error(p, "rank %d: error class %d: %s", rank, rc,
                     wf_error_last()->text);
    if (s->no_memory)
        return set_error(p, "out of memory");
    p->base[rank + 1] = p->base[rank] + s->vertices;
    return true;
}

bool plan_build(struct plan *p, wf_coll_builder *builder, plan_args *args,
                void *user)
{
    drop_schedules(p);
    for (int i = 0; i < p->ranks; i++)
        if (!build_rank(p, i, builder, args, user))
            return false;
    return true;
}

int plan_rank(const struct plan *p, int number)
{
    int lo = 0, hi = p->ranks - 1;
    while (lo < hi) {
        int middle = (lo + hi + 1) / 2;
        if (p->base[middle] <= number)
            lo = middle;
        else
            hi = middle - 1;
    }
    return lo;
}

/* ---- matching ------------------------------------------------------------ */

/* One end of a message. Messages of one sender, receiver and communicator match
 * in the order of creation. */
struct end {
    int from, to, number;
    bool local;
};

static int compare_ends(const void *x, const void *y)
{
    const struct end *a = x, *b = y;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->local != b->local)
        return a->local ? 1 : -1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Collect all ends of one kind, sorted; returns how many. */
static int collect_ends(const struct plan *p, enum wf_vertex_kind kind,
                   struct end *out)
{
    int n = 0;
    for (int r = 0; r < p->ranks; r++)
        for (int i = p->base[r]; i < p->base[r + 1]; i++) {
            const struct wf_vertex *v = plan_vertex(p, r, i);
            const struct wf_sched *s = p->scheds[r];
            if (v->kind != kind)
                continue;
            int peer = (int)wf_group_proc(
                (v->local ? s->local : s->comm)->peers, v->peer);
            out[n++] = kind == WF_VERTEX_SEND
                           ? (struct end){r, peer, i, v->local}
                           : (struct end){peer, r, i, v->local};
        }
    qsort(out, (size_t)n, sizeof *out, compare_ends);
    return n;
}

static bool pair_ends(struct plan *p, const struct end *s, const struct end *r)
{
    if (s->from != r->from || s->to != r->to || s->local != r->local)
        return set_error(p, "a message %d->%d is sent, one %d->%d is received",
                     s->from, s->to, r->from, r->to);
    const struct wf_vertex *out = plan_vertex(p, s->from, s->number);
    const struct wf_vertex *in = plan_vertex(p, s->to, r->number);
    uint64_t sent = out->count * (uint64_t)out->type->size;
    uint64_t room = in->count * (uint64_t)in->type->size;
    if (sent != room)
        return set_error(
            p, "a message %d->%d has %llu bytes, %llu are expected", s->from,
            s->to, (unsigned long long)sent, (unsigned long long)room);
    p->message_of[s->number] = p->message_of[r->number] = p->messages;
    p->message[p->messages++] =
        (struct plan_message){s->from, s->to, s->number, r->number};
    return true;
}

static bool match_ends(struct plan *p, struct end *sends, struct end *recvs)
{
    int n = collect_ends(p, WF_VERTEX_SEND, sends);
    int m = collect_ends(p, WF_VERTEX_RECV, recvs);
    for (int i = 0; i < n && i < m; i++)
        if (!pair_ends(p, &sends[i], &recvs[i]))
            return false;
    if (n != m)
        return set_error(p, "%d messages are sent, %d are received", n, m);
    return true;
}

bool plan_match(struct plan *p)
{
    size_t n = (size_t)p->base[p->ranks] + 1;
    struct end *sends = malloc(n * sizeof *sends);
    struct end *recvs = malloc(n * sizeof *recvs);
    p->message = malloc(n * sizeof *p->message);
    p->message_of = malloc(n * sizeof *p->message_of);
    bool good = sends && recvs && p->message && p->message_of;
    if (good) {
        memset(p->message_of, 0xff, n * sizeof *p->message_of);
        good = match_ends(p, sends, recvs);
    } else {
        set_error(p, "out of memory");
    }
    free(sends);
    free(recvs);
    return good;
}

/* ---- weighing ------------------------------------------------------------ */

struct weighing {
    struct plan *p;
    struct plan_depth *start; /* of each vertex */
    int *missing, *queue;     /* releases; vertices that may go */
    int queued;
};

static void raise_to(struct plan_depth *d, struct plan_depth to)
{
    if (to.rounds > d->rounds)
        d->rounds = to.rounds;
    if (to.bytes > d->bytes)
        d->bytes = to.bytes;
}

static void release_vertex(struct weighing *w, int number, struct plan_depth at)
{
    raise_to(&w->start[number], at);
    if (--w->missing[number] == 0)
        w->queue[w->queued++] = number;
}

static void complete_vertex(struct weighing *w, int number)
{
    struct plan *p = w->p;
    int rank = plan_rank(p, number), base = p->base[rank];
    const struct wf_sched *s = p->scheds[rank];
    const struct wf_vertex *v = &s->v[number - base];
    struct plan_depth done = w->start[number];
    p->depth[number] = done;
    if (v->follower >= 0)
        release_vertex(w, base + v->follower, done);
    for (int e = v->out; e >= 0; e = s->e[e].next)
        release_vertex(w, base + s->e[e].to, done);
    if (v->kind != WF_VERTEX_SEND)
        return;
    done.rounds++;
    done.bytes += v->count * (uint64_t)v->type->size;
    release_vertex(w, p->message[p->message_of[number]].recv, done);
}

static int weigh_vertices(struct weighing *w)
{
    struct plan *p = w->p;
    int all = p->base[p->ranks], done = 0;
    for (int i = 0, r = 0; i < all; i++) {
        while (i >= p->base[r + 1])
            r++;
        const struct wf_vertex *v = plan_vertex(p, r, i);
        w->missing[i] = v->need + (v->kind == WF_VERTEX_RECV);
        if (w->missing[i] == 0)
            w->queue[w->queued++] = i;
    }
    while (done < w->queued)
        complete_vertex(w, w->queue[done++]);
    return all - done;
}

bool plan_weigh(struct plan *p)
{
    size_t n = (size_t)p->base[p->ranks] + 1;
    struct weighing w = {.p = p};
    int left = -1;
    w.start = calloc(n, sizeof *w.start);
    w.missing = calloc(n, sizeof *w.missing);
    w.queue = calloc(n, sizeof *w.queue);
    p->depth = calloc(n, sizeof *p->depth);
    if (w.start && w.missing && w.queue && p->depth)
        left = weigh_vertices(&w);
    free(w.start);
    free(w.missing);
    free(w.queue);
    if (left < 0)
        return set_error(p, "out of memory");
    return left == 0 ||
           set_error(p, "%d steps wait for each other for ever", left);
}
