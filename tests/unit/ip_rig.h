/* This rig is a small core for two or more endpoints over IP in one process, on
 * which the tests of these transports stand. A file that includes it defines
 * RIG_PLUGIN, RIG_NAME, struct RIG_CFG and rig_defaults() before.
 *
 * A side is one process of the job. It keeps every message it was given as a
 * record, checks payloads against a pattern, and plays the receive policy the
 * test has set.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef IP_RIG_H
#define IP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* */
#include <cmocka.h>

#include "../../plugins/ip/ip.h"
#include "boot/auth.h"
#include "boot/auth_key.h"

extern const weft_plugin RIG_PLUGIN;

enum { RIG_SIDES = 4, RIG_SEGMENT = 1000 };

struct rig_side;

struct rig_peer { /* what the core calls a Location */
    struct rig_side *me;
    struct rig_side *other;
    weft_peer *peer;
    uint64_t got, sent; /* messages */
    int ups, downs, readies;
    int down_status;
    char why[1024];
};

struct rig_sink {
    weft_sink sink;
    struct rig_side *me;
    struct rig_peer *from;
    uint8_t *memory;
    uint64_t seq, plen;
};

struct rig_tx {
    _Alignas(64) uint8_t head[64]; /* headroom */
    weft_hdr hdr;
    weft_tx tx;
    uint8_t *memory;
    bool done;
    int status;
};

struct rig_side {
    uint32_t rank;
    struct wf_auth_key *key;
    weft_ep *ep;
    weft_host host;
    weft_open open;
    struct RIG_CFG cfg;
    uint64_t skew;        /* added to the clock */
    struct rig_side *all; /* the job */
    struct rig_peer peer[RIG_SIDES];
    /* policy */
    bool segments, take_only_whole;
    uint64_t truncate; /* want at most this many bytes; 0: all */
    uint64_t skip_every, refuse;
    bool refusing, no_memory; /* the second: for handshakes */
    /* what happened */
    int sinks_open, sinks_failed, txs_failed, txs_done, located, warnings;
    char warning[1200]; /* the first */
};

static inline uint8_t rig_byte(uint64_t seq, uint64_t i)
{
    return (uint8_t)(seq * 31 + i * 7 + (i >> 8));
}

static inline void rig_check(const uint8_t *p, uint64_t seq, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (p[i] != rig_byte(seq, i))
            fail_msg("message %llu differs at byte %llu",
                     (unsigned long long)seq, (unsigned long long)i);
}

static inline int rig_segments(uint8_t *base, uint64_t len, uint64_t off,
                               struct iovec *v, int max)
{
    int n = 0;
    for (; n < max && off < len; n++) {
        uint64_t end = (off / RIG_SEGMENT + 1) * RIG_SEGMENT;
        v[n].iov_base = base + off;
        v[n].iov_len = (size_t)((end < len ? end : len) - off);
        off += v[n].iov_len;
    }
    return n;
}

static inline int rig_sink_seg(weft_sink *s, uint64_t off, struct iovec *v,
                               int max)
{
    struct rig_sink *r = (struct rig_sink *)s;
    return rig_segments(r->memory, s->len, off, v, max);
}

static inline int rig_rx(weft_core *core, weft_loc *from, const weft_hdr *hdr,
                         const void *data, size_t have, weft_sink **sink)
{
    struct rig_side *me = (struct rig_side *)core;
    struct rig_peer *p = (struct rig_peer *)from;
    uint64_t plen = weft_hdr_plen(hdr), want = plen, seq = hdr->w[1];
    struct rig_sink *r;

    assert_ptr_equal(p->me, me);
    assert_true(have <= plen);
    if (me->refusing)
        return WEFT_EAGAIN;
    if (me->refuse && seq % me->refuse == 0 && seq / me->refuse > 0 &&
        !me->refusing) {
        me->refuse = 0;
        me->refusing = true;
        return WEFT_EAGAIN;
    }
    assert_int_equal(seq, p->got);
    p->got++;
    if (me->skip_every && seq % me->skip_every == 0)
        return WEFT_SKIP;
    if (me->truncate && want > me->truncate)
        want = me->truncate;
    if (have == plen) {
        rig_check(data, seq, want);
        return WEFT_DONE;
    }
    r = calloc(1, sizeof *r);
    r->me = me;
    r->from = p;
    r->seq = seq;
    r->plen = plen;
    r->memory = malloc(want ? want : 1);
    memcpy(r->memory, data, have < want ? have : want);
    r->sink.len = want;
    r->sink.seg = rig_sink_seg;
    if (!me->segments) {
        r->sink.one.iov_base = r->memory;
        r->sink.one.iov_len = want;
    }
    me->sinks_open++;
    *sink = &r->sink;
    return WEFT_OK;
}

