/* The simulated fabric, as a transport like any other. See fabric.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "sim/fabric.h"

#include <stdio.h>
#include <stdlib.h>

#include "progress/progress.h"
#include "protocol/order.h"

int wf_boot_memory_create(uint32_t size, struct wf_boot **ranks);

/* A container on its way, with its payload copied. */
struct parcel {
    struct parcel *next;
    weft_tx *tx;      /* to be completed when delivered, or NULL (short) */
    weft_sink *sink;  /* stage 2 has begun */
    uint64_t offset;  /* payload bytes delivered */
    weft_hdr hdr;
    size_t len;
    uint8_t data[];
};

struct weft_peer { /* the channel from ep to another process */
    weft_ep *ep;
    weft_loc *loc;
    uint32_t id;
    struct parcel *head, **tail;
    int queued;
    bool told_to_wait, dead;
    bool stopped; /* the receiver said EAGAIN: until rx_resume */
    weft_rma *reads; /* begun and not reported */
    unsigned connection; /* 0: none yet; see struct pair */
    int notice; /* status that peer_down is due with */
};

struct sim_config {
    int unused;
};

struct weft_ep {
    const weft_host *host;
    weft_core *core;
    uint32_t id;
    int fabric;
    bool dead;
    weft_peer *peers[SIM_MAX];
};

/* Two processes on one fabric. A connection is a number; what belongs to an
 * older one than the pair's is not delivered any more. */
struct pair {
    unsigned connection;
    bool down; /* calls fail */
    bool mute; /* nothing passes, and nobody knows */
};

enum { SIM_NUMBERS = 1 << 14 }; /* more than are under way */

/* The one world of this process: a transport has no other way to find it. */
static struct {
    struct sim *sim;
    struct sim_options options;
    weft_ep *eps[SIM_FABRICS][SIM_MAX];
    struct pair pairs[SIM_FABRICS][SIM_MAX][SIM_MAX]; /* lower rank first */
    uint64_t now;
    /* with failover: which numbers of a pair are initial messages */
    bool initial[SIM_MAX][SIM_MAX][SIM_NUMBERS];
} world;

enum { CHANNEL_DEPTH = 16 };
struct sim_counts sim_counts;

/* Linked with -Wl,--wrap=malloc: the core may be refused memory. */
static bool starving;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);

void *__wrap_malloc(size_t n)
{
    return starving ? NULL : __real_malloc(n);
}

unsigned sim_random(struct sim *s, unsigned below)
{
    return (unsigned)rand_r(&s->seed) % below;
}

/* ---- the transport ---------------------------------------------------------- */

static int ep_open(const weft_open *o, weft_ep **out)
{
    weft_ep *e = calloc(1, sizeof *e);

    if (!e)
        return WEFT_ENOMEM;
    e->host = o->host;
    e->core = o->core;
    e->id = o->loc_id;
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
    a->min_rma = 1000;
    a->rkey_len = sizeof(void *);
    a->max_short = world.options.max_short;
    a->max_eager = 4096;
    a->max_payload = world.options.max_payload;
    a->max_iov = 1;
    a->addr_len = sizeof e->id;
    a->cost = (weft_cost){sizeof(weft_cost), 1000, 100, 1000, 10};
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
    p->ep = e;
    p->loc = loc;
    p->id = id;
    p->tail = &p->head;
    e->peers[id] = p;
    *out = p;
    return WEFT_OK;
}

static void drop_parcels(weft_peer *p)
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

static struct pair *pair_of(const weft_ep *e, uint32_t id)
{
    return e->id < id ? &world.pairs[e->fabric][e->id][id]
                      : &world.pairs[e->fabric][id][e->id];
}

static weft_peer *other_end(const weft_peer *p)
{
    weft_ep *e = world.eps[p->ep->fabric][p->id];

    return e ? e->peers[p->ep->id] : NULL;
}

/* What has half landed at the other end comes to nothing. */
static void lose_landings(weft_peer *p, weft_ep *to)
{
    for (struct parcel *c = p->head; c && to; c = c->next) {
        weft_sink *sink = c->sink;
        c->sink = NULL;
        if (sink)
            to->host->rx_done(to->core, sink, WEFT_ELINK);
    }
}

