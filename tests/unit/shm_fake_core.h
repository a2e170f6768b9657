/* The core below which the shm tests put the transport: what it says to
 * deliveries, what it notes, and its handshake.
 *
 * Included by shm_fake.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SHM_FAKE_CORE_H
#define SHM_FAKE_CORE_H

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

#include <cmocka.h>

#include "weft_transport.h"

extern const weft_plugin weft_plugin_2_shm;

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
    bool no_memory; /* for handshakes */
    int stands_in; /* for a program that computes: weft_host.helping */
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

/* Patterns are long: the thread sanitizer looks at the first byte of each
 * part. */
enum { FAKE_PART = 256 };
#ifdef __SANITIZE_THREAD__
#define FAKE_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define FAKE_UNSEEN
#endif

FAKE_UNSEEN static inline void fake_fill_part(unsigned char *to, uint64_t seq,
                                              uint64_t from, uint64_t end)
{
    for (uint64_t i = from; i < end; i++)
        to[i] = fake_byte(seq, i);
}

FAKE_UNSEEN static inline bool fake_same_part(const unsigned char *b,
                                              uint64_t seq, uint64_t off,
                                              uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (b[i] != fake_byte(seq, off + i))
            return false;
    return true;
}

static inline uint64_t fake_part_end(uint64_t at, uint64_t len)
{
    return len - at < FAKE_PART ? len : at + FAKE_PART;
}

static inline void fake_fill(unsigned char *to, uint64_t seq, uint64_t len)
{
    for (uint64_t i = 0; i < len; i += FAKE_PART) {
        to[i] = fake_byte(seq, i);
        fake_fill_part(to, seq, i + 1, fake_part_end(i, len));
    }
}

static inline bool fake_same(const void *p, uint64_t seq, uint64_t off,
                             uint64_t len)
{
    const unsigned char *b = p;
    for (uint64_t i = 0; i < len; i += FAKE_PART)
        if (b[i] != fake_byte(seq, off + i) ||
            !fake_same_part(b + i, seq, off + i, fake_part_end(i, len) - i))
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
    unsigned char *payload;
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
static inline void fake_get_done(weft_core *core, weft_get *r, int status)
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

static uint64_t fake_later; /* ns by which the clock is ahead */
static uint64_t fake_stands; /* the clock stands at this time; 0: it goes */

static inline uint64_t fake_now(weft_core *core)
{
    struct timespec t;
    (void)core;
    if (fake_stands)
        return fake_stands + fake_later;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + fake_later;
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
    if (me->no_memory)
        return fake_auth_end(auth, WEFT_ENOMEM);
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

#endif