static inline void rig_rx_done(weft_core *core, weft_sink *s, int status)
{
    struct rig_side *me = (struct rig_side *)core;
    struct rig_sink *r = (struct rig_sink *)s;
    me->sinks_open--;
    if (status == WEFT_OK)
        rig_check(r->memory, r->seq, s->len);
    else
        me->sinks_failed++;
    free(r->memory);
    free(r);
}

static inline int rig_tx_seg(weft_tx *tx, uint64_t off, struct iovec *v,
                             int max)
{
    struct rig_tx *t = wf_container(tx, struct rig_tx, tx);
    return rig_segments(t->memory, tx->len, off, v, max);
}

static inline void rig_tx_done(weft_core *core, weft_tx *tx, int status)
{
    struct rig_side *me = (struct rig_side *)core;
    struct rig_tx *t = wf_container(tx, struct rig_tx, tx);
    assert_false(t->done);
    t->done = true;
    t->status = status;
    me->txs_done++;
    if (status != WEFT_OK)
        me->txs_failed++;
}

static inline void rig_tx_ready(weft_core *core, weft_loc *loc)
{
    ((struct rig_peer *)loc)->readies++;
}

static inline void rig_know(struct rig_side *me, uint32_t id)
{
    struct rig_peer *p = &me->peer[id];
    uint8_t blob[IP_BLOB_MAX];
    size_t n = sizeof blob;
    if (p->peer)
        return;
    p->me = me;
    p->other = &me->all[id];
    assert_int_equal(RIG_PLUGIN.ops->address(me->all[id].ep, blob, &n),
                     WEFT_OK);
    assert_int_equal(RIG_PLUGIN.ops->peer_add(me->ep, (weft_loc *)p, id,
                                                     blob, n, &p->peer),
                     WEFT_OK);
}

static inline int rig_locate(weft_core *core, uint32_t id)
{
    struct rig_side *me = (struct rig_side *)core;
    me->located++;
    rig_know(me, id);
    return WEFT_OK;
}

static inline int rig_auth(weft_core *core, weft_auth **auth, const void *in,
                           size_t in_len, void *out, size_t *out_len,
                           uint32_t *id)
{
    struct rig_side *me = (struct rig_side *)core;
    if (me->no_memory)
        return WEFT_ENOMEM;
    return wf_auth_advance(me->key, me->rank, auth, in, in_len, out, out_len,
                           id);
}

static inline uint64_t rig_mac64(weft_core *core, uint64_t nonce,
                                 const struct iovec *v, int n)
{
    return wf_auth_mac(((struct rig_side *)core)->key, nonce, v, n);
}

static inline int rig_call_stands(weft_core *core, weft_loc *loc)
{
    struct rig_side *me = (struct rig_side *)core;

    return me->rank < ((struct rig_peer *)loc)->other->rank;
}

static inline void rig_up(weft_core *core, weft_loc *loc)
{
    ((struct rig_peer *)loc)->ups++;
}

static inline void rig_down(weft_core *core, weft_loc *loc, int status,
                            const char *why)
{
    struct rig_peer *p = (struct rig_peer *)loc;
    assert_int_equal(p->me->sinks_open, 0);
    p->downs++;
    p->down_status = status;
    snprintf(p->why, sizeof p->why, "%s", why);
}

static inline uint64_t rig_now(weft_core *core)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec +
           ((struct rig_side *)core)->skew;
}

static inline void rig_log(weft_core *core, int level, const char *fmt, ...)
{
    struct rig_side *me = (struct rig_side *)core;
    va_list ap;
    if (level > 1 || me->warnings++ > 0)
        return;
    va_start(ap, fmt);
    vsnprintf(me->warning, sizeof me->warning, fmt, ap);
    va_end(ap);
}

/* From now on nothing but `skew` moves the clock. */
static inline uint64_t rig_skew_only(weft_core *core)
{
    return ((struct rig_side *)core)->skew;
}

static inline void rig_stop_clock(struct rig_side *s)
{
    s->skew = rig_now((weft_core *)s);
    s->host.now_ns = rig_skew_only;
}

/* The number by which each side opened next calls itself; 0: its rank. */
static uint32_t rig_own_number;
static uint32_t rig_flags = WEFT_OPEN_ONE_HOST; /* of sides opened next */

