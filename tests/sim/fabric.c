/* The simulated fabric, as a transport like any other. See fabric.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/dl.h"
#include "../fake/wrapped_memory.h"
#include "sim/fabric_inside.h"

#include <stdlib.h>

struct sim_world world;

struct sim_config {
    int unused;
};

enum { CHANNEL_DEPTH = 16 };

/* Linked with -Wl,--wrap=malloc: the core may be refused memory. */
void *__wrap_malloc(size_t n)
{
    return world.starving ? NULL : __real_malloc(n);
}

unsigned sim_random(struct sim *s, unsigned below)
{
    return (unsigned)rand_r(&s->seed) % below;
}

/* ---- the transport ------------------------------------------------------- */

static int ep_open(const weft_open *o, weft_ep **out)
{
    weft_ep *e = calloc(1, sizeof *e);

    if (!e)
        return WEFT_ENOMEM;
    e->host = o->host;
    e->core = o->core;
    e->id = world.opening;
    e->fabric = strcmp(o->instance, "sim2") == 0;
    world.eps[e->fabric][e->id] = e;
    *out = e;
    return WEFT_OK;
}

static void ep_close(weft_ep *e)
{
    world.eps[e->fabric][e->id] = NULL;
    for (int i = 0; i < SIM_MAX; i++)
        free(e->peers[i]);
    free(e);
}

static int ep_attr(weft_ep *e, weft_attr *a)
{
    a->caps = WEFT_CAP_LOCAL | WEFT_CAP_REMOTE;
    if (world.options.get)
        a->caps |= WEFT_CAP_GET | (world.options.keys ? 0 : WEFT_CAP_NO_MR);
    a->min_get = 1000;
    a->rkey_len = sizeof(void *);
    a->max_short = world.options.max_short;
    a->max_eager = 4096;
    a->max_payload = world.options.max_payload;
    a->cost = (weft_cost){sizeof(weft_cost), 1000, 100, 1000};
    return WEFT_OK;
}

static int ep_address(weft_ep *e, void *buf, size_t *len)
{
    memcpy(buf, &e->id, *len = sizeof e->id);
    return WEFT_OK;
}

static int ep_reach(weft_ep *e, const void *addr, size_t len, weft_cost *c)
{
    return len == sizeof e->id && memcmp(addr, &e->id, len) != 0
               ? WEFT_OK
               : WEFT_EUNREACH;
}

static int ep_peer_add(weft_ep *e, weft_loc *loc, uint32_t id, const void *addr,
                       size_t len, weft_peer **out)
{
    weft_peer *p = calloc(1, sizeof *p);

    if (!p)
        return WEFT_ENOMEM;
    if (e->dead) {
        free(p);
        return WEFT_EPEER;
    }
    p->ep = e;
    p->loc = loc;
    memcpy(&p->id, addr, sizeof p->id);
    p->tail = &p->head;
    e->peers[p->id] = p;
    *out = p;
    return WEFT_OK;
}

void sim_drop_parcels(weft_peer *p)
{
    while (p->head) {
        struct parcel *c = p->head;
        p->head = c->next;
        if (c->tx)
            p->ep->host->tx_done(p->ep->core, c->tx, WEFT_ELINK);
        free(c);
    }
    p->tail = &p->head;
    p->queued = 0;
}

struct pair *sim_pair_of(const weft_ep *e, uint32_t id)
{
    return e->id < id ? &world.pairs[e->fabric][e->id][id]
                      : &world.pairs[e->fabric][id][e->id];
}

static weft_peer *other_end(const weft_peer *p)
{
    weft_ep *e = world.eps[p->ep->fabric][p->id];

    return e ? e->peers[p->ep->id] : NULL;
}

void sim_lose_landings(weft_peer *p, weft_ep *to)
{
    for (struct parcel *c = p->head; c && to; c = c->next) {
        weft_sink *sink = c->sink;
        c->sink = NULL;
        if (sink)
            to->host->rx_done(to->core, sink, WEFT_ELINK);
    }
}

