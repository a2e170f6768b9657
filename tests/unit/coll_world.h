/* A world for testing schedules: any number of ranks in one process on a fake
 * point-to-point layer, stepped in a seeded random order.
 *
 * A message is copied out of the sender's memory either when it is sent or
 * only when it is delivered, as the dice decide: an algorithm that reuses a
 * buffer too early delivers wrong data for some seed. Messages of one channel
 * (context, source, destination) keep their order; channels do not.
 *
 * Included by one test program each; defines the functions it fakes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_COLL_WORLD_H
#define WF_TEST_COLL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "boot/boot.h"
#include "coll/cleanup.h"
#include "coll/coll.h"
#include "coll/layout.h"
#include "coll/vertex.h"
#include "no_locations.h"
#include "no_sources.h"
#include "object/error.h"
#include "progress/wait.h"
#include "protocol/credit.h"
#include "protocol/queues.h"
#include "coll_types.h"
#include "../dice.h"
#include "protocol/helper_requests.h"
#include "protocol/receive.h"
#include "protocol/request.h"
#include "protocol/send.h"
#include "protocol/try.h"

enum { MAX_RANKS = 24, CONTEXTS = 4 };

static int world_size, world_left; /* processes; inter: in the left group */
/* Set before world_open: rules of the choice, and nodes in equal shares. */
static const struct wf_coll_rules *world_rules;
static int world_nodes = 1;

/* ---- errors, communicators ----------------------------------------------- */

static char error_text[512];

_Thread_local const char *wf_call_name;
_Thread_local struct wf_call_now wf_call_now;

void wf_log(struct wf_instance *wf, int level, const char *fmt, ...)
{
}

int wf_error(int mpi_class, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(error_text, sizeof error_text, fmt, ap);
    va_end(ap);
    return mpi_class;
}

int wf_fail(int status, const char *fmt, ...)
{
    return status;
}

int wf_error_on(void *owner, int mpi_class, const char *fmt, ...)
{
    return mpi_class;
}

void wf_comm_get(struct wf_comm *c)
{
    c->object.refs++;
}

void wf_comm_put(struct wf_comm *c)
{
    assert_true(c->object.refs > 1);
    c->object.refs--;
}

/* Nobody is lost here: the simulation (sim_dead_peers) and torture_deaths do
 * that. */
bool wf_comm_has_dead(struct wf_comm *c)
{
    return false;
}

int wf_comm_record_dead(struct wf_comm *c)
{
    return WEFT_EPEER;
}

/* ---- requests ------------------------------------------------------------ */

static int requests_alive;

static struct wf_p2p *make_p2p(struct wf_instance *wf, enum wf_req_type type)
{
    struct wf_p2p *p = aligned_alloc(64, (sizeof *p + 63) / 64 * 64);

    memset(p, 0, sizeof *p);
    p->req.object.kind = WF_KIND_REQUEST;
    p->req.wf = wf;
    p->req.type = (uint8_t)type;
    requests_alive++;
    return p;
}

struct wf_req *wf_req_create(struct wf_instance *wf, enum wf_req_type type,
                             struct wf_comm *comm, const char *what)
{
    return &make_p2p(wf, type)->req;
}

int wf_req_release(struct wf_req *r)
{
    if (!wf_req_done(r)) {
        r->flags |= WF_REQ_DETACHED;
        return MPI_SUCCESS;
    }
    if (r->destroy)
        r->destroy(r);
    free(wf_p2p_of(r)->packed);
    free(wf_p2p_of(r));
    requests_alive--;
    return MPI_SUCCESS;
}

void wf_req_complete(struct wf_req *r, int error)
{
    assert_false(wf_req_done(r));
    if (error)
        r->error = error;
    wf_store_release(&r->done, 1);
    if (r->on_complete)
        r->on_complete(r);
    else if (r->flags & WF_REQ_DETACHED)
        wf_req_release(r);
}