/* With other options than the usual ones. */
static inline void rig_open_with(struct rig_side *all, uint32_t rank,
                                 const char *secret, const struct RIG_CFG *cfg)
{
    struct rig_side *s = &all[rank];
    memset(s, 0, sizeof *s);
    s->rank = rank;
    s->all = all;
    s->cfg = *cfg;
    s->host = (weft_host){.size = sizeof s->host,
                          .rx = rig_rx,
                          .rx_done = rig_rx_done,
                          .tx_done = rig_tx_done,
                          .tx_ready = rig_tx_ready,
                          .locate = rig_locate,
                          .auth_step = rig_auth,
                          .mac64 = rig_mac64,
                          .peer_up = rig_up,
                          .peer_down = rig_down,
                          .now_ns = rig_now,
                          .log = rig_log,
                          .call_stands = rig_call_stands};
    s->open = (weft_open){.size = sizeof s->open,
                          .loc_id = rig_own_number ? rig_own_number : rank,
                          .host = &s->host,
                          .core = (weft_core *)s,
                          .instance = RIG_NAME,
                          .cfg = &s->cfg,
                          .flags = rig_flags};
    assert_int_equal(wf_auth_key_create(secret, strlen(secret), "job", &s->key),
                     WEFT_OK);
    assert_int_equal(RIG_PLUGIN.ops->open(&s->open, &s->ep), WEFT_OK);
}

static inline void rig_open(struct rig_side *all, uint32_t rank,
                            const char *secret)
{
    struct RIG_CFG cfg = rig_defaults();

    rig_open_with(all, rank, secret, &cfg);
}

static inline void rig_close(struct rig_side *s)
{
    if (s->ep)
        RIG_PLUGIN.ops->close(s->ep);
    s->ep = NULL;
    wf_auth_key_free(s->key);
    s->key = NULL;
}

/* Opens the first `n` sides anew. */
static inline void rig_open_sides(struct rig_side *all, uint32_t n,
                                  const char *secret)
{
    memset(all, 0, RIG_SIDES * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        rig_open(all, i, secret);
}

static inline void rig_close_sides(struct rig_side *all)
{
    for (int i = 0; i < RIG_SIDES; i++)
        rig_close(&all[i]);
}

/* A message with the pattern of its number. */
static inline struct rig_tx *rig_make(uint64_t seq, uint64_t len, bool segments)
{
    struct rig_tx *t = aligned_alloc(64, (sizeof *t + 63) / 64 * 64);
    memset(t, 0, sizeof *t);
    t->memory = malloc(len ? len : 1);
    for (uint64_t i = 0; i < len; i++)
        t->memory[i] = rig_byte(seq, i);
    t->hdr.w[0] = 1 | (uint64_t)len << 32; /* type 1; little-endian host */
    if (seq % 3 == 0)
        t->hdr.w[0] |= (uint64_t)WEFT_HDR_SHORT << 16;
    t->hdr.w[1] = seq;
    t->tx.hdr = &t->hdr;
    t->tx.len = len;
    t->tx.seg = rig_tx_seg;
    if (!segments && len)
        t->tx.one = (struct iovec){t->memory, len};
    return t;
}

static inline void rig_free(struct rig_tx *t)
{
    free(t->memory);
    free(t);
}

static inline int rig_progress(struct rig_side *s)
{
    return RIG_PLUGIN.ops->progress(s->ep, 64);
}

static inline void rig_turn(struct rig_side *all, int n)
{
    for (int i = 0; i < n; i++)
        if (all[i].ep)
            rig_progress(&all[i]);
}

/* Turn until the condition holds; generous, because machines are slow. */
#define RIG_UNTIL(all, n, condition)                                           \
    for (uint64_t end_ = rig_seconds() + 120; !(condition);) {                 \
        rig_turn(all, n);                                                      \
        if (rig_seconds() > end_)                                              \
            fail_msg("waited too long for: %s", #condition);                   \
    }

static inline uint64_t rig_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec;
}

/* Send the next message to a peer, trying again as a blocking send does. */
static inline void rig_send(struct rig_side *all, int n, uint32_t from,
                            uint32_t to, uint64_t len)
{
    struct rig_side *s = &all[from];
    struct rig_peer *p = &s->peer[to];
    struct rig_tx *t;
    int rc, readies;

    rig_know(s, to);
    t = rig_make(p->sent++, len, s->segments);
    for (;;) {
        readies = p->readies;
        rc = RIG_PLUGIN.ops->send(p->peer, &t->tx);
        if (rc != WEFT_EAGAIN)
            break;
        RIG_UNTIL(all, n, p->readies > readies);
    }
    assert_true(rc == WEFT_OK || rc == WEFT_DONE);
    if (rc == WEFT_OK)
        RIG_UNTIL(all, n, t->done);
    if (rc == WEFT_OK)
        assert_int_equal(t->status, WEFT_OK);
    rig_free(t);
}

#endif