void sim_sever(weft_peer *p, int notice)
{
    weft_ep *to = world.eps[p->ep->fabric][p->id];

    sim_lose_landings(p, to);
    sim_drop_parcels(p);
    p->dead = true;
    p->notice = notice;
}

bool sim_connected(const weft_peer *p)
{
    return p && p->connection &&
           p->connection == sim_pair_of(p->ep, p->id)->connection;
}

void sim_disconnect(weft_peer *p, bool tell)
{
    weft_peer *other = other_end(p);
    bool both = sim_connected(other) && other->connection == p->connection;

    sim_pair_of(p->ep, p->id)->connection++;
    sim_sever(p, tell ? WEFT_ELINK : 0);
    if (both)
        sim_sever(other, WEFT_ELINK);
}

static int ep_peer_del(weft_peer *p, int abrupt)
{
    weft_ep *e = p->ep;

    if (!world.options.failover) {
        sim_drop_parcels(p);
        return WEFT_OK;
    }
    if (sim_connected(p))
        sim_disconnect(p, false);
    else
        sim_sever(p, 0);
    e->peers[p->id] = NULL;
    free(p);
    return WEFT_OK;
}

/* Nothing is sent before there is a connection. */
static bool make_call(weft_peer *p)
{
    struct pair *pair = sim_pair_of(p->ep, p->id);

    if (p->connection || !world.options.failover)
        return !p->dead;
    if (!pair->connection)
        pair->connection = 1;
    p->connection = pair->connection;
    if (pair->down) {
        p->dead = true;
        p->notice = WEFT_ELINK;
    }
    return true; /* the news comes later */
}

/* Now and then there is no room, as on a real fabric. */
static bool refuse_call(weft_peer *p)
{
    if (p->queued < CHANNEL_DEPTH && sim_random(world.sim, 8))
        return false;
    if (!p->queued)
        return false; /* nothing would ever say tx_ready */
    p->told_to_wait = true;
    return true;
}

static void queue_message(weft_peer *p, struct parcel *c)
{
    c->next = NULL;
    *p->tail = c;
    p->tail = &c->next;
    p->queued++;
}

static struct parcel *make_parcel(const void *hdr, size_t len)
{
    struct parcel *c = calloc(1, sizeof *c + len);

    if (!c)
        abort();
    memcpy(&c->hdr, hdr, weft_hdr_len(hdr));
    c->len = len;
    return c;
}

bool sim_initial(const weft_hdr *hdr)
{
    unsigned type = *(const uint8_t *)hdr & ~(unsigned)WF_SEQUENCED;

    return type == WF_EAGER || type == WF_NOTIFY;
}

static void note_event(const weft_peer *p, const weft_hdr *hdr)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;

    if (w->type & WF_SEQUENCED && wf_le32(w->seq)) /* not a PING or so */
        world.initial[p->ep->id][p->id][wf_le32(w->seq) % SIM_NUMBERS] =
            sim_initial(hdr);
}

static int ep_send(weft_peer *p, weft_tx *t)
{
    struct parcel *c;
    struct iovec v;

    if (!make_call(p))
        return WEFT_ELINK;
    if (p->dead || refuse_call(p))
        return WEFT_EAGAIN;
    c = make_parcel(t->hdr, t->len);
    for (uint64_t off = 0; off < t->len; off += v.iov_len) {
        if (t->seg(t, off, &v, 1) != 1)
            abort();
        memcpy(c->data + off, v.iov_base, v.iov_len);
    }
    c->tx = t;
    note_event(p, &c->hdr);
    queue_message(p, c);
    return WEFT_OK;
}

static int ep_send_short(weft_peer *p, const weft_hdr *h, const void *data,
                         size_t len, unsigned flags)
{
    struct parcel *c;

    if (!make_call(p))
        return WEFT_ELINK;
    if (p->dead || refuse_call(p))
        return WEFT_EAGAIN;
    c = make_parcel(h, len);
    if (len)
        memcpy(c->data, data, len);
    note_event(p, &c->hdr);
    queue_message(p, c);
    return WEFT_DONE;
}

