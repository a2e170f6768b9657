/* The service table that the contract suite gives to a plugin.
 *
 * INVARIANTS checked here, in every case:
 *   - messages of a pair arrive once and in order (urgent ones among
 *     themselves)
 *   - tx_done and rx_done come once per lent object, never before send()
 *     returned, never after peer_down
 *   - peer_down comes once, after everything lent has come back
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "conform.h"

/* A payload on its way in. */
struct landing {
    weft_sink sink;
    struct weft_loc *from;
    struct area area;
    uint64_t number;
};

/* A process that is to die does so between any two steps. */
static void count_step(weft_core *c)
{
    if (c->world->die_in && --c->world->die_in == 0)
        kill(getpid(), SIGKILL);
}

/* ---- deliveries ---------------------------------------------------------- */

static int sink_segments(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    struct landing *in = (struct landing *)(void *)s;

    return area_segments(&in->area, s->len, off, v, max);
}

/* Takes what was in memory of the plugin as well. */
static void sink_fill(weft_sink *s, uint64_t off, const void *from, uint64_t n)
{
    struct landing *in = (struct landing *)(void *)s;

    check(off <= s->len && n <= s->len - off, "fill beyond the sink");
    area_put(&in->area, off, from, n);
}

static int open_sink(struct weft_loc *from, const weft_hdr *h, const void *data,
                     uint64_t have, uint64_t want, bool pieces, weft_sink **out)
{
    struct landing *in = calloc(1, sizeof *in);

    check(in, "out of memory");
    in->from = from;
    in->number = header_number(h);
    area_new(&in->area, weft_hdr_plen(h), pieces);
    area_put(&in->area, 0, data, have);
    in->sink.size = sizeof in->sink;
    in->sink.len = want;
    in->sink.seg = sink_segments;
    if (!pieces)
        in->sink.one = (struct iovec){in->area.base, want};
    else if (in->number & 2)
        in->sink.fill = sink_fill;
    from->sinks++;
    *out = &in->sink;
    return WEFT_OK;
}

static void host_rx_done(weft_core *c, weft_sink *s, int status)
{
    struct landing *in = (struct landing *)(void *)s;
    struct weft_loc *l = in->from;

    count_step(c);
    check(l->core == c, "rx_done for a sink of another endpoint");
    check(l->sinks > 0, "rx_done for a sink that is not open");
    check(!l->downs, "rx_done after peer_down");
    check(status <= 0, "rx_done with status %d", status);
    l->sinks--;
    if (status == WEFT_OK)
        area_check(&in->area, l->id, in->number, s->len);
    else
        l->rx_failed++;
    area_free(&in->area);
    free(in);
}

static int truncate_at(struct weft_loc *from, const weft_hdr *h,
                       const void *data, uint64_t have, weft_sink **sink)
{
    uint64_t plen = weft_hdr_plen(h);
    uint64_t want = plen ? chance(&from->core->seed, (unsigned)plen) : 0;

    if (want <= have)
        return have == plen ? WEFT_DONE : WEFT_SKIP;
    return open_sink(from, h, data, have, want, chance(&from->core->seed, 2),
                     sink);
}

static int answer_delivery(struct weft_loc *from, enum answer how,
                           const weft_hdr *h, const void *data, uint64_t have,
                           weft_sink **sink)
{
    uint64_t plen = weft_hdr_plen(h);

    if (how == SKIP_REST)
        return WEFT_SKIP;
    if (how == TRUNCATE)
        return truncate_at(from, h, data, have, sink);
    if (have == plen && how != SINK_ONE)
        return WEFT_DONE;
    return open_sink(from, h, data, have, plen, how == SINK_PIECES, sink);
}

/* True: this is the number that comes next. */
static void expect_number(struct weft_loc *from, uint64_t number)
{
    uint64_t *last = number & URGENT ? &from->urgent_got : &from->got;

    ++*last;
    check(number >> 1 == *last, "message %llu from %u came instead of %llu%s",
          (unsigned long long)(number >> 1), from->id,
          (unsigned long long)*last, number & URGENT ? " (urgent)" : "");
}

