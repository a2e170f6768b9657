/* Building schedules. Running them is run.c.
 *
 * DESIGN  A small collective must not pay for malloc: the schedule has room
 * for a few vertices, edges and scratch bytes inside, grows by doubling, and
 * a few finished schedules are kept by the instance for the next collective.
 * That is why wf_sched_create resets fields one by one and does not clear the
 * whole object.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "coll/state.h"
#include "coll/args.h"
#include "coll/cleanup.h"
#include "coll/coll.h"
#include "coll/direct.h"
#include "coll/temp.h"
#include "coll/vertex.h"
#include "os/shortage.h"

enum {
    KEEP_SCHEDULES = 4,  /* per instance, for reuse */
    KEEP_VERTICES = 4096 /* larger schedules are freed */
};

/* ---- life ---------------------------------------------------------------- */

static void reset_schedule(struct wf_sched *s)
{
    s->on_local = s->no_memory = s->running = false;
    s->blocking = s->user_op = s->direct = false;
    wf_list_init(&s->deferred);
    s->fence = -1;
    s->map = NULL;
    s->algorithm = WF_ALGORITHMS;
    s->vertices = s->edges = 0;
    memset(s->bucket, 0xff, sizeof s->bucket);
    s->temps = NULL;
    s->scratch_used = 0;
    s->head = s->tail = -1;
    s->left = s->error = 0;
    s->cut = false;
    s->endpoint_mask = 0;
    s->runnable = false;
    s->waiter = NULL;
    s->req = NULL;
    s->ended = NULL;
}

static struct wf_sched *take_or_allocate_schedule(struct wf_instance *wf)
{
    struct wf_sched *s = wf->coll ? wf->coll->scheds : NULL;
    unsigned attempts = 0;

    if (s) {
        wf->coll->scheds = s->next;
        return s;
    }
    do
        s = malloc(sizeof *s);
    while (!s && wf_shortage_wait(&attempts));
    if (!s)
        return NULL;
    s->wf = wf;
    s->v = s->inline_v;
    s->vertex_room = WF_SCHED_INLINE_VERTICES;
    s->e = s->inline_e;
    s->edge_room = WF_SCHED_INLINE_EDGES;
    return s;
}

static struct wf_sched *prepare_schedule(struct wf_comm *comm, int tag)
{
    struct wf_sched *s = take_or_allocate_schedule(comm->wf);

    if (!s)
        return NULL;
    reset_schedule(s);
    s->comm = comm;
    s->local = comm->inter ? comm->local_comm : comm;
    s->tag = s->local_tag = tag < 0 ? wf_comm_draw_tag(comm) : tag;
    if (comm->inter)
        s->local_tag = wf_comm_draw_tag(comm->local_comm);
    wf_comm_get(comm);
    s->error = wf_sched_first_error(s);
    return s;
}

struct wf_sched *wf_sched_create(struct wf_comm *comm)
{
    return prepare_schedule(comm, -1);
}

struct wf_sched *wf_sched_create_part(struct wf_comm *comm, int tag)
{
    WF_ASSERT(!comm->inter && tag >= 0);
    return prepare_schedule(comm, tag);
}

int wf_sched_tag(const struct wf_sched *s)
{
    return s->tag;
}

/* The tags go back: for the other members this call never happened, and the
 * next call of this process is to match theirs. */
void wf_sched_abandon(struct wf_sched *s)
{
    WF_ASSERT(!s->req && !s->running);
    s->comm->coll_tag--;
    if (s->comm->inter)
        s->local->coll_tag--;
    wf_sched_destroy(s);
}

static void release_types(struct wf_sched *s)
{
    for (int i = 0; i < s->vertices; i++) {
        struct wf_vertex *v = &s->v[i];

        if (v->type && !(v->type->flags & WF_TYPE_PREDEFINED))
            wf_type_put(v->type);
        if (v->dtype && !(v->dtype->flags & WF_TYPE_PREDEFINED))
            wf_type_put(v->dtype);
        if (v->kind == WF_VERTEX_REDUCE && !v->op->predefined)
            wf_op_put(v->op);
    }
}

static void keep_or_free_schedule(struct wf_sched *s)
{
    struct wf_coll_state *c = wf_coll_state(s->wf);
    int kept = 0;

    for (struct wf_sched *k = c ? c->scheds : NULL; k; k = k->next)
        kept++;
    if (!c || kept >= KEEP_SCHEDULES || s->vertex_room > KEEP_VERTICES) {
        wf_sched_free(s);
        return;
    }
    s->next = c->scheds;
    c->scheds = s;
}

void wf_sched_destroy(struct wf_sched *s)
{
    if (!s)
        return;
    WF_ASSERT(wf_list_empty(&s->deferred));
    release_types(s);
    while (s->temps) {
        struct wf_temp *t = s->temps;
        s->temps = t->next;
        wf_temp_give_back(s->wf, t);
    }
    wf_comm_put(s->comm);
    keep_or_free_schedule(s);
}

/* ---- vertices and edges -------------------------------------------------- */

/* Doubles the room for elements of `size` bytes; the first ones may be
 * inline. */
