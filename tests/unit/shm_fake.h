/* A core for one transport: what the shm tests drive it with.
 *
 * Each node is one endpoint with numbered peers. Messages carry a sequence
 * number in env0 and a pattern as payload; the fake core checks order, header
 * and every byte, and answers deliveries in every way that the contract
 * allows.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SHM_FAKE_H
#define SHM_FAKE_H

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <dirent.h>
#include <cmocka.h>

#include "weft_transport.h"

extern const weft_plugin weft_plugin_1_shm;

enum { FAKE_PEERS = 80, FAKE_MAX = 2u << 20 };

/* How the fake core answers a delivery. */
enum fake_answer { TAKE, SINK_ONE, SINK_SEG, SINK_SHORT, SKIP_IT, PAUSE };

struct fake_node;
struct weft_loc {
    struct fake_node *node;
    uint32_t id;
    weft_peer *peer;
    uint64_t sent, got; /* sequence numbers */
    int up, down, ready, status;
    char why[256];
    /* the delivery under way */
    weft_sink sink;
    bool sinking;
    uint64_t sink_seq, sink_have;
    unsigned char *into;
    bool paused;
    uint64_t pause_at;
    int lent, tx_back, tx_bad; /* containers out, and tx_done calls */
    int rx_bad;          /* rx_done with an error */
};

struct weft_core {
    struct fake_node *node;
};

struct fake_node {
    weft_core core;
    uint32_t id, nprocs;
    weft_ep *ep;
    struct weft_loc loc[FAKE_PEERS];
    unsigned char address[FAKE_PEERS][256];
    size_t address_len;
    int key;
    bool answer_random, stranger;
    bool stands_in; /* for a program that computes */
    enum fake_answer answer;
    unsigned seed;
    int urgent_seen, logs;
    uint64_t deliveries;
    uint32_t max_short;
};

static inline unsigned char fake_byte(uint64_t seq, uint64_t off)
{
    return (unsigned char)(seq * 131 + off * 7 + (off >> 8));
}

static inline void fake_fill(unsigned char *to, uint64_t seq, uint64_t len)
{
    for (uint64_t i = 0; i < len; i++)
        to[i] = fake_byte(seq, i);
}

static inline bool fake_same(const void *p, uint64_t seq, uint64_t off,
                             uint64_t len)
{
    const unsigned char *b = p;
    for (uint64_t i = 0; i < len; i++)
        if (b[i] != fake_byte(seq, off + i))
            return false;
    return true;
}

/* type 1; flags: short or not, bit 0 urgent */
static inline void fake_header(weft_hdr *h, uint64_t seq, uint32_t len,
                               bool is_short, bool urgent)
{
    unsigned char *b = (unsigned char *)h;
    unsigned flags = (is_short ? (unsigned)WEFT_HDR_SHORT : 0) | urgent;
    b[0] = 1;
    b[1] = (unsigned char)(seq * 3);
    b[2] = (unsigned char)flags;
    b[3] = (unsigned char)(flags >> 8);
    for (int i = 0; i < 4; i++)
        b[4 + i] = (unsigned char)(len >> (8 * i));
    h->w[1] = seq;
    h->w[2] = ~seq * 77;
    if (!is_short)
        for (int i = 3; i < 8; i++)
            h->w[i] = seq * (uint64_t)i + 12345;
}

static inline void fake_check_header(const weft_hdr *h, uint64_t seq)
{
    const unsigned char *b = (const unsigned char *)h;
    assert_int_equal(b[0], 1);
    assert_int_equal(b[1], (unsigned char)(seq * 3));
    assert_true(h->w[2] == ~seq * 77);
    if (weft_hdr_len(h) == WEFT_HDR)
        for (int i = 3; i < 8; i++)
            assert_true(h->w[i] == seq * (uint64_t)i + 12345);
}

static inline struct weft_loc *fake_sink_loc(weft_sink *s)
{
    return (struct weft_loc *)(void *)((char *)s -
                                       offsetof(struct weft_loc, sink));
}

static inline int fake_sink_seg(weft_sink *s, uint64_t off, struct iovec *v,
                                int max)
{
    struct weft_loc *l = fake_sink_loc(s);
    int n = 0;
    while (n < max && off < s->len) {
        uint64_t piece = 1 + (off * 2654435761u >> 7) % 9001;
        if (piece > s->len - off)
            piece = s->len - off;
        v[n].iov_base = l->into + off;
        v[n++].iov_len = piece;
        off += piece;
    }
    return n;
}

