/* Endpoints, partner processes and time limits of the contract suite.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

void broken(const char *file, int line, const char *what, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "# %s:%d: does not hold: %s\n#   ", file, line, what);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(1);
}

uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

unsigned chance(unsigned *seed, unsigned n)
{
    return n > 1 ? (unsigned)rand_r(seed) % n : 0;
}

struct wait_limit start_limit(void)
{
    return (struct wait_limit){now_ns() + WAIT_LIMIT * 1000000000ull, 0};
}

void wait_limit_turn(struct wait_limit *p, struct world *w, const char *what)
{
    int status;

    take_turn(w);
    if (++p->turns % 256)
        return;
    sched_yield(); /* what is awaited may need this processor */
    check(now_ns() < p->end, "waited %d seconds for: %s", WAIT_LIMIT, what);
    if (w->partner > 0 && waitpid(w->partner, &status, WNOHANG) > 0) {
        w->partner = 0;
        check(status == 0 ||
                  (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
              "the partner process failed while we waited for: %s", what);
    }
}

/* ---- endpoints ----------------------------------------------------------- */

static void read_shape(weft_core *c)
{
    const weft_ops *ops = c->world->plugin->ops;
    int rc;

    c->attr = (weft_attr){.size = sizeof c->attr};
    rc = ops->attr(c->ep, &c->attr);
    check(rc >= 0, "attr() failed: %d", rc);
    c->blob_len[c->id] = BLOB;
    rc = ops->address(c->ep, c->blob[c->id], &c->blob_len[c->id]);
    check(rc >= 0, "address() failed: %d", rc);
}

void make_seed(const struct world *w, uint32_t id, uint8_t *seed)
{
    for (int i = 0; i < WEFT_SEED; i++)
        seed[i] = w->job_secret[i] ^ (uint8_t)(id * 0x11);
}

void side_derive(weft_core *c, uint32_t id)
{
    const weft_ops *ops = c->world->plugin->ops;
    uint8_t seed[WEFT_SEED];
    int rc;

    make_seed(c->world, id, seed);
    c->blob_len[id] = BLOB;
    rc = ops->addr_derive(c->ep, id, seed, c->blob[id], &c->blob_len[id]);
    check(rc == WEFT_OK, "addr_derive() answered %d", rc);
    check(c->blob_len[id] <= BLOB, "an address of %zu bytes", c->blob_len[id]);
}

/* Open an endpoint as side id; the result of open(). */
static int open_endpoint(struct world *w, weft_core *c)
{
    uint8_t seed[WEFT_SEED];
    weft_open o = {.size = sizeof o,
                   .loc_id = c->id,
                   .host = &conform_host,
                   .core = c,
                   .instance = w->plugin->name,
                   .cfg = c->cfg,
                   .node_id = 7,
                   .local_index = c->id,
                   .local_count = w->local_count ? w->local_count : 2,
                   .flags = WEFT_OPEN_ONE_HOST,
                   .start_ns = w->start_ns,
                   .seed = w->seeded ? seed : NULL};
    int rc;

    make_seed(w, c->id, seed);
    rc = w->plugin->ops->open(&o, &c->ep);
    memset(seed, 0, sizeof seed); /* it lasts no longer */
    return rc;
}

weft_core *side_try_open(struct world *w, uint32_t id, const char *secret,
                         int *rc)
{
    weft_core *c = calloc(1, sizeof *c);
    const weft_plugin *p = w->plugin;
    const char *bad;

    check(c, "out of memory");
    *c = (weft_core){.world = w, .id = id, .seed = w->seed + id};
    c->cfg = calloc(1, p->cfg_size + 1);
    bad = config_fill(p, c->cfg, w->settings, w->settings_n);
    check(!bad, "%s", bad);
    c->key = key_of(secret ? secret : "the key of the job");
    *rc = open_endpoint(w, c);
    if (*rc == WEFT_OK)
        return c;
    free(c->cfg);
    free(c);
    return NULL;
}

weft_core *side_open(struct world *w, uint32_t id, const char *secret)
{
    int rc;
    weft_core *c = side_try_open(w, id, secret, &rc);

    check(c, "open() failed: %d", rc);
    for (uint32_t i = 0; i < SIDES; i++) {
        c->loc[i].core = c;
        c->loc[i].id = i;
    }
    read_shape(c);
    return w->side[id] = c;
}

void side_meet(weft_core *a, weft_core *b)
{
    memcpy(a->blob[b->id], b->blob[b->id], BLOB);
    memcpy(b->blob[a->id], a->blob[a->id], BLOB);
    a->blob_len[b->id] = b->blob_len[b->id];
    b->blob_len[a->id] = a->blob_len[a->id];
}

struct weft_loc *side_peer(weft_core *c, uint32_t id)
{
    struct weft_loc *l = &c->loc[id];
    int rc = WEFT_OK;

    if (l->peer)
        return l;
    check(c->blob_len[id], "side %u does not know the address of %u", c->id,
          id);
    rc = c->world->plugin->ops->peer_add(c->ep, l, id, c->blob[id],
                                         c->blob_len[id], &l->peer);
    check(rc < 0 || l->peer, "peer_add() succeeded without a peer");
    return rc < 0 ? NULL : l;
}