static void *grow_array(void *old, const void *inline_old, int *room,
                        size_t size)
{
    WF_ASSERT(*room > 0 && size > 0);
    size_t bytes = (size_t)*room * size;
    unsigned attempts = 0;
    void *new;

    do
        new = old == inline_old ? malloc(2 * bytes) : realloc(old, 2 * bytes);
    while (!new && wf_shortage_wait(&attempts));
    if (!new)
        return NULL;
    if (old == inline_old)
        memcpy(new, old, bytes);
    *room *= 2;
    return new;
}

static bool ensure_vertex_room(struct wf_sched *s)
{
    void *new;

    if (s->vertices < s->vertex_room)
        return true;
    new = grow_array(s->v, s->inline_v, &s->vertex_room, sizeof *s->v);
    if (!new)
        return false;
    s->v = new;
    return true;
}

static bool ensure_edge_room(struct wf_sched *s)
{
    void *new;

    if (s->edges < s->edge_room)
        return true;
    new = grow_array(s->e, s->inline_e, &s->edge_room, sizeof *s->e);
    if (!new)
        return false;
    s->e = new;
    return true;
}

void wf_sched_add_edge(struct wf_sched *s, int vertex, int dependency)
{
    struct wf_vertex *from;

    if (!s || s->no_memory)
        return;
    WF_ASSERT(dependency < vertex && vertex < s->vertices);
    if (!ensure_edge_room(s)) {
        s->no_memory = true;
        return;
    }
    WF_ASSERT(dependency >= 0 && s->edges < s->edge_room);
    from = &s->v[dependency];
    s->e[s->edges].to = vertex;
    s->e[s->edges].next = -1;
    if (from->out < 0)
        from->out = s->edges;
    else
        s->e[from->out_last].next = s->edges;
    from->out_last = s->edges++;
    s->v[vertex].need++;
}

/* Adds a vertex, whose number is s->vertices - 1. NULL: out of memory, which
 * the schedule remembers. */
static struct wf_vertex *add_vertex(struct wf_sched *s,
                                    enum wf_vertex_kind kind)
{
    struct wf_vertex *v;

    if (!s || s->no_memory || !ensure_vertex_room(s)) {
        if (s)
            s->no_memory = true;
        return NULL;
    }
    WF_ASSERT(s->vertices < s->vertex_room);
    v = &s->v[s->vertices++];
    memset(v, 0, sizeof *v);
    v->kind = (uint8_t)kind;
    v->out = v->follower = v->next = -1;
    if (s->fence >= 0)
        wf_sched_after(s, s->vertices - 1, s->fence);
    return v;
}

static struct wf_type *hold_type(struct wf_type *t)
{
    if (!(t->flags & WF_TYPE_PREDEFINED))
        wf_type_get(t);
    return t;
}

/* Returns the number of the vertex just added; 0 if that failed, which start
 * reports. */
static int last_vertex(const struct wf_sched *s)
{
    return s && s->vertices ? s->vertices - 1 : 0;
}

/* Enters a message into the chain of its peer; the previous one of the same
 * direction, if any, must start first. */
static void keep_message_order(struct wf_sched *s, struct wf_vertex *v)
{
    int32_t *head = &s->bucket[(uint32_t)v->peer % WF_SCHED_BUCKETS];
    int32_t number = s->vertices - 1;

    WF_ASSERT(&s->v[number] == v);
    for (int32_t i = *head; i >= 0; i = s->v[i].next) {
        struct wf_vertex *u = &s->v[i];
        if (u->kind == v->kind && u->peer == v->peer && u->local == v->local) {
            WF_ASSERT(u->follower < 0);
            u->follower = number;
            v->need++;
            break;
        }
    }
    v->next = *head;
    *head = number;
}

static int add_message(struct wf_sched *s, enum wf_vertex_kind kind, void *buf,
                       uint64_t count, struct wf_type *type, int peer)
{
    struct wf_vertex *v = add_vertex(s, kind);

    if (!v)
        return last_vertex(s);
    v->src = buf;
    v->count = count;
    v->type = hold_type(type);
    v->peer = peer;
    v->local = s->on_local;
    keep_message_order(s, v);
    return last_vertex(s);
}

/* Returns true if vertices are performed instead of recorded. */
static bool is_direct(const struct wf_sched *s)
{
    return s && s->direct && !s->no_memory;
}

static int mapped_rank(const struct wf_sched *s, int rank)
{
    return s && wf_unlikely(s->map != NULL) ? s->map[rank] : rank;
}

int wf_sched_send(struct wf_sched *s, const void *buf, uint64_t count,
                  struct wf_type *type, int dest)
{
    dest = mapped_rank(s, dest);
    if (is_direct(s) && wf_direct_try_send(s, buf, count, type, dest))
        return -1;
    return add_message(s, WF_VERTEX_SEND, (void *)(uintptr_t)buf, count, type,
                       dest);
}

int wf_sched_recv(struct wf_sched *s, void *buf, uint64_t count,
                  struct wf_type *type, int source)
{
    source = mapped_rank(s, source);
    if (is_direct(s) && wf_direct_try_recv(s, buf, count, type, source))
        return -1;
    return add_message(s, WF_VERTEX_RECV, buf, count, type, source);
}