static inline int fake_begin_sink(struct weft_loc *l, enum fake_answer how,
                                  uint64_t seq, const void *data, size_t have,
                                  uint32_t plen, weft_sink **sink)
{
    assert_false(l->sinking);
    memset(&l->sink, 0, sizeof l->sink);
    l->sink.len = plen;
    if (how == SINK_SHORT && plen > 2)
        l->sink.len = have + (plen - have) / 2;
    l->into = malloc(plen + 1);
    memset(l->into, 0xee, plen + 1);
    memcpy(l->into, data ? data : "", have);
    if (how != SINK_SEG) {
        l->sink.one.iov_base = l->into;
        l->sink.one.iov_len = l->sink.len;
    } else {
        l->sink.seg = fake_sink_seg;
    }
    l->sinking = true;
    l->sink_seq = seq;
    l->sink_have = have;
    *sink = &l->sink;
    return WEFT_OK;
}

static inline int fake_rx(weft_core *core, weft_loc *l, const weft_hdr *h,
                          const void *data, size_t have, weft_sink **sink)
{
    struct fake_node *n = core->node;
    uint64_t seq = h->w[1];
    uint32_t plen = weft_hdr_plen(h);
    const unsigned char *b = (const unsigned char *)h;
    if (b[2] & 1) { /* urgent: outside the order */
        fake_check_header(h, seq);
        n->urgent_seen++;
        assert_true(have == plen && fake_same(data, seq, 0, have));
        return WEFT_DONE;
    }
    enum fake_answer how = n->answer;
    if (n->answer_random)
        how = (enum fake_answer)(rand_r(&n->seed) % 6);
    if (how == PAUSE && l->pause_at != seq) {
        l->pause_at = seq;
        l->paused = true;
        return WEFT_EAGAIN;
    }
    assert_true(l->got + 1 == seq);
    l->got = seq;
    n->deliveries++;
    fake_check_header(h, seq);
    assert_true(have <= plen && fake_same(data, seq, 0, have));
    if (how == SKIP_IT)
        return WEFT_SKIP;
    if (have == plen && (how == TAKE || how == PAUSE))
        return WEFT_DONE;
    return fake_begin_sink(l, how, seq, data, have, plen, sink);
}

static inline void fake_rx_done(weft_core *core, weft_sink *s, int status)
{
    struct weft_loc *l = fake_sink_loc(s);
    (void)core;
    assert_true(l->sinking);
    l->sinking = false;
    if (status == WEFT_OK) {
        assert_true(fake_same(l->into, l->sink_seq, 0, s->len));
        assert_int_equal(l->into[s->len], 0xee); /* nothing beyond */
    } else {
        l->rx_bad++;
    }
    free(l->into);
    l->into = NULL;
}

/* Containers that the tests send: header and payload in one allocation. */
struct fake_tx {
    weft_tx tx;
    struct weft_loc *to;
    struct iovec iov[3];
    unsigned char *payload;
    unsigned char room[WEFT_HEADROOM];
    alignas(64) weft_hdr hdr;
};

static inline void fake_tx_free(struct fake_tx *t)
{
    free(t->payload);
    free(t);
}

static inline void fake_tx_done(weft_core *core, weft_tx *tx, int status)
{
    struct fake_tx *t = (struct fake_tx *)(void *)tx;
    (void)core;
    t->to->tx_back++;
    if (status != WEFT_OK)
        t->to->tx_bad++;
    fake_tx_free(t);
}

/* priv[5] tells the test: 1000 + status. */
static inline void fake_rma_done(weft_core *core, weft_rma *r, int status)
{
    (void)core;
    r->priv[5] = (uint64_t)(1000 + status);
}

static inline void fake_tx_ready(weft_core *core, weft_loc *l)
{
    (void)core;
    l->ready++;
}

static inline void fake_peer_up(weft_core *core, weft_loc *l)
{
    (void)core;
    l->up++;
}

static inline void fake_peer_down(weft_core *core, weft_loc *l, int status,
                                  const char *why)
{
    (void)core;
    l->down++;
    l->status = status;
    snprintf(l->why, sizeof l->why, "%s", why);
}