/* One-sided reads: everybody's memory is here. Some are done at once, some
 * later, some are refused. */
static int ep_get(weft_peer *p, weft_get *r)
{
    unsigned how = sim_random(world.sim, 4);

    if (p->dead || how == 0)
        return WEFT_EAGAIN;
    if (world.options.keys && *(uint64_t *)r->rkey != r->raddr)
        abort();
    memcpy(r->one.iov_base, (void *)(uintptr_t)r->raddr, r->one.iov_len);
    if (how == 1)
        return WEFT_DONE;
    r->priv[0] = (uint64_t)(uintptr_t)p->reads;
    p->reads = r;
    return WEFT_OK;
}

void sim_finish_read(weft_peer *p)
{
    weft_get *r = p->reads;

    p->reads = (weft_get *)(uintptr_t)r->priv[0];
    p->ep->host->get_done(p->ep->core, r, WEFT_OK);
}

/* A key is a piece of memory that holds the address it is for. */
static int ep_mr_reg(weft_ep *e, void *base, size_t len, weft_mr **out)
{
    uint64_t *key = malloc(sizeof *key);

    if (!key)
        return WEFT_ENOMEM;
    *key = (uint64_t)(uintptr_t)base;
    *out = (weft_mr *)key;
    return WEFT_OK;
}

static void ep_mr_dereg(weft_ep *e, weft_mr *mr)
{
    free(mr);
}

static int ep_mr_pack(weft_ep *e, weft_mr *mr, void *rkey, size_t *len)
{
    memcpy(rkey, mr, *len = sizeof(uint64_t));
    return WEFT_OK;
}

static int ep_rkey_open(weft_peer *p, const void *rkey, size_t len,
                        weft_rkey **out)
{
    uint64_t *key = malloc(sizeof *key);

    if (len != sizeof *key)
        abort();
    if (!key)
        return WEFT_ENOMEM;
    memcpy(key, rkey, len);
    *out = (weft_rkey *)key;
    return WEFT_OK;
}

static void ep_rkey_close(weft_peer *p, weft_rkey *rkey)
{
    free(rkey);
}

static int ep_progress(weft_ep *e, int budget)
{
    return 0; /* sim_step delivers */
}

static int ep_drain(weft_ep *e)
{
    return WEFT_OK; /* sim_stop delivers everything first */
}

/* p is the receiver's view of the sender whose channel was stopped. */
static void ep_rx_resume(weft_peer *p)
{
    weft_ep *from = world.eps[p->ep->fabric][p->id];

    if (from && from->peers[p->ep->id])
        from->peers[p->ep->id]->stopped = false;
}

static const weft_ops ops = {.size = sizeof ops,
                             .open = ep_open,
                             .close = ep_close,
                             .attr = ep_attr,
                             .address = ep_address,
                             .reach = ep_reach,
                             .peer_add = ep_peer_add,
                             .peer_del = ep_peer_del,
                             .send = ep_send,
                             .progress = ep_progress,
                             .drain = ep_drain,
                             .send_short = ep_send_short,
                             .rx_resume = ep_rx_resume,
                             .mr_reg = ep_mr_reg,
                             .mr_dereg = ep_mr_dereg,
                             .mr_pack = ep_mr_pack,
                             .rkey_open = ep_rkey_open,
                             .rkey_close = ep_rkey_close,
                             .get = ep_get};
static const weft_option options[] = {{0}};
WEFT_PLUGIN(sim, "1.0", "a fabric inside one process", options,
            struct sim_config, &ops);

extern const weft_plugin weft_plugin_2_self;
extern const weft_plugin *const weft_builtin[];
const weft_plugin *const weft_builtin[] = {&weft_plugin_2_self,
                                           &weft_plugin_2_sim, 0};