/* What is on its way is lost, and what was lent comes back. */
static void sever(weft_peer *p, int notice)
{
    weft_ep *to = world.eps[p->ep->fabric][p->id];

    lose_landings(p, to);
    drop_parcels(p);
    p->dead = true;
    p->notice = notice;
}

static bool connected(const weft_peer *p)
{
    return p && p->connection &&
           p->connection == pair_of(p->ep, p->id)->connection;
}

/* The connection ends; p's own side may know already. */
static void disconnect(weft_peer *p, bool tell)
{
    weft_peer *other = other_end(p);
    bool both = connected(other) && other->connection == p->connection;

    pair_of(p->ep, p->id)->connection++;
    sever(p, tell ? WEFT_ELINK : 0);
    if (both)
        sever(other, WEFT_ELINK);
}

static int ep_peer_del(weft_peer *p, int abrupt)
{
    weft_ep *e = p->ep;

    if (!world.options.failover) {
        drop_parcels(p);
        return WEFT_OK;
    }
    if (connected(p))
        disconnect(p, false);
    else
        sever(p, 0);
    e->peers[p->id] = NULL;
    free(p);
    return WEFT_OK;
}

/* Nothing is sent before there is a connection. */
static bool call(weft_peer *p)
{
    struct pair *pair = pair_of(p->ep, p->id);

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
static bool refuse(weft_peer *p)
{
    if (p->queued < CHANNEL_DEPTH && sim_random(world.sim, 8))
        return false;
    if (!p->queued)
        return false; /* nothing would ever say tx_ready */
    p->told_to_wait = true;
    return true;
}

static void queue(weft_peer *p, struct parcel *c)
{
    c->next = NULL;
    *p->tail = c;
    p->tail = &c->next;
    p->queued++;
}

static struct parcel *parcel(const void *hdr, size_t len)
{
    struct parcel *c = calloc(1, sizeof *c + len);

    if (!c)
        abort();
    memcpy(&c->hdr, hdr, weft_hdr_len(hdr));
    c->len = len;
    return c;
}

/* The model is told of initial messages only. */
static bool initial(const weft_hdr *hdr)
{
    unsigned type = *(const uint8_t *)hdr & ~(unsigned)WF_SEQUENCED;

    return type == WF_EAGER || type == WF_NOTIFY;
}

static void note(const weft_peer *p, const weft_hdr *hdr)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;

    if (w->type & WF_SEQUENCED && wf_le32(w->seq)) /* not a PING or so */
        world.initial[p->ep->id][p->id][wf_le32(w->seq) % SIM_NUMBERS] =
            initial(hdr);
}

static int ep_send(weft_peer *p, weft_tx *t)
{
    struct parcel *c;
    struct iovec v;

    if (!call(p))
        return WEFT_ELINK;
    if (p->dead || refuse(p))
        return WEFT_EAGAIN;
    c = parcel(t->hdr, t->len);
    for (uint64_t off = 0; off < t->len; off += v.iov_len) {
        if (t->seg(t, off, &v, 1) != 1)
            abort();
        memcpy(c->data + off, v.iov_base, v.iov_len);
    }
    c->tx = t;
    note(p, &c->hdr);
    queue(p, c);
    return WEFT_OK;
}

static int ep_send_short(weft_peer *p, const weft_hdr *h, const void *data,
                         size_t len)
{
    struct parcel *c;

    if (!call(p))
        return WEFT_ELINK;
    if (p->dead || refuse(p))
        return WEFT_EAGAIN;
    c = parcel(h, len);
    if (len)
        memcpy(c->data, data, len);
    note(p, &c->hdr);
    queue(p, c);
    return WEFT_DONE;
}

/* One-sided reads: everybody's memory is here. Some are done at once, some
 * later, some are refused. */
static int ep_get(weft_peer *p, weft_rma *r)
{
    unsigned how = sim_random(world.sim, 4);

    if (p->dead || how == 0)
        return WEFT_EAGAIN;
    if (world.options.keys && *(uint64_t *)r->rkey != r->raddr)
        abort();
    memcpy(r->one.iov_base, (void *)(uintptr_t)r->raddr, r->len);
    if (how == 1)
        return WEFT_DONE;
    r->priv[0] = (uint64_t)(uintptr_t)p->reads;
    p->reads = r;
    return WEFT_OK;
}

static void finish_read(weft_peer *p)
{
    weft_rma *r = p->reads;

    p->reads = (weft_rma *)(uintptr_t)r->priv[0];
    p->ep->host->rma_done(p->ep->core, r, WEFT_OK);
}