static inline uint64_t fake_now(weft_core *core)
{
    struct timespec t;
    (void)core;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void fake_log(weft_core *core, int level, const char *fmt, ...)
{
    core->node->logs++;
    if (getenv("SHM_TEST_LOG")) {
        va_list args;
        va_start(args, fmt);
        fprintf(stderr, "node %u, level %d: ", core->node->id, level);
        vfprintf(stderr, fmt, args);
        fputc('\n', stderr);
        va_end(args);
    }
}

static inline int fake_helping(weft_core *core)
{
    return core->node->stands_in;
}

/* The shape of the real handshake, without the cryptography. */
struct fake_hello {
    int key, step;
    uint32_t from, to;
};
struct weft_auth {
    uint32_t other;
};

static inline void fake_auth_out(void *out, size_t *n, struct fake_hello h)
{
    memset(out, 0, WEFT_AUTH_MSG);
    memcpy(out, &h, sizeof h);
    *n = WEFT_AUTH_MSG;
}

static inline int fake_auth_end(weft_auth **auth, int rc)
{
    free(*auth);
    *auth = NULL;
    return rc;
}

static inline int fake_auth(weft_core *core, weft_auth **auth, const void *in,
                            size_t len, void *out, size_t *n, uint32_t *id)
{
    struct fake_node *me = core->node;
    struct fake_hello h;
    if (!out)
        return fake_auth_end(auth, WEFT_OK);
    *n = 0;
    if (!*auth && !in) {
        *auth = calloc(1, sizeof **auth);
        (*auth)->other = *id;
        fake_auth_out(out, n, (struct fake_hello){me->key, 1, me->id, *id});
        return WEFT_EAGAIN;
    }
    if (len != WEFT_AUTH_MSG)
        return fake_auth_end(auth, WEFT_EPROTO);
    memcpy(&h, in, sizeof h);
    if (h.key != me->key || h.step == 9) {
        if (h.step != 9)
            fake_auth_out(out, n, (struct fake_hello){me->key, 9, 0, 0});
        return fake_auth_end(auth, WEFT_EAUTH);
    }
    if (h.to != me->id)
        return fake_auth_end(auth, WEFT_EUNREACH);
    *id = h.from;
    if (h.step < 3)
        fake_auth_out(out, n,
                      (struct fake_hello){me->key, h.step + 1, me->id, h.from});
    if (h.step > 1)
        return fake_auth_end(auth, WEFT_OK);
    *auth = calloc(1, sizeof **auth);
    return WEFT_EAGAIN;
}

static inline int fake_add(struct fake_node *n, uint32_t id)
{
    struct weft_loc *l = &n->loc[id];
    const weft_ops *ops = weft_plugin_1_shm.ops;
    if (l->peer)
        return WEFT_OK;
    l->node = n;
    l->id = id;
    return ops->peer_add(n->ep, l, id, n->address[id], n->address_len,
                         &l->peer);
}

static inline int fake_locate(weft_core *core, uint32_t id)
{
    struct fake_node *n = core->node;
    if (id >= n->nprocs || n->stranger)
        return WEFT_EUNREACH;
    return fake_add(n, id);
}

static inline const weft_host *fake_host(void)
{
    static const weft_host host = {.size = sizeof host,
                                   .rx = fake_rx,
                                   .rx_done = fake_rx_done,
                                   .tx_done = fake_tx_done,
                                   .rma_done = fake_rma_done,
                                   .tx_ready = fake_tx_ready,
                                   .locate = fake_locate,
                                   .auth_step = fake_auth,
                                   .peer_up = fake_peer_up,
                                   .peer_down = fake_peer_down,
                                   .now_ns = fake_now,
                                   .log = fake_log,
                                   .helping = fake_helping};
    return &host;
}

struct fake_config { /* as the plugin's option table describes it */
    int64_t ring;
    uint64_t cell, chunk;
    int64_t chunks;
    int cma;
    uint64_t eager;
};

static inline struct fake_config fake_defaults(void)
{
    return (struct fake_config){64, 16384, 32768, 8, 0, 32768};
}

/* Open node `id` of n; its address goes into address[id]. */
static inline int fake_open(struct fake_node *n, uint32_t id, uint32_t nprocs,
                            uint32_t node_id, const struct fake_config *cfg)
{
    struct fake_config dflt = fake_defaults();
    weft_open o = {.size = sizeof o,
                   .loc_id = id,
                   .host = fake_host(),
                   .core = &n->core,
                   .instance = "shm",
                   .cfg = cfg ? cfg : &dflt,
                   .nprocs = nprocs,
                   .node_id = node_id,
                   .local_count = 2};
    assert_int_equal(weft_plugin_1_shm.cfg_size, sizeof *cfg);
    n->core.node = n;
    n->id = id;
    n->nprocs = nprocs;
    n->seed = id + 1;
    int rc = weft_plugin_1_shm.ops->open(&o, &n->ep);
    if (rc != WEFT_OK)
        return rc;
    weft_attr attr = {.size = sizeof attr};
    assert_int_equal(weft_plugin_1_shm.ops->attr(n->ep, &attr), WEFT_OK);
    n->max_short = attr.max_short;
    n->address_len = sizeof n->address[id];
    return weft_plugin_1_shm.ops->address(n->ep, n->address[id],
                                          &n->address_len);
}

static inline void fake_introduce(struct fake_node *a, struct fake_node *b)
{
    memcpy(a->address[b->id], b->address[b->id], b->address_len);
    memcpy(b->address[a->id], a->address[a->id], a->address_len);
}

static inline void fake_pair(struct fake_node *a, struct fake_node *b,
                             const struct fake_config *cfg)
{
    memset(a, 0, sizeof *a);
    memset(b, 0, sizeof *b);
    assert_int_equal(fake_open(a, 0, 2, 7, cfg), WEFT_OK);
    assert_int_equal(fake_open(b, 1, 2, 7, cfg), WEFT_OK);
    fake_introduce(a, b);
    assert_int_equal(fake_add(a, 1), WEFT_OK);
    assert_int_equal(fake_add(b, 0), WEFT_OK);
}

static inline void fake_resume(struct fake_node *n)
{
    for (uint32_t i = 0; i < n->nprocs; i++)
        if (n->loc[i].paused) {
            n->loc[i].paused = false;
            weft_plugin_1_shm.ops->rx_resume(n->loc[i].peer);
        }
}

static inline int fake_progress(struct fake_node *n)
{
    int events = weft_plugin_1_shm.ops->progress(n->ep, 64);
    fake_resume(n);
    return events;
}

static inline int fake_tx_seg(weft_tx *tx, uint64_t off, struct iovec *v,
                              int max)
{
    struct fake_tx *t = (struct fake_tx *)(void *)tx;
    int n = 0;
    while (n < max && off < tx->len) {
        uint64_t piece = 1 + (off * 40503u >> 3) % 7001;
        if (piece > tx->len - off)
            piece = tx->len - off;
        v[n].iov_base = t->payload + off;
        v[n++].iov_len = piece;
        off += piece;
    }
    return n;
}

static inline struct fake_tx *fake_tx_new(struct weft_loc *to, uint64_t seq,
                                          uint32_t len, unsigned style)
{
    struct fake_tx *t = aligned_alloc(64, sizeof *t);
    memset(t, 0, sizeof *t);
    t->to = to;
    t->payload = malloc(len ? len : 1);
    fake_fill(t->payload, seq, len);
    t->tx.hdr = &t->hdr;
    t->tx.len = len;
    if (style & 1) {
        t->tx.seg = fake_tx_seg;
    } else {
        uint32_t a = len / 3, b = len / 2;
        t->iov[0] = (struct iovec){t->payload, a};
        t->iov[1] = (struct iovec){t->payload + a, b - a};
        t->iov[2] = (struct iovec){t->payload + b, len - b};
        t->tx.iov = t->iov;
        t->tx.iov_n = 3;
    }
    return t;
}

/* Try to send the next message; style: bit 0 segment callback, bit 1 short
 * header, bit 2 send_short if it fits. The plugin's answer. */
static inline int fake_send(struct fake_node *n, uint32_t to, uint32_t len,
                            unsigned style)
{
    const weft_ops *ops = weft_plugin_1_shm.ops;
    struct weft_loc *l = &n->loc[to];
    struct fake_tx *t = fake_tx_new(l, l->sent + 1, len, style);
    fake_header(&t->hdr, l->sent + 1, len, style & 2, false);
    int rc;
    if ((style & 4) && len <= n->max_short)
        rc = ops->send_short(l->peer, &t->hdr, t->payload, len);
    else
        rc = ops->send(l->peer, &t->tx);
    if (rc >= 0)
        l->sent++;
    l->lent += rc == WEFT_OK;
    if (rc != WEFT_OK)
        fake_tx_free(t);
    return rc;
}

/* Orderly; `other` (may be NULL) takes what is still on its way. */
static inline void fake_close(struct fake_node *n, struct fake_node *other)
{
    const weft_ops *ops = weft_plugin_1_shm.ops;
    for (int i = 0; i < 100000 && ops->drain(n->ep) != WEFT_OK; i++) {
        fake_progress(n);
        if (other)
            fake_progress(other);
    }
    weft_plugin_1_shm.ops->close(n->ep);
    n->ep = NULL;
}

static inline int fake_open_fds(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

#endif