static enum answer choose_answer(weft_core *c)
{
    return c->mix ? (enum answer)chance(&c->seed, ANSWERS) : c->answer;
}

/* Out of memory: nothing was taken, the same message comes again. */
static bool pause_at(struct weft_loc *from, enum answer how, uint64_t number)
{
    if (from->paused)
        return true;
    if (how != PAUSE || from->refused == number)
        return false;
    from->refused = number;
    from->pauses++;
    return from->paused = true;
}

static int host_rx(weft_core *c, weft_loc *from, const weft_hdr *h,
                   const void *data, size_t have, weft_sink **sink)
{
    uint64_t number = header_number(h);
    enum answer how = choose_answer(c);
    int rc;

    count_step(c);
    check(from->core == c, "a peer of another endpoint");
    check(!from->downs, "a message after peer_down");
    check(have <= weft_hdr_plen(h), "more payload than the header says");
    check(have == 0 || data, "payload at NULL");
    if (pause_at(from, how, number))
        return WEFT_EAGAIN;
    header_check(h, from->id);
    expect_number(from, number);
    payload_check(data, from->id, number, 0, have);
    rc = answer_delivery(from, how, h, data, have, sink);
    if (c->on_rx)
        c->on_rx(from, number);
    return rc;
}

/* A header in registers has 24 bytes, and its payload is complete. */
static int host_rx_words(weft_core *c, weft_loc *from, uint64_t h0, uint64_t h1,
                         uint64_t h2, const void *data)
{
    const uint64_t words[] = {h0, h1, h2};
    uint8_t b[WEFT_HDR] = {0};
    weft_hdr h;

    for (int i = 0; i < WEFT_HDR_MIN; i++)
        b[i] = (uint8_t)(words[i / 8] >> 8 * (i % 8));
    memcpy(&h, b, sizeof h);
    count_step(c);
    check(from->core == c, "a peer of another endpoint");
    check(!from->downs, "a message after peer_down");
    check(weft_hdr_len(&h) == WEFT_HDR_MIN, "a long header in registers");
    if (pause_at(from, choose_answer(c), header_number(&h)))
        return WEFT_EAGAIN;
    header_check(&h, from->id);
    expect_number(from, header_number(&h));
    payload_check(data, from->id, header_number(&h), 0, weft_hdr_plen(&h));
    if (c->on_rx)
        c->on_rx(from, header_number(&h));
    return WEFT_DONE;
}

/* ---- the way out --------------------------------------------------------- */

static void host_tx_done(weft_core *c, weft_tx *tx, int status)
{
    struct message *m =
        (struct message *)(void *)((char *)tx - offsetof(struct message, tx));
    struct weft_loc *l = m->to;

    count_step(c);
    check(m->lent, "tx_done for a container that the plugin does not have: "
                   "twice, or before send() returned");
    check(l->core == c, "tx_done on another endpoint");
    check(!l->downs, "tx_done after peer_down");
    check(status <= 0, "tx_done with status %d", status);
    l->lent--;
    l->tx_failed += status < 0;
    message_finish(m);
    if (c->on_tx_done && status == WEFT_OK)
        c->on_tx_done(l);
}

static void host_tx_ready(weft_core *c, weft_loc *l)
{
    count_step(c);
    check(l->core == c && !l->downs, "tx_ready after peer_down");
    l->readies++;
}

static void host_get_done(weft_core *c, weft_get *get, int status)
{
    struct fetch *f = (struct fetch *)(void *)get;

    check(f->started && !f->done, "get_done for an operation nobody started");
    f->done = true;
    f->status = status;
}