/* A key is a piece of memory that holds the address it is for. */
static int ep_mr_reg(weft_ep *e, void *base, size_t len, unsigned access,
                     weft_mr **out)
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

extern const weft_plugin weft_plugin_1_self;
extern const weft_plugin *const weft_builtin[];
const weft_plugin *const weft_builtin[] = {&weft_plugin_1_self,
                                           &weft_plugin_1_sim, 0};

/* ---- delivery ----------------------------------------------------------------- */

/* The receiver's view of the sender, made if the sender calls first. */
static weft_loc *view(weft_ep *to, uint32_t from)
{
    if (!to->peers[from])
        to->host->locate(to->core, from);
    return to->peers[from]->loc;
}

static void retire(weft_peer *p, struct parcel *c)
{
    struct parcel **at = &p->head;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (!*at)
        p->tail = at;
    p->queued--;
    if (c->tx)
        p->ep->host->tx_done(p->ep->core, c->tx, WEFT_OK);
    free(c);
    if (!p->told_to_wait)
        return;
    p->told_to_wait = false;
    p->ep->host->tx_ready(p->ep->core, p->loc);
}

/* Tell the model of its messages. An ordered pair has taken those up to where it
 * counts on; it begins with 1. */
static uint32_t taken(weft_ep *to, uint32_t from)
{
    weft_peer *q = to->peers[from];

    return q && q->loc->order ? q->loc->order->expect : 1;
}

static void tell(weft_ep *to, uint32_t from, const weft_hdr *hdr,
                 uint32_t before)
{
    if (!world.options.arrived)
        return;
    if (!world.options.failover && initial(hdr))
        world.options.arrived(world.options.arg, from, to->id);
    if (world.options.failover)
        for (uint32_t n = before; n != taken(to, from); n++)
            if (world.initial[from][to->id][n % SIM_NUMBERS])
                world.options.arrived(world.options.arg, from, to->id);
}

static void land(weft_ep *to, weft_peer *p, struct parcel *c)
{
    uint64_t left = c->sink->len - c->offset;
    uint64_t n = 1 + sim_random(world.sim, 5000);
    struct iovec v;
    weft_sink *sink;
    uint32_t before;

    n = n < left ? n : left;
    while (n) {
        if (c->sink->seg(c->sink, c->offset, &v, 1) != 1)
            abort();
        if (v.iov_len > n)
            v.iov_len = n;
        memcpy(v.iov_base, c->data + c->offset, v.iov_len);
        c->offset += v.iov_len;
        n -= v.iov_len;
    }
    if (c->offset < c->sink->len)
        return;
    sink = c->sink;
    c->sink = NULL;
    before = taken(to, p->ep->id);
    to->host->rx_done(to->core, sink, WEFT_OK);
    if (world.options.failover)
        tell(to, p->ep->id, &c->hdr, before);
    retire(p, c);
}

/* One byte changes, of the header or of the payload; not of the length, which
 * a stream would misread. */
static void corrupt(struct parcel *c)
{
    size_t n = WEFT_HDR + c->len, at = sim_random(world.sim, (unsigned)n);
    uint8_t *byte = at < WEFT_HDR ? (uint8_t *)&c->hdr + at
                                  : c->data + (at - WEFT_HDR);

    if (at < 1 || at >= 8)
        *byte ^= (uint8_t)(1 + sim_random(world.sim, 255));
}

/* The receiver's end of the sender's connection. False: it has another one, of
 * which it will hear first. */
static bool meet(weft_ep *to, weft_peer *p)
{
    weft_peer *q = to->peers[p->ep->id];

    if (!q->connection)
        q->connection = p->connection;
    if (q->connection == p->connection && !q->dead)
        return true;
    if (!q->notice && !q->dead)
        sever(q, WEFT_ELINK);
    return false;
}

/* A late copy, as of a connection that was given up. */
static void again(weft_ep *to, weft_loc *from, struct parcel *c)
{
    weft_sink *sink = NULL;

    if (to->host->rx(to->core, from, &c->hdr, c->data, c->len, &sink) ==
        WEFT_OK)
        abort();
}

