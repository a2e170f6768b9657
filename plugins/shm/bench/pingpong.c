/* Half round trip and bandwidth of the plugin alone, between two processes.
 *
 *   cc -O2 -Iinclude plugins/shm/bench/pingpong.c plugins/shm/[a-z]*.c
 *
 * The core is a fake that takes every message. The parent runs on CPU 0, the
 * child on CPU 1. It prints one line per size: the best of many short rounds,
 * so that a busy machine spoils some rounds and not the result.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "weft_transport.h"

extern const weft_plugin weft_plugin_2_shm;
#define OPS (weft_plugin_2_shm.ops)
enum { ROUNDS = 60 };

struct weft_core {
    uint32_t id;
    weft_ep *ep;
    weft_peer *peer;
    uint64_t got;
    int sent;
    weft_sink sink;
    char *into;
};
struct weft_loc {
    int none;
};
struct weft_auth {
    int none;
};

static int take_message(weft_core *c, weft_loc *l, const weft_hdr *h,
                        const void *data, size_t have, weft_sink **sink)
{
    uint32_t len = weft_hdr_plen(h);
    (void)l;
    memcpy(c->into, data, have);
    if (have == len) {
        c->got++;
        return WEFT_DONE;
    }
    c->sink.len = len;
    c->sink.one = (struct iovec){c->into, len};
    *sink = &c->sink;
    return WEFT_OK;
}

static void finish_message(weft_core *c, weft_sink *s, int status)
{
    (void)s, (void)status;
    c->got++;
}

static void finish_send(weft_core *c, weft_tx *t, int status)
{
    (void)t, (void)status;
    c->sent = 1;
}

static void ignore_event(weft_core *c, weft_loc *l)
{
    (void)c, (void)l;
}

static void exit_on_down(weft_core *c, weft_loc *l, int status, const char *why)
{
    (void)l;
    fprintf(stderr, "%u: down %d %s\n", c->id, status, why);
    exit(1);
}

static int locate_peer(weft_core *c, uint32_t id)
{
    (void)c, (void)id;
    return 0;
}

static int accept_any_peer(weft_core *c, weft_auth **a, const void *in,
                           size_t len, void *out, size_t *n, uint32_t *id)
{
    unsigned char step = in ? *(const unsigned char *)in : 0;
    (void)len;
    *a = NULL;
    if (!out)
        return 0;
    if (in)
        *id = 1 - c->id;
    *n = step < 3 ? WEFT_AUTH_MSG : 0;
    memset(out, step + 1, WEFT_AUTH_MSG);
    static char mark;
    if (step < 2)
        *a = (weft_auth *)(void *)&mark;
    return step < 2 ? WEFT_EAGAIN : WEFT_OK;
}

static uint64_t now_ns(weft_core *c)
{
    struct timespec t;
    (void)c;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void ignore_log(weft_core *c, int level, const char *fmt, ...)
{
    (void)c, (void)level, (void)fmt;
}

static const weft_host host = {.size = sizeof host,
                               .rx = take_message,
                               .rx_done = finish_message,
                               .tx_done = finish_send,
                               .tx_ready = ignore_event,
                               .locate = locate_peer,
                               .auth_step = accept_any_peer,
                               .peer_up = ignore_event,
                               .peer_down = exit_on_down,
                               .now_ns = now_ns,
                               .log = ignore_log};

static void send_one(weft_core *c, char *buf, uint32_t len)
{
    static alignas(64) struct {
        weft_hdr hdr;
    } h;
    unsigned char *b = (unsigned char *)&h.hdr;
    weft_tx tx = {
        .size = sizeof tx, .hdr = &h.hdr, .one = {buf, len}, .len = len};
    b[0] = b[1] = 1;
    b[3] = WEFT_HDR_SHORT >> 8;
    memcpy(b + 4, &len, 4);
    c->sent = 0;
    int rc;
    do {
        rc = len <= 4096 ? OPS->send_short(c->peer, &h.hdr, buf, len, 0)
                         : OPS->send(c->peer, &tx);
        if (rc == WEFT_EAGAIN)
            OPS->progress(c->ep, 64);
    } while (rc == WEFT_EAGAIN);
    if (rc == WEFT_OK)
        while (!c->sent)
            OPS->progress(c->ep, 64);
}

static void wait_for(weft_core *c, uint64_t got)
{
    while (c->got < got)
        OPS->progress(c->ep, 64);
}

static void measure_pingpong(weft_core *c, char *buf, uint32_t len, int n)
{
    uint64_t base = c->got, best = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t t = now_ns(c);
        for (int i = 0; i < n; i++) {
            if (c->id == 0)
                send_one(c, buf, len);
            wait_for(c, ++base);
            if (c->id == 1)
                send_one(c, buf, len);
        }
        t = now_ns(c) - t;
        if (t < best)
            best = t;
    }
    double half = (double)best / n / 2;
    if (c->id == 0)
        printf("%8u B   half round trip %9.1f ns   %7.2f GB/s\n", len, half,
               len / half);
}

static void measure_stream(weft_core *c, char *buf, uint32_t len, int n)
{
    uint64_t base = c->got, best = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t t = now_ns(c);
        if (c->id == 0) {
            for (int i = 0; i < n; i++)
                send_one(c, buf, len);
            wait_for(c, ++base);
        } else {
            wait_for(c, base += (uint64_t)n);
            send_one(c, buf, 8);
        }
        t = now_ns(c) - t;
        if (t < best)
            best = t;
    }
    if (c->id == 0)
        printf("%8u B   stream %8.2f M/s   %7.2f GB/s\n", len,
               n * 1e3 / (double)best, (double)len * n / (double)best);
}

int main(void)
{
    struct {
        int64_t ring;
        uint64_t cell, chunk;
        int64_t chunks;
        int cma;
    } cfg = {64, 16384, 16384, 0, 0};
    if (getenv("CHUNK"))
        cfg.chunk = strtoull(getenv("CHUNK"), NULL, 0);
    if (getenv("CHUNKS"))
        cfg.chunks = atoi(getenv("CHUNKS"));
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    weft_core c = {.id = fork() == 0};
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(c.id, &set);
    sched_setaffinity(0, sizeof set, &set);
    weft_open o = {.size = sizeof o,
                   .loc_id = c.id,
                   .host = &host,
                   .core = &c,
                   .cfg = &cfg,
                   .local_count = 1,
                   .instance = "shm"};
    unsigned char mine[256], theirs[256];
    size_t n = sizeof mine;
    if (OPS->open(&o, &c.ep) || OPS->address(c.ep, mine, &n) ||
        write(pair[c.id], mine, n) < 0 || read(pair[c.id], theirs, n) < 0)
        return 1;
    struct weft_loc loc;
    OPS->peer_add(c.ep, &loc, 1 - c.id, theirs, n, &c.peer);
    size_t most = 8u << 20;
    c.into = aligned_alloc(4096, most);
    char *buf = aligned_alloc(4096, most);
    memset(buf, 1, most);
    memset(c.into, 1, most);
    static const uint32_t sizes[] = {0,     1,      8,       40,     41,
                                     512,   4096,   4097,    16384,  32768,
                                     65536, 262144, 1 << 20, 4 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        measure_pingpong(&c, buf, sizes[i],
                         sizes[i] < 5000 ? 1000
                                         : 20000000 / (int)(sizes[i] + 100000));
    measure_stream(&c, buf, 8, 10000);
    measure_stream(&c, buf, 1024, 5000);
    measure_stream(&c, buf, 1 << 20, 20);
    while (OPS->drain(c.ep) != WEFT_OK)
        OPS->progress(c.ep, 64);
    OPS->close(c.ep);
    if (c.id == 0)
        wait(NULL);
    return 0;
}
