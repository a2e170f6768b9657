/* Fuzz target: any bytes on an authenticated tcp connection.
 *
 * Input: one byte that seeds how the stream is cut into reads and what the
 * core answers, then the stream. However it is cut, and whatever is answered,
 * the core must be shown the containers of the stream, in order, each payload
 * byte in its place, until a frame that is none breaks the link. Sinks come
 * back when the link ends, and every byte of memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../../plugins/tcp/tcp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const weft_plugin weft_plugin_2_tcp;

enum { SINK_MAX = 70000, PIECE = 37 };

/* The core: what it has been shown, and the sink that is open. */
struct core {
    const uint8_t *stream;
    size_t size, at; /* where the next container begins */
    size_t fed;      /* bytes of the stream that were written */
    uint32_t random;
    weft_peer *peer;
    weft_sink sink;
    uint8_t *memory; /* not NULL: the sink is open */
    size_t origin;   /* of the payload in the sink */
    bool stopped, down;
};

static void check_success(bool holds)
{
    if (!holds)
        abort();
}

static uint32_t draw_number(struct core *c, uint32_t below)
{
    c->random = c->random * 1664525u + 1013904223u;
    return (c->random >> 8) % below;
}

/* Frames of the plugin's own are not shown. */
static void pass_own_frames(struct core *c)
{
    while (c->at + TCP_FRAME <= c->size && c->stream[c->at] == TCP_GOODBYE &&
           weft_hdr_len(c->stream + c->at) == TCP_FRAME &&
           weft_hdr_plen(c->stream + c->at) == 0)
        c->at += TCP_FRAME;
}

static int find_pieces(weft_sink *s, uint64_t off, struct iovec *v, int max)
{
    struct core *c = (struct core *)((char *)s - offsetof(struct core, sink));
    int n = 0;

    for (; n < max && off < s->len; n++) {
        uint64_t end = (off / PIECE + 1) * PIECE;
        v[n].iov_base = c->memory + off;
        v[n].iov_len = (size_t)((end < s->len ? end : s->len) - off);
        off += v[n].iov_len;
    }
    return n;
}

static int give_sink(struct core *c, size_t have, uint32_t plen,
                     const void *data, weft_sink **sink)
{
    size_t len = plen < SINK_MAX ? plen : SINK_MAX;

    if (draw_number(c, 3) == 0 && len > have)
        len = have + draw_number(c, (uint32_t)(len - have) + 1);
    if (len < have)
        return WEFT_SKIP;
    check_success(!c->memory);
    c->memory = malloc(len ? len : 1);
    memcpy(c->memory, data, have);
    c->sink = (weft_sink){.len = len, .seg = find_pieces};
    if (draw_number(c, 2))
        c->sink.one = (struct iovec){c->memory, len};
    *sink = &c->sink;
    return WEFT_OK;
}

static int take_container(weft_core *core, weft_loc *from, const weft_hdr *hdr,
                          const void *data, size_t have, weft_sink **sink)
{
    struct core *c = (struct core *)core;
    uint32_t hl = weft_hdr_len(hdr), plen = weft_hdr_plen(hdr);

    check_success(!c->stopped && !c->memory && (uintptr_t)hdr % 8 == 0);
    if (draw_number(c, 8) == 0) {
        c->stopped = true;
        return WEFT_EAGAIN;
    }
    pass_own_frames(c);
    check_success(have <= plen && c->at + hl + have <= c->fed);
    check_success(memcmp(hdr, c->stream + c->at, hl) == 0);
    check_success(memcmp(data, c->stream + c->at + hl, have) == 0);
    c->origin = c->at + hl;
    c->at += hl + (size_t)plen;
    if (draw_number(c, 4) == 0)
        return WEFT_SKIP;
    return have == plen && draw_number(c, 2) ? WEFT_DONE
                                      : give_sink(c, have, plen, data, sink);
}

static void rx_done(weft_core *core, weft_sink *sink, int status)
{
    struct core *c = (struct core *)core;

    check_success(sink == &c->sink && c->memory);
    if (status == WEFT_OK)
        check_success(memcmp(c->memory, c->stream + c->origin, c->sink.len) ==
                      0);
    free(c->memory);
    c->memory = NULL;
}

static void peer_down(weft_core *core, weft_loc *loc, int status,
                      const char *why)
{
    struct core *c = (struct core *)core;

    check_success(!c->memory && why[0]);
    c->down = true;
}

static uint64_t now_ns(weft_core *core)
{
    return 1;
}

static void drop_log(weft_core *core, int level, const char *fmt, ...)
{
}

static const weft_host host = {.size = sizeof host,
                               .rx = take_container,
                               .rx_done = rx_done,
                               .peer_down = peer_down,
                               .now_ns = now_ns,
                               .log = drop_log};

/* An endpoint with one peer, whose connection has just been accepted. */
static weft_ep *make_object(struct core *c, int fd)
{
    struct wf_ip_addr nowhere = {.family = 4};
    weft_ep *ep = calloc(1, sizeof *ep);
    struct wf_tcp_conn *conn;

    ep->ip.host = &host;
    ep->ip.core = (weft_core *)c;
    ep->ip.epfd = epoll_create1(EPOLL_CLOEXEC);
    ep->ip.transport = &wf_tcp_transport;
    ep->ip.due_last = &ep->ip.due;
    ep->rbuf = malloc(TCP_RBUF + WEFT_HDR);
    ep->ip.peer = calloc(1, sizeof *ep->ip.peer);
    ep->ip.peers = 1;
    ep->ip.peer[0] = c->peer = calloc(1, sizeof *c->peer);
    c->peer->ep = ep;
    c->peer->ip.endpoint = &ep->ip;
    c->peer->window = TCP_RBUF;
    conn = wf_tcp_conn_new(ep, fd, TCP_VERDICT, &nowhere);
    conn->dialled = true;
    wf_tcp_link_up(c->peer, conn);
    return ep;
}

static void serve_peers(struct core *c, weft_ep *ep)
{
    const weft_ops *ops = weft_plugin_2_tcp.ops;

    while (ops->progress(ep, 64) > 0)
        ;
    if (!c->stopped || draw_number(c, 2))
        return;
    c->stopped = false;
    if (!c->down)
        ops->rx_resume(c->peer);
}

static void feed_bytes(struct core *c, weft_ep *ep, int fd)
{
    while (c->fed < c->size) {
        size_t n = 1 + draw_number(c, draw_number(c, 4) ? 90 : 9000);
        if (n > c->size - c->fed)
            n = c->size - c->fed;
        if (send(fd, c->stream + c->fed, n, MSG_NOSIGNAL) > 0)
            c->fed += n;
        else if (c->down)
            return;
        serve_peers(c, ep);
    }
    for (int i = 0; i < 200 || (c->stopped && !c->down); i++)
        serve_peers(c, ep);
}

/* Everything that is whole was shown. */
static void check_complete(struct core *c)
{
    pass_own_frames(c);
    check_success(c->down || c->at >= c->size || c->stream[c->at] >= 0xf0 ||
         c->size - c->at < WEFT_HDR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct core c = {.stream = data + 1, .size = size - 1};
    weft_ep *ep;
    int fd[2];

    if (size < 1 || size > 60000 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) != 0)
        return 0;
    c.random = data[0];
    ep = make_object(&c, fd[0]);
    feed_bytes(&c, ep, fd[1]);
    check_complete(&c);
    close(fd[1]);
    serve_peers(&c, ep);
    serve_peers(&c, ep);
    weft_plugin_2_tcp.ops->close(ep);
    check_success(!c.memory);
    return 0;
}