static void offer(weft_ep *to, weft_peer *p, struct parcel *c)
{
    weft_loc *from = view(to, p->ep->id);
    size_t have = c->len;
    uint32_t before;
    int r;

    if (world.options.failover && !meet(to, p))
        return;
    if (world.options.corrupt && sim_random(world.sim, 100) == 0)
        corrupt(c);
    before = taken(to, p->ep->id);
    if (have && sim_random(world.sim, 2))
        have = sim_random(world.sim, (unsigned)have + 1);
    starving = world.options.starve && sim_random(world.sim, 3) == 0;
    r = to->host->rx(to->core, from, &c->hdr, c->data, have, &c->sink);
    starving = false;
    if (r == WEFT_EAGAIN) {
        p->stopped = true;
        return;
    }
    tell(to, p->ep->id, &c->hdr, before);
    if (world.options.failover && r == WEFT_DONE && !sim_random(world.sim, 20))
        again(to, from, c);
    if (r == WEFT_OK)
        c->offset = have;
    else
        retire(p, c);
}

/* The next piece of what is landing, or the next header: only a fabric with
 * streams shows one while payload is to come. */
static void deliver(weft_ep *to, weft_peer *p)
{
    struct parcel *c = p->head;

    if (c->sink && world.options.streams)
        while (c->next && (!c->sink || sim_random(world.sim, 2)))
            c = c->next;
    if (c->sink) {
        land(to, p, c);
        return;
    }
    for (c = p->head; c->sink;)
        c = c->next;
    offer(to, p, c);
}

static bool busy(const weft_peer *p)
{
    if (!p || pair_of(p->ep, p->id)->mute)
        return false;
    return p->notice || (!p->stopped && (p->head || p->reads));
}

static int busy_channels(weft_peer **list)
{
    int n = 0;

    for (int i = 0; i < SIM_FABRICS * SIM_MAX; i++) {
        weft_ep *e = world.eps[i / SIM_MAX][i % SIM_MAX];
        for (int k = 0; e && k < SIM_MAX; k++)
            if (busy(e->peers[k]))
                list[n++] = e->peers[k];
    }
    return n;
}

/* ---- cables that break ------------------------------------------------------- */

static void report(weft_peer *p)
{
    int status = p->notice;

    p->notice = 0;
    p->ep->host->peer_down(p->ep->core, p->loc, status, "the cable was cut");
}

static weft_peer *end_of(int fabric, int a, int b)
{
    return world.eps[fabric][a] ? world.eps[fabric][a]->peers[b] : NULL;
}

void sim_trouble(struct sim *s)
{
    int f = (int)sim_random(s, SIM_FABRICS), a = (int)sim_random(s, (unsigned)s->n),
        b = (int)sim_random(s, (unsigned)s->n);
    weft_peer *p;

    if (a == b)
        return;
    p = end_of(f, a, b);
    switch (sim_random(s, 4)) {
    case 0:
        if (connected(p))
            disconnect(p, true);
        break;
    case 1:
        world.pairs[f][a < b ? a : b][a < b ? b : a].down = true;
        if (connected(p))
            disconnect(p, true);
        break;
    case 2:
        world.pairs[f][a < b ? a : b][a < b ? b : a].mute = true;
        break;
    default:
        sim_heal(s);
    }
}

void sim_heal(struct sim *s)
{
    for (int f = 0; f < SIM_FABRICS; f++)
        for (int a = 0; a < s->n; a++)
            for (int b = a; b < s->n; b++)
                world.pairs[f][a][b].down = world.pairs[f][a][b].mute = false;
}

static uint64_t sim_now(void *clock)
{
    return world.now += 100; /* no two looks at a clock are the same */
}

/* Something is not acknowledged yet, or a pair has no carrier. */
static bool unsettled(const struct sim *s)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->n; k++) {
            struct weft_loc *loc = s->ranks[i]->locs[k];
            if (loc && loc->order &&
                (loc->order->first || loc->order->owed ||
                 loc->order->at < 0 || loc->lane[0].fifo_head))
                return true;
        }
    return false;
}

/* Time passes for everybody. */
static bool wait_a_while(struct sim *s)
{
    if (!world.options.failover || !unsettled(s))
        return false;
    world.now += 500000;
    for (int i = 0; i < s->n; i++) {
        s->ranks[i]->rx_stalled = true;
        wf_progress_poll(s->ranks[i], UINT32_MAX);
    }
    return true;
}