static void host_rma_done(weft_core *c, weft_rma *rma, int status)
{
    struct operation *o = (struct operation *)(void *)rma;

    count_step(c);
    check(o->lent && !o->done, "rma_done for an operation that the plugin does "
                               "not have: twice, or before rma() returned");
    check(!o->to->downs, "rma_done after peer_down");
    check(status <= 0, "rma_done with status %d", status);
    o->to->lent--;
    o->lent = false;
    o->done = true;
    o->status = status;
}

static int host_tx_words(weft_core *c, weft_loc *l, uint64_t h0, uint64_t h1,
                         uint64_t h2, const void *data)
{
    check(l->core == c, "tx_words on another endpoint");
    c->given_back++;
    return NO_ROOM;
}

/* ---- peers --------------------------------------------------------------- */

static int host_locate(weft_core *c, uint32_t id)
{
    count_step(c);
    c->located++;
    if (id >= SIDES || c->loc[id].unwanted)
        return WEFT_EUNREACH;
    return side_peer(c, id) ? WEFT_OK : WEFT_EINVAL;
}

static int host_auth(weft_core *c, weft_auth **auth, const void *in,
                     size_t in_len, void *out, size_t *out_len, uint32_t *id)
{
    count_step(c);
    return handshake_step(c->key, c->id, auth, in, in_len, out, out_len, id);
}

static void host_peer_up(weft_core *c, weft_loc *l)
{
    count_step(c);
    check(l->core == c, "peer_up on another endpoint");
    l->ups++;
}

static void host_peer_down(weft_core *c, weft_loc *l, int status,
                           const char *why)
{
    check(l->core == c, "peer_down on another endpoint");
    check(!l->downs, "peer_down twice");
    check(l->lent == 0, "peer_down while %d containers are lent", l->lent);
    check(l->sinks == 0, "peer_down while %d sinks are lent", l->sinks);
    check(status < 0, "peer_down with status %d", status);
    check(why && *why, "peer_down without a reason");
    l->downs++;
    l->status = status;
    snprintf(l->why, sizeof l->why, "%s", why);
}

/* ---- the rest ------------------------------------------------------------ */

static uint64_t host_mac64(weft_core *c, uint64_t nonce, const struct iovec *v,
                           int n)
{
    uint64_t h = nonce ^ 0x9e3779b97f4a7c15u;

    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < v[i].iov_len; k++)
            h = (h ^ ((const uint8_t *)v[i].iov_base)[k]) * 0x100000001b3u;
    return h;
}

static int host_helping(weft_core *c)
{
    return 0;
}

static uint64_t host_now(weft_core *c)
{
    return now_ns();
}

static int host_resolve(weft_core *c, const char *host, int family,
                        void *sockaddr, size_t *len)
{
    return WEFT_EUNREACH; /* names are no business of this suite */
}

static void host_log(weft_core *c, int level, const char *fmt, ...)
{
    va_list ap;

    c->warnings += level <= 1;
    if (!getenv("CONFORM_LOG"))
        return;
    fprintf(stderr, "# side %u, level %d: ", c->id, level);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* All processes of this suite have the same numbers. */
static int host_call_stands(weft_core *c, weft_loc *loc)
{
    return c->id < loc->id;
}

const weft_host conform_host = {.size = sizeof conform_host,
                                .minor = WEFT_ABI_MINOR,
                                .rx = host_rx,
                                .rx_done = host_rx_done,
                                .tx_done = host_tx_done,
                                .get_done = host_get_done,
                                .rma_done = host_rma_done,
                                .tx_ready = host_tx_ready,
                                .locate = host_locate,
                                .auth_step = host_auth,
                                .mac64 = host_mac64,
                                .peer_up = host_peer_up,
                                .peer_down = host_peer_down,
                                .now_ns = host_now,
                                .resolve = host_resolve,
                                .log = host_log,
                                .helping = host_helping,
                                .rx_words = host_rx_words,
                                .tx_words = host_tx_words,
                                .call_stands = host_call_stands};