/* Sets where the vertex just added finds what to send, or stores the received
 * length. */
static int set_deferred_buf(struct wf_sched *s, int number, void *there)
{
    if (s && !s->no_memory)
        s->v[number].dst = there;
    return number;
}

int wf_sched_send_deferred(struct wf_sched *s,
                           const struct wf_sched_deferred_buf *what, int dest)
{
    dest = mapped_rank(s, dest);
    if (is_direct(s) &&
        wf_direct_try_send(s, what->buf, what->bytes, wf_coll_byte(), dest))
        return -1;
    return set_deferred_buf(
        s, add_message(s, WF_VERTEX_SEND, NULL, 0, wf_coll_byte(), dest),
        (void *)(uintptr_t)what);
}

int wf_sched_recv_deferred(struct wf_sched *s, void *buf, uint64_t room,
                           uint64_t *got, int source)
{
    if (s)
        s->direct = false;
    return set_deferred_buf(s,
                            add_message(s, WF_VERTEX_RECV, buf, room,
                                        wf_coll_byte(), mapped_rank(s, source)),
                            got);
}

int wf_sched_reduce(struct wf_sched *s, struct wf_op *op, const void *in,
                    void *inout, uint64_t count, struct wf_type *type)
{
    struct wf_vertex *v;

    if (is_direct(s) && wf_direct_try_reduce(s, op, in, inout, count, type))
        return -1;
    v = add_vertex(s, WF_VERTEX_REDUCE);
    if (!v)
        return last_vertex(s);
    v->op = op;
    if (!op->predefined) {
        wf_op_get(op);
        s->user_op = true;
    }
    v->src = (void *)(uintptr_t)in;
    v->dst = inout;
    v->count = count;
    v->type = hold_type(type);
    return last_vertex(s);
}

int wf_sched_copy(struct wf_sched *s, const void *src, uint64_t scount,
                  struct wf_type *stype, void *dst, uint64_t dcount,
                  struct wf_type *dtype)
{
    void *from = (void *)(uintptr_t)src;
    struct wf_vertex *v;

    if (is_direct(s) &&
        wf_direct_try_copy(s, (struct wf_sched_block){from, scount, stype},
                           (struct wf_sched_block){dst, dcount, dtype}))
        return -1;
    v = add_vertex(s, WF_VERTEX_COPY);
    if (!v)
        return last_vertex(s);
    v->src = from;
    v->count = scount;
    v->type = hold_type(stype);
    v->dst = dst;
    v->dcount = dcount;
    v->dtype = hold_type(dtype);
    return last_vertex(s);
}

int wf_sched_call(struct wf_sched *s, int (*fn)(void *), void *arg)
{
    struct wf_vertex *v;

    if (is_direct(s) && wf_direct_try_call(s, fn, arg))
        return -1;
    v = add_vertex(s, WF_VERTEX_CALL);
    if (!v)
        return last_vertex(s);
    v->fn = fn;
    v->dst = arg;
    return last_vertex(s);
}

void wf_sched_after_all(struct wf_sched *s, int vertex)
{
    /* what came before the newest fence is implied by the fence itself */
    for (int i = s ? s->fence + 1 : 0; i < vertex; i++)
        wf_sched_after(s, vertex, i);
}

void wf_sched_fence(struct wf_sched *s)
{
    int number;

    if (!s || s->fence == s->vertices - 1)
        return; /* nothing since the last one, or nothing at all */
    if (!add_vertex(s, WF_VERTEX_FENCE))
        return;
    number = last_vertex(s);
    wf_sched_after_all(s, number);
    s->fence = number;
}

void wf_sched_use_local_group(struct wf_sched *s, bool on)
{
    if (s)
        s->on_local = on && s->local != s->comm;
}

void wf_sched_map_ranks(struct wf_sched *s, const int *ranks)
{
    if (s)
        s->map = ranks;
}

/* ---- scratch memory ------------------------------------------------------ */

void *wf_sched_alloc_temp(struct wf_sched *s, size_t bytes)
{
    size_t rounded = (bytes + 15) & ~(size_t)15;
    struct wf_temp *t;

    if (!s || s->no_memory || rounded < bytes)
        goto no_memory;
    if (rounded <= WF_SCHED_SCRATCH - s->scratch_used) {
        void *p = s->scratch + s->scratch_used;
        WF_ASSERT((uintptr_t)p % 16 == 0);
        s->scratch_used += rounded;
        return p;
    }
    t = wf_temp_get(s->wf, rounded);
    if (!t)
        goto no_memory;
    t->next = s->temps;
    s->temps = t;
    return t->data;

no_memory:
    if (s)
        s->no_memory = true;
    return NULL;
}

const struct wf_vertex *wf_sched_find_message(const struct wf_sched *s)
{
    const struct wf_vertex *found = NULL;

    for (int i = 0; i < s->vertices; i++) {
        const struct wf_vertex *v = &s->v[i];
        if (v->under_way && (!found || v->kind == WF_VERTEX_RECV))
            found = v;
    }
    return found;
}