int wf_req_error(struct wf_req *r)
{
    return r->error;
}

struct wf_error_record *wf_error_last(void)
{
    static struct wf_error_record record;
    return &record;
}

uint32_t wf_req_endpoints(struct wf_req *r)
{
    return 1;
}

/* ---- channels ------------------------------------------------------------ */

struct fifo {
    struct wf_p2p *head, **tail;
    int n;
};

struct channel {
    struct fifo sends, recvs;
};

static struct channel channels[CONTEXTS * MAX_RANKS * MAX_RANKS];
static int fail_after = -1; /* messages until wf_isend fails */

static struct channel *channel_of(uint32_t context, uint32_t from, uint32_t to)
{
    return &channels[(context * MAX_RANKS + from) * MAX_RANKS + to];
}

static void fifo_put(struct fifo *f, struct wf_p2p *p)
{
    if (!f->head)
        f->tail = &f->head;
    p->next_free = NULL;
    *f->tail = p;
    f->tail = &p->next_free;
    f->n++;
}

static struct wf_p2p *fifo_take(struct fifo *f)
{
    struct wf_p2p *p = f->head;

    f->head = p->next_free;
    f->n--;
    return p;
}

static void fill_operation(struct wf_p2p *p, struct wf_comm *comm, void *buf,
                           uint64_t count, struct wf_type *type, int peer)
{
    p->req.comm = comm;
    p->buf = buf;
    p->count = count;
    p->type = type;
    p->bytes = count * (uint64_t)type->size;
    p->peer = peer;
}

int wf_isend(struct wf_comm *comm, const void *buf, uint64_t count,
             struct wf_type *type, int dest, int tag, enum wf_space space,
             enum wf_send_mode mode, struct wf_req **out)
{
    struct wf_p2p *p;
    uint32_t me = wf_group_proc(comm->local, comm->rank);

    assert_in_range(dest, 0, comm->peers->size - 1);
    assert_int_equal(space, WF_SPACE_COLL);
    *out = NULL;
    if (fail_after >= 0 && fail_after-- == 0)
        return WEFT_ESYS;
    p = make_p2p(comm->wf, WF_REQ_SEND);
    fill_operation(p, comm, (void *)(uintptr_t)buf, count, type, dest);
    p->tag = tag;
    fifo_put(
        &channel_of(comm->send_context, me, wf_group_proc(comm->peers, dest))
             ->sends,
        p);
    *out = &p->req;
    if (roll_dice(2)) { /* eager: copied and done at once */
        struct wf_p2p *copy = make_p2p(comm->wf, WF_REQ_SEND);
        p->packed = malloc(p->bytes + 1);
        gather_bytes(type, buf, p->bytes, p->packed);
        wf_store_relaxed(&copy->req.done, 1);
        p->req.flags |= WF_REQ_DETACHED;
        *out = &copy->req;
    }
    return MPI_SUCCESS;
}

int wf_irecv(struct wf_comm *comm, void *buf, uint64_t count,
             struct wf_type *type, int source, int tag, enum wf_space space,
             struct wf_req **out)
{
    struct wf_p2p *p = make_p2p(comm->wf, WF_REQ_RECV);
    uint32_t me = wf_group_proc(comm->local, comm->rank);

    assert_in_range(source, 0, comm->peers->size - 1);
    fill_operation(p, comm, buf, count, type, source);
    p->tag = tag;
    fifo_put(&channel_of(comm->context, wf_group_proc(comm->peers, source), me)
                  ->recvs,
             p);
    *out = &p->req;
    return MPI_SUCCESS;
}