bool sim_step(struct sim *s)
{
    weft_peer *busy[SIM_FABRICS * SIM_MAX * SIM_MAX], *p;
    int n;
    weft_ep *to;

    if (world.options.failover) {
        world.now += sim_random(s, 20000);
        wf_progress_poll(s->ranks[sim_random(s, (unsigned)s->n)], UINT32_MAX);
    }
    n = busy_channels(busy);

    if (!n && world.options.starve) { /* their progress resumes channels */
        for (int i = 0; i < s->n; i++)
            wf_progress_poll(s->ranks[i], UINT32_MAX);
        n = busy_channels(busy);
    }
    if (!n)
        return wait_a_while(s);
    p = busy[sim_random(s, (unsigned)n)];
    to = world.eps[p->ep->fabric][p->id];
    if (p->notice)
        report(p);
    else if (p->reads && (!p->head || sim_random(s, 2)))
        finish_read(p);
    else if (!to || to->dead)
        drop_parcels(p);
    else
        deliver(to, p);
    return true;
}

static void break_channel(weft_ep *e, weft_peer *p)
{
    weft_ep *other = world.eps[e->fabric][p->id];
    weft_peer *back = other ? other->peers[e->id] : NULL;

    if (back)
        lose_landings(back, e);
    drop_parcels(p);
    p->dead = true;
    e->host->peer_down(e->core, p->loc, WEFT_EPEER, "killed by the simulation");
}

void sim_kill(struct sim *s, uint32_t rank)
{
    weft_ep *victim = world.eps[0][rank];

    victim->dead = true;
    for (int i = 0; i < s->n; i++)
        if (world.eps[0][i] && (uint32_t)i != rank &&
            world.eps[0][i]->peers[rank])
            break_channel(world.eps[0][i], world.eps[0][i]->peers[rank]);
    for (int i = 0; i < SIM_MAX; i++)
        if (victim->peers[i])
            drop_parcels(victim->peers[i]);
    victim->host->ep_down(victim->core, WEFT_ESYS, "this process is dead");
}

/* ---- life of a job -------------------------------------------------------------- */

static struct wf_config *make_config(const char *more)
{
    struct wf_config *config;
    char text[1024];

    snprintf(text, sizeof text,
             "[core]\nlog = error\n%s\n[transport sim]\nplugin = sim\n%s%s",
             more ? more : "",
             world.options.failover
                 ? "[transport sim2]\nplugin = sim\n[route default]\n"
                   "use = sim, sim2\nfailback = 20ms\npolicy = "
                 : "[route default]\nuse = sim\n",
             !world.options.failover ? ""
             : world.options.stripe  ? "stripe\n"
                                     : "order\n");
    if (wf_config_from_text(text, &config, stderr) != 0)
        abort();
    return config;
}

void sim_start(struct sim *s, const struct sim_options *o)
{
    struct wf_boot *boots[SIM_MAX];

    memset(&world, 0, sizeof world);
    *s = (struct sim){.n = o->ranks, .seed = o->seed};
    world.sim = s;
    world.options = *o;
    world.now = 1000000000;
    if (!world.options.max_payload)
        world.options.max_payload = 65536;
    if (wf_boot_memory_create((uint32_t)o->ranks, boots) != 0)
        abort();
    for (int i = 0; i < o->ranks; i++) {
        struct wf_instance_params p = {.boot = boots[i],
                                       .config = make_config(o->config)};
        if (o->failover)
            p.now_ns = sim_now;
        if (wf_instance_create(&p, &s->ranks[i]) != 0 ||
            wf_world_begin(s->ranks[i]) != 0) {
            fprintf(stderr, "%s\n", wf_error_last()->text);
            abort();
        }
    }
}

void sim_stop(struct sim *s)
{
    while (sim_step(s))
        ;
    for (int i = 0; i < s->n; i++)
        for (struct wf_ordered *o = s->ranks[i]->orders; o; o = o->next_order) {
            sim_counts.moves += o->counts[WF_ORDER_MOVES];
            sim_counts.resent += o->counts[WF_ORDER_RESENT];
            sim_counts.duplicates += o->counts[WF_ORDER_DUPLICATES];
            sim_counts.damaged += o->counts[WF_ORDER_DAMAGED];
            sim_counts.striped += o->counts[WF_ORDER_STRIPED];
        }
    for (int i = 0; i < s->n; i++)
        wf_instance_destroy(s->ranks[i]);
}
