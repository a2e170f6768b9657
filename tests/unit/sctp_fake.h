/* A peer of the sctp transport without an association, and the core above it:
 * what the tests of its framing stand on. Messages are handed to it by hand.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SCTP_FAKE_H
#define SCTP_FAKE_H

#include <stdlib.h>
#include <string.h>

#include "../../plugins/sctp/sctp.h"

enum { FAKE_SINKS = 64, FAKE_PIECE = 37 };

struct fake_sink {
    weft_sink sink;
    uint8_t *memory;
    bool open;
};

struct fake {
    weft_ep ep;
    weft_peer *peer;
    int rx_answer;    /* what rx() says to a payload that is to come */
    uint64_t shorten; /* sinks want so many bytes less */
    struct fake_sink sink[FAKE_SINKS];
    int shown, finished, failed;
    uint64_t first[FAKE_SINKS]; /* the second word of each header shown */
};

static inline int fake_pieces(weft_sink *s, uint64_t off, struct iovec *v,
                              int max)
{
    struct fake_sink *f = (struct fake_sink *)s;
    int n = 0;

    for (; n < max && off < s->len; n++) {
        uint64_t end = (off / FAKE_PIECE + 1) * FAKE_PIECE;
        v[n].iov_base = f->memory + off;
        v[n].iov_len = (size_t)((end < s->len ? end : s->len) - off);
        off += v[n].iov_len;
    }
    return n;
}

static inline int fake_rx(weft_core *core, weft_loc *from, const weft_hdr *hdr,
                          const void *data, size_t have, weft_sink **sink)
{
    struct fake *f = (struct fake *)core;
    uint64_t len = weft_hdr_plen(hdr);
    struct fake_sink *s = &f->sink[f->shown % FAKE_SINKS];

    if (f->rx_answer == WEFT_EAGAIN)
        return WEFT_EAGAIN;
    f->first[f->shown++ % FAKE_SINKS] = hdr->w[1];
    if (have == len || f->rx_answer != WEFT_OK || s->open)
        return have == len ? WEFT_DONE : WEFT_SKIP;
    s->sink.len = len > f->shorten ? len - f->shorten : 0;
    free(s->memory);
    s->memory = malloc(s->sink.len ? s->sink.len : 1);
    s->sink.seg = fake_pieces;
    s->open = true;
    *sink = &s->sink;
    return WEFT_OK;
}

static inline void fake_rx_done(weft_core *core, weft_sink *sink, int status)
{
    struct fake *f = (struct fake *)core;
    struct fake_sink *s = (struct fake_sink *)sink;

    if (!s->open)
        abort();
    s->open = false;
    f->finished++;
    f->failed += status < 0;
}

static inline void fake_log(weft_core *core, int level, const char *fmt, ...)
{
}

static const weft_host fake_host = {.size = sizeof fake_host,
                                    .rx = fake_rx,
                                    .rx_done = fake_rx_done,
                                    .log = fake_log};

static inline void fake_open(struct fake *f)
{
    memset(f, 0, sizeof *f);
    f->ep.ip.host = &fake_host;
    f->ep.ip.core = (weft_core *)f;
    f->ep.ip.due_last = &f->ep.ip.due;
    f->peer = calloc(1, sizeof *f->peer);
    f->peer->ep = &f->ep;
    f->peer->ip.endpoint = &f->ep.ip;
    f->peer->party = (struct wf_ip_party){.peer = f->peer, .ip = &f->peer->ip};
    f->peer->ip.state = PEER_OPEN;
    f->peer->up = true;
}

static inline void fake_close(struct fake *f)
{
    wf_sctp_rx_cancel(f->peer, WEFT_ECANCEL);
    for (int i = 0; i < FAKE_SINKS; i++) {
        if (f->sink[i].open)
            abort();
        free(f->sink[i].memory);
    }
    free(f->peer->ip.why);
    free(f->peer);
}

/* A short header: type 1, this payload, this number. */
static inline void fake_header(uint8_t h[24], uint32_t plen, uint64_t number)
{
    memset(h, 0, 24);
    h[0] = 1;
    h[1] = 1;
    h[3] = WEFT_HDR_SHORT >> 8;
    for (int i = 0; i < 4; i++)
        h[4 + i] = (uint8_t)(plen >> 8 * i);
    memcpy(h + 8, &number, sizeof number);
}

static inline bool fake_deliver(struct fake *f, int stream, uint32_t kind,
                                const void *data, size_t n)
{
    struct wf_sctp_message m = {
        .stream = (uint16_t)stream, .kind = kind, .n = n};
    uint64_t *aligned = malloc(n + 8);
    bool taken;

    memcpy(aligned, data, n);
    taken = wf_sctp_deliver(f->peer, &m, (uint8_t *)aligned);
    free(aligned);
    return taken;
}

#endif