static void deliver_message(struct channel *c)
{
    struct wf_p2p *from = fifo_take(&c->sends), *to = fifo_take(&c->recvs);
    uint64_t n = from->bytes < to->bytes ? from->bytes : to->bytes;
    char *data = malloc(n + 1);
    int error = from->bytes > to->bytes ? WF_ETRUNCATED : 0;

    assert_int_equal(from->tag, to->tag);
    if (from->packed)
        memcpy(data, from->packed, n);
    else
        gather_bytes(from->type, from->buf, n, data);
    scatter_bytes(to->type, to->buf, n, data);
    to->req.bytes = n;
    free(data);
    if (roll_dice(2)) {
        wf_req_complete(&from->req, 0);
        wf_req_complete(&to->req, error);
    } else {
        wf_req_complete(&to->req, error);
        wf_req_complete(&from->req, 0);
    }
}

/* Deliver one message of a channel chosen at random; false: nothing to do. */
static bool world_step(void)
{
    struct channel *ready = NULL;
    uint32_t n = 0, size = (uint32_t)world_size;

    for (uint32_t i = 0; i < CONTEXTS * size * size; i++) {
        struct channel *c =
            channel_of(i / size / size, i / size % size, i % size);
        if (c->sends.n && c->recvs.n && roll_dice(++n) == 0)
            ready = c;
    }
    if (ready)
        deliver_message(ready);
    return ready != NULL;
}

/* At once, as often as the dice say; and how often that was. */
static int direct_sends, direct_recvs, direct_refusals;

bool wf_try_send(struct wf_comm *comm, const void *data, uint64_t bytes,
                 int dest, int tag, enum wf_space space)
{
    uint32_t me = wf_group_proc(comm->local, comm->rank);
    struct wf_p2p *p;

    assert_in_range(dest, 0, comm->peers->size - 1);
    if (roll_dice(4) == 0 || fail_after >= 0) {
        direct_refusals++;
        return false;
    }
    p = make_p2p(comm->wf, WF_REQ_SEND);
    fill_operation(p, comm, (void *)(uintptr_t)data, bytes, &byte_type, dest);
    p->tag = tag;
    p->packed = malloc(bytes + 1);
    if (bytes)
        memcpy(p->packed, data, bytes);
    p->req.flags |= WF_REQ_DETACHED;
    fifo_put(
        &channel_of(comm->send_context, me, wf_group_proc(comm->peers, dest))
             ->sends,
        p);
    direct_sends++;
    return true;
}

bool wf_try_recv(struct wf_comm *comm, void *buf, uint64_t bytes, int source,
                 int tag, enum wf_space space, struct wf_try_result *now)
{
    uint32_t me = wf_group_proc(comm->local, comm->rank);
    struct channel *c =
        channel_of(comm->context, wf_group_proc(comm->peers, source), me);
    struct wf_p2p *p;

    assert_in_range(source, 0, comm->peers->size - 1);
    while (!c->sends.n && roll_dice(16) && world_step())
        ;
    if (!c->sends.n || c->recvs.n || roll_dice(8) == 0) {
        direct_refusals++;
        return false;
    }
    p = fifo_take(&c->sends);
    assert_int_equal(p->tag, tag);
    now->error = p->bytes > bytes ? WF_ETRUNCATED : 0;
    now->bytes = p->bytes;
    if (bytes > p->bytes)
        bytes = p->bytes;
    if (p->packed && bytes)
        memcpy(buf, p->packed, bytes);
    else
        gather_bytes(p->type, p->buf, bytes, buf);
    direct_recvs++;
    wf_req_complete(&p->req, 0);
    return true;
}

void wf_progress_wait(struct wf_instance *wf, uint32_t mask,
                      bool (*done)(void *), void *arg,
                      const struct wf_wait_cause *cause)
{
    while (!done(arg))
        assert_true(world_step()); /* else: deadlock */
}

bool wf_progress_is_oversubscribed(struct wf_instance *wf)
{
    return false;
}

void wf_helper_register(struct wf_req *r)
{
}

/* Teams are for processes that can map memory: not here. */
bool wf_progress_poll_until(struct wf_instance *wf, int fd,
                            bool (*done)(void *), void *arg, uint64_t deadline)
{
    return false;
}

