/* Nodes of one transport: what the shm tests drive it with.
 *
 * Each node is one endpoint with numbered peers, below the core of
 * shm_fake_core.h. Messages carry a sequence
 * number in env0 and a pattern as payload; the fake core checks order, header
 * and every byte, and answers deliveries in every way that the contract
 * allows.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SHM_FAKE_H
#define SHM_FAKE_H

#include <dirent.h>

#include "shm_fake_core.h"

static inline int fake_add(struct fake_node *n, uint32_t id)
{
    struct weft_loc *l = &n->loc[id];
    const weft_ops *ops = weft_plugin_2_shm.ops;
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

static inline int fake_call_stands(weft_core *core, weft_loc *loc)
{
    return core->node->id < loc->id;
}

static inline const weft_host *fake_host(void)
{
    static const weft_host host = {.size = sizeof host,
                                   .rx = fake_rx,
                                   .rx_done = fake_rx_done,
                                   .tx_done = fake_tx_done,
                                   .get_done = fake_get_done,
                                   .tx_ready = fake_tx_ready,
                                   .locate = fake_locate,
                                   .auth_step = fake_auth,
                                   .peer_up = fake_peer_up,
                                   .peer_down = fake_peer_down,
                                   .now_ns = fake_now,
                                   .log = fake_log,
                                   .helping = fake_helping,
                                   .call_stands = fake_call_stands};
    return &host;
}

struct fake_config { /* as the plugin's option table describes it */
    int64_t ring;
    uint64_t cell, chunk;
    int64_t chunks;
    int cma, ptracer;
    uint64_t eager;
};

static inline struct fake_config fake_defaults(void)
{
    return (struct fake_config){64, 16384, 32768, 8, 0, 0, 32768};
}

static uint32_t fake_local_count = 2, fake_cpus;
/* The number by which each node opened next calls itself; 0: its id. */
static uint32_t fake_own_number;

/* Open node `id` of n; its address goes into address[id]. */
static inline int fake_open(struct fake_node *n, uint32_t id, uint32_t nprocs,
                            uint32_t node_id, const struct fake_config *cfg)
{
    struct fake_config dflt = fake_defaults();
    weft_open o = {.size = sizeof o,
                   .loc_id = fake_own_number ? fake_own_number : id,
                   .host = fake_host(),
                   .core = &n->core,
                   .instance = "shm",
                   .cfg = cfg ? cfg : &dflt,
                   .node_id = node_id,
                   .local_count = fake_local_count,
                   .cpus = fake_cpus};
    assert_int_equal(weft_plugin_2_shm.cfg_size, sizeof *cfg);
    n->core.node = n;
    n->id = id;
    n->nprocs = nprocs;
    n->seed = id + 1;
    int rc = weft_plugin_2_shm.ops->open(&o, &n->ep);
    if (rc != WEFT_OK)
        return rc;
    weft_attr attr = {.size = sizeof attr};
    assert_int_equal(weft_plugin_2_shm.ops->attr(n->ep, &attr), WEFT_OK);
    n->max_short = attr.max_short;
    n->address_len = sizeof n->address[id];
    return weft_plugin_2_shm.ops->address(n->ep, n->address[id],
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
            weft_plugin_2_shm.ops->rx_resume(n->loc[i].peer);
        }
}

static inline int fake_progress(struct fake_node *n)
{
    int events = weft_plugin_2_shm.ops->progress(n->ep, 64);
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
    t->tx.seg = fake_tx_seg;
    if (!(style & 1) && len)
        t->tx.one = (struct iovec){t->payload, len};
    return t;
}

/* Try to send the next message; style: bit 0 segment callback, bit 1 short
 * header, bit 2 send_short if it fits. The plugin's answer. */
static inline int fake_send(struct fake_node *n, uint32_t to, uint32_t len,
                            unsigned style)
{
    const weft_ops *ops = weft_plugin_2_shm.ops;
    struct weft_loc *l = &n->loc[to];
    struct fake_tx *t = fake_tx_new(l, l->sent + 1, len, style);
    fake_header(&t->hdr, l->sent + 1, len, style & 2, false);
    int rc;
    if ((style & 4) && len <= n->max_short)
        rc = ops->send_short(l->peer, &t->hdr, t->payload, len, 0);
    else
        rc = ops->send(l->peer, &t->tx);
    if (rc >= 0)
        l->sent++;
    l->lent += rc == WEFT_OK;
    if (rc != WEFT_OK)
        fake_tx_free(t);
    return rc;
}

/* The rx_words of an endpoint that is to have one. */
static inline int fake_rx_words(weft_core *core, weft_loc *from, uint64_t h0,
                                uint64_t h1, uint64_t h2, const void *data)
{
    weft_hdr h = {{h0, h1, h2}};
    weft_sink *sink;
    return fake_rx(core, from, &h, data, weft_hdr_plen(&h), &sink);
}

/* b takes all that a has sent. */
static inline void fake_receive_all(struct fake_node *b, struct fake_node *a)
{
    while (b->loc[a->id].got < a->loc[b->id].sent)
        fake_progress(b);
}

/* a sends a message, and dials with the first; b takes it later or has taken
 * it. */
static inline void fake_connect(struct fake_node *a, struct fake_node *b,
                                uint32_t len, unsigned style)
{
    while (fake_send(a, b->id, len, style) < 0) {
        fake_progress(a);
        fake_progress(b);
    }
}

/* Orderly; `other` (may be NULL) takes what is still on its way. */
static inline void fake_close(struct fake_node *n, struct fake_node *other)
{
    const weft_ops *ops = weft_plugin_2_shm.ops;
    for (int i = 0; i < 100000 && ops->drain(n->ep) != WEFT_OK; i++) {
        fake_progress(n);
        if (other)
            fake_progress(other);
    }
    weft_plugin_2_shm.ops->close(n->ep);
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