static void keep_house(weft_core *c)
{
    const weft_ops *ops = c->world->plugin->ops;

    for (int i = 0; i < SIDES; i++) {
        struct weft_loc *l = &c->loc[i];
        if (!l->paused || chance(&c->seed, 8))
            continue;
        l->paused = false;
        if (WEFT_HAS(ops, weft_ops, rx_resume) && l->peer && !l->downs)
            ops->rx_resume(l->peer);
    }
}

int take_turn(struct world *w)
{
    int n = 0;

    for (int i = 0; i < SIDES; i++) {
        weft_core *c = w->side[i];
        if (!c)
            continue;
        if (w->die_in && --w->die_in == 0)
            kill(getpid(), SIGKILL);
        int did = w->plugin->ops->progress(c->ep, BUDGET);
        check(did >= 0, "progress() answered %d", did);
        n += did;
        keep_house(c);
    }
    return n;
}

void side_close(weft_core *c)
{
    struct world *w = c->world;

    for (int i = 0; i < SIDES; i++)
        if (c->loc[i].peer) {
            int rc = w->plugin->ops->peer_del(c->loc[i].peer, 1);
            check(rc == WEFT_OK, "peer_del(abrupt) answered %d", rc);
            check(!c->loc[i].lent && !c->loc[i].sinks,
                  "peer_del(abrupt) kept %d containers and %d sinks",
                  c->loc[i].lent, c->loc[i].sinks);
        }
    w->plugin->ops->close(c->ep);
    free(c->cfg);
    w->side[c->id] = NULL;
    free(c);
}

void side_leave(weft_core *c)
{
    until(c->world, c->world->plugin->ops->drain(c->ep) != WEFT_EAGAIN);
    side_close(c);
}

void pair_open(struct world *w, weft_core **a, weft_core **b)
{
    *a = *b = side_open(w, 0, NULL);
    if ((*a)->attr.caps & (WEFT_CAP_LOCAL | WEFT_CAP_REMOTE)) {
        *b = side_open(w, 1, NULL);
        side_meet(*a, *b);
    }
    check(side_peer(*a, (*b)->id), "peer_add() failed");
}

static bool is_nothing_lent(const weft_core *c)
{
    for (int i = 0; i < SIDES; i++)
        if (c->loc[i].lent || c->loc[i].sinks)
            return false;
    return true;
}

bool is_settled(const weft_core *a, const weft_core *b)
{
    const struct weft_loc *to = &a->loc[b->id], *from = &b->loc[a->id];

    check(!to->downs, "side %u lost side %u: %s", a->id, b->id, to->why);
    check(!from->downs, "side %u lost side %u: %s", b->id, a->id, from->why);
    return from->got == to->sent && from->urgent_got == to->urgent_sent &&
           is_nothing_lent(a) && is_nothing_lent(b);
}

void pair_close(struct world *w)
{
    for (int i = 0; i < SIDES; i++)
        if (w->side[i])
            side_leave(w->side[i]);
}

/* ---- a partner process --------------------------------------------------- */

void partner_start(struct world *w, void (*play)(struct world *))
{
    int fd[2];

    if (strcmp(w->plugin->name, "thread") == 0)
        exit(SKIPPED); /* its peers are threads of one process */
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) == 0,
          "socketpair: %s", strerror(errno));
    fflush(NULL);
    w->partner = fork();
    check(w->partner >= 0, "fork: %s", strerror(errno));
    w->channel = fd[w->partner == 0];
    close(fd[w->partner != 0]);
    if (w->partner > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    w->seed += 1000;
    play(w);
    exit(0);
}

static void transfer_whole(int fd, void *buf, size_t n, bool out)
{
    char *p = buf;

    while (n) {
        ssize_t k = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);
        if (k < 0 && errno == EINTR)
            continue;
        check(k > 0, "the partner process has ended");
        p += k;
        n -= (size_t)k;
    }
}

void partner_swap(struct world *w, const void *mine, void *theirs, size_t n)
{
    transfer_whole(w->channel, (void *)(uintptr_t)mine, n, true);
    transfer_whole(w->channel, theirs, n, false);
}

weft_core *partner_meet(struct world *w, uint32_t me)
{
    weft_core *c = side_open(w, me, NULL);
    uint32_t other = 1 - me;

    partner_swap(w, c->blob[me], c->blob[other], BLOB);
    partner_swap(w, &c->blob_len[me], &c->blob_len[other], sizeof(size_t));
    check(side_peer(c, other), "peer_add() failed");
    return c;
}

bool partner_spoke(struct world *w)
{
    char c;

    return recv(w->channel, &c, 1, MSG_DONTWAIT) == 1;
}

void partner_tell(struct world *w)
{
    char c = 't';

    transfer_whole(w->channel, &c, 1, true);
}

void partner_end(struct world *w)
{
    struct wait_limit p = start_limit();
    int status = 0;

    while (w->partner > 0 && waitpid(w->partner, &status, WNOHANG) == 0) {
        struct pollfd none = {.fd = -1};
        take_turn(w);
        poll(&none, 1, 1);
        check(now_ns() < p.end, "the partner process does not end");
    }
    check(status == 0, "the partner process failed");
    close(w->channel);
    w->partner = 0;
}