bool wf_progress_is_only_thread(struct wf_instance *wf)
{
    return true;
}

void wf_credit_return(struct weft_loc *loc)
{
}

int wf_send(struct wf_comm *comm, const void *buf, uint64_t count,
            struct wf_type *type, int dest, int tag, enum wf_space space)
{
    return WEFT_ESYS;
}

int wf_wait(struct wf_req **req, MPI_Status *status)
{
    return WEFT_ESYS;
}

void wf_progress_wake_leader(struct wf_instance *wf)
{
}

/* ---- ranks --------------------------------------------------------------- */

/* One communicator over n processes, or an inter one: the first `left` of
 * them against the rest. */
static struct wf_rank world_ranks[MAX_RANKS];
static struct wf_instance instances[MAX_RANKS];
static struct wf_progress progresses[MAX_RANKS];
static struct wf_comm comms[MAX_RANKS], locals[MAX_RANKS];
static struct wf_group groups[2];
static uint32_t world_node_of[MAX_RANKS];
static struct wf_boot world_boot = {.node_of = world_node_of};

static void make_nodes(void)
{
    world_boot.size = (uint32_t)world_size;
    world_boot.node_count = (uint32_t)world_nodes;
    for (int i = 0; i < world_size; i++) {
        world_node_of[i] = (uint32_t)(i * world_nodes / world_size);
        world_ranks[i] =
            (struct wf_rank){.boot = &world_boot, .coll_rules = world_rules};
        instances[i].rank = &world_ranks[i];
        instances[i].progress = &progresses[i];
        wf_list_init(&progresses[i].deferred);
    }
}

static void make_comm(struct wf_comm *c, int process, int side, bool inter)
{
    *c = (struct wf_comm){.object = {WF_KIND_COMM, 1},
                          .wf = &instances[process],
                          .inter = inter,
                          .local = &groups[side],
                          .peers = &groups[inter ? !side : side],
                          .size = groups[side].size};
    c->rank = process - (int)groups[side].first;
    c->context = inter ? 1 : side ? 3 : 2;
    c->send_context = c->context;
    c->coll_tag = (uint32_t)(inter ? 7 : 100);
}

static void world_open(int n, int left, uint64_t seed)
{
    bool inter = left > 0;

    memset(instances, 0, sizeof instances);
    dice_state = seed * 2654435769u + 12345;
    world_size = n;
    world_left = left;
    make_nodes();
    groups[0] = (struct wf_group){.size = inter ? left : n, .stride = 1};
    groups[1] = (struct wf_group){.size = n - left, .stride = 1,
                                  .first = (uint32_t)left};
    for (int i = 0; i < n; i++) {
        int side = inter && i >= left;
        make_comm(&locals[i], i, side, false);
        make_comm(&comms[i], i, side, inter);
        if (inter)
            comms[i].local_comm = &locals[i];
    }
}

static void world_drain(void)
{
    while (world_step())
        ;
}

/* Everything is back where it was. */
static void world_close(void)
{
    assert_int_equal(requests_alive, 0);
    assert_int_equal(byte_type.object.refs, 0);
    assert_int_equal(pair_type.object.refs, 1);
    assert_int_equal(gap_type.object.refs, 1);
    assert_int_equal(compose_op.object.refs, 1);
    for (int i = 0; i < world_size; i++) {
        assert_int_equal(comms[i].object.refs, 1);
        assert_int_equal(comms[i].coll_tag, comms[0].coll_tag);
        wf_layout_drop(&comms[i]);
        wf_sched_fini(&instances[i]);
    }
    for (int i = 0; i < CONTEXTS * MAX_RANKS * MAX_RANKS; i++) {
        assert_int_equal(channels[i].sends.n, 0);
        assert_int_equal(channels[i].recvs.n, 0);
    }
}

#endif
