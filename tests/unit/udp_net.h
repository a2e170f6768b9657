/* Two flows of udp-reliable and a network of fake time, for their tests. The
 * network loses, doubles, delays, overtakes, damages and cuts as its seed says.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UDP_NET_H
#define UDP_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../plugins/udp-reliable/flow.h"

enum { IN_FLIGHT = 8192, SCRIPT = 8 << 20, LOADS = 4096 };

struct weather { /* per 1000 packets */
    unsigned lost, doubled, late, damaged;
    uint64_t dark_from, dark_to; /* nothing arrives then */
    uint64_t pause;              /* the receiver takes nothing that often */
    uint64_t queue;              /* ns that each packet stands in one */
    size_t mtu;                  /* larger ones vanish; 0: none does */
};

struct flight {
    uint64_t at, order;
    int to;
    size_t n;
    uint8_t *bytes;
};

struct end {
    struct wf_udp_flow flow;
    uint8_t *script; /* every byte that was to be sent */
    uint64_t written, received;
    bool stopped;
    unsigned refuse; /* per 1000 deliveries */
    unsigned place;  /* per 1000 early pieces */
    uint8_t *placed; /* where they go */
    uint64_t places;
    int lent, returned;
    struct wf_udp_flow_out out;
    uint8_t scratch[FLOW_PACKET_MAX];
};

static struct {
    struct end end[2];
    int flying;
    uint64_t now, order, sent, seed;
    struct weather weather;
    struct flight air[IN_FLIGHT];
} net;

/* Of both ends; kept from one seed to the next, whose pages cost more than
 * it. */
static uint8_t scripts[2][2][SCRIPT];

static inline uint64_t roll_dice(void)
{
    net.seed ^= net.seed << 13;
    net.seed ^= net.seed >> 7;
    net.seed ^= net.seed << 17;
    return net.seed;
}

static inline bool has_chance(unsigned per_mille)
{
    return roll_dice() % 1000 < per_mille;
}

static inline size_t deliver_bytes(void *ctx, const uint8_t *data, size_t n)
{
    struct end *e = ctx;
    struct end *from = &net.end[e == &net.end[0]];
    size_t most = n;

    if (has_chance(e->refuse)) {
        e->stopped = true;
        most = roll_dice() % n;
    }
    assert_true(e->received + most <= from->written);
    if (!data)
        data = e->placed + e->received;
    assert_int_equal(memcmp(data, from->script + e->received, most), 0);
    e->received += most;
    return most;
}

static inline bool place_early(void *ctx, uint64_t offset, const uint8_t *data,
                               size_t n)
{
    struct end *e = ctx;

    if (!has_chance(e->place))
        return false;
    assert_true(offset + n <= SCRIPT);
    memcpy(e->placed + offset, data, n);
    e->places++;
    return true;
}

static inline void add_flight(int to, const uint8_t *bytes, size_t n)
{
    struct flight *p = &net.air[net.flying];

    if (net.weather.mtu && n > net.weather.mtu)
        return;
    assert_true(++net.flying < IN_FLIGHT);
    p->bytes = malloc(n);
    memcpy(p->bytes, bytes, n);
    p->n = n;
    p->to = to;
    p->order = net.order++;
    p->at = net.now + 20000 + net.weather.queue;
    if (has_chance(net.weather.late))
        p->at += roll_dice() % 300000;
    if (has_chance(net.weather.damaged))
        p->bytes[roll_dice() % n] ^= (uint8_t)(1 + roll_dice() % 255);
}

static inline void send_all(int who)
{
    struct end *e = &net.end[who];
    static uint8_t bytes[PACKET_MAX + FLOW_PACKET_MAX];

    e->out.scratch = e->scratch;
    while (wf_udp_flow_next_packet(&e->flow, net.now, &e->out)) {
        size_t head = wf_udp_packet_pack(&e->out.head, bytes), at = head;
        for (int i = 0; i < e->out.n; i++) {
            memcpy(bytes + at, e->out.v[i].iov_base, e->out.v[i].iov_len);
            at += e->out.v[i].iov_len;
        }
        wf_udp_packet_set_checksum(bytes, at, NULL, 0);
        wf_udp_flow_sent(&e->flow, net.now, &e->out);
        net.sent++;
        if (net.now >= net.weather.dark_from && net.now < net.weather.dark_to)
            continue;
        if (!has_chance(net.weather.lost))
            add_flight(!who, bytes, at);
        if (has_chance(net.weather.doubled))
            add_flight(!who, bytes, at);
    }
}

static inline void take_flight(struct flight p)
{
    struct wf_udp_packet k;
    struct end *e = &net.end[p.to];
    size_t head = 0;

    if (wf_udp_packet_is_intact(p.bytes, p.n))
        head = wf_udp_packet_unpack(&k, p.bytes, p.n);
    if (head)
        wf_udp_flow_take_packet(&e->flow, net.now, &k, p.bytes + head,
                                p.n - head);
    free(p.bytes);
    while (wf_udp_flow_return_lent(&e->flow, false))
        e->returned++;
}

static inline int find_first(void)
{
    int best = 0;

    for (int i = 1; i < net.flying; i++)
        if (net.air[i].at < net.air[best].at ||
            (net.air[i].at == net.air[best].at &&
             net.air[i].order < net.air[best].order))
            best = i;
    return best;
}

/* The next thing that happens; false: nothing will. */
static inline bool run_step(void)
{
    uint64_t next = UINT64_MAX;
    int packet = net.flying ? find_first() : -1;

    for (int i = 0; i < 2; i++) {
        uint64_t at = wf_udp_flow_deadline(&net.end[i].flow);
        if (at && at < next)
            next = at;
    }
    if (packet >= 0 && net.air[packet].at <= next) {
        struct flight p = net.air[packet];
        net.air[packet] = net.air[--net.flying];
        net.now = p.at > net.now ? p.at : net.now;
        take_flight(p);
    } else if (next != UINT64_MAX) {
        net.now = next > net.now ? next : net.now;
    } else {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        struct end *e = &net.end[i];
        wf_udp_flow_expire(&e->flow, net.now);
        if (e->stopped && has_chance(300)) {
            e->stopped = false;
            wf_udp_flow_resume_delivery(&e->flow, net.now);
        }
        send_all(i);
    }
    return true;
}

static inline void start_net(uint64_t seed, struct weather w, uint32_t packet)
{
    struct wf_udp_flow_config cfg = {.packet = packet,
                                     .window = 256 << 10,
                                     .burst = 64 << 10,
                                     .ack_delay = 100000,
                                     .probe_after = 2000000};
    memset(&net, 0, offsetof(__typeof__(net), air));
    net.seed = seed * 2654435761u + 88172645463325252u;
    net.weather = w;
    net.now = 1000000;
    for (int i = 0; i < 2; i++) {
        struct end *e = &net.end[i];
        assert_int_equal(wf_udp_flow_open(&e->flow, &cfg), WEFT_OK);
        e->flow.deliver = deliver_bytes;
        e->flow.place = place_early;
        e->flow.ctx = e;
        e->script = scripts[i][0];
        e->placed = scripts[i][1];
    }
}

static inline void stop_net(void)
{
    while (net.flying > 0)
        free(net.air[--net.flying].bytes);
    for (int i = 0; i < 2; i++)
        wf_udp_flow_close(&net.end[i].flow);
}

struct load { /* a container that may be lent */
    weft_hdr hdr;
    weft_tx tx;
    struct iovec v[3];
    uint8_t *data;
};

static struct load *loads[LOADS];
static int loads_n;

static inline void write_script(struct end *e, const void *data, size_t n)
{
    assert_true(e->written + n <= SCRIPT);
    memcpy(e->script + e->written, data, n);
    e->written += n;
}

static inline int load_segments(weft_tx *tx, uint64_t off, struct iovec *v,
                                int max)
{
    const struct load *l =
        (const void *)((const char *)tx - offsetof(struct load, tx));
    int n = 0;

    for (int i = 0; i < 3 && n < max; i++) {
        if (off < l->v[i].iov_len || (!off && !l->v[i].iov_len))
            v[n++] = (struct iovec){(char *)l->v[i].iov_base + off,
                                    l->v[i].iov_len - off};
        off -= off < l->v[i].iov_len ? off : l->v[i].iov_len;
    }
    return n;
}

static inline struct load *load_new(size_t n)
{
    struct load *l = calloc(1, sizeof *l);
    uint8_t *h = (uint8_t *)&l->hdr;
    size_t cut = n ? roll_dice() % n : 0;

    l->data = malloc(n + 1);
    for (size_t i = 0; i < sizeof l->hdr; i++)
        h[i] = (uint8_t)roll_dice();
    h[2] = 0;
    h[3] = WEFT_HDR_SHORT >> 8;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = roll_dice();
        memcpy(l->data + i, &word, n - i < 8 ? n - i : 8);
    }
    l->v[0] = (struct iovec){l->data, cut};
    l->v[1] = (struct iovec){l->data, 0};
    l->v[2] = (struct iovec){l->data + cut, n - cut};
    l->tx = (weft_tx){.size = sizeof l->tx, .hdr = &l->hdr, .len = n,
                      .seg = load_segments};
    assert_true(loads_n < LOADS);
    return loads[loads_n++] = l;
}

/* Queue one container, copied or lent; it must have room. */
static inline bool post_load(int who, size_t n, bool lend)
{
    struct end *e = &net.end[who];
    struct load *l = load_new(n);

    if (lend ? !wf_udp_flow_lend(&e->flow, &l->tx)
             : !wf_udp_flow_copy(&e->flow, &l->tx, NULL))
        return false;
    write_script(e, &l->hdr, WEFT_HDR_MIN);
    write_script(e, l->data, n);
    e->lent += lend;
    return true;
}

static inline void free_loads(void)
{
    while (loads_n > 0) {
        struct load *l = loads[--loads_n];
        free(l->data);
        free(l);
    }
}

static inline bool all_done(void)
{
    return wf_udp_flow_is_idle(&net.end[0].flow) &&
           wf_udp_flow_is_idle(&net.end[1].flow) &&
           net.end[0].received == net.end[1].written &&
           net.end[1].received == net.end[0].written;
}

/* Random containers in both directions, in bursts; one in ten is up to
 * `longest` bytes long. */
static inline void talk_of(int messages, size_t longest)
{
    for (long steps = 0; messages > 0 || !all_done(); steps++) {
        if (messages > 0 && (has_chance(200) || all_done())) {
            int who = has_chance(500);
            size_t n =
                has_chance(100) ? roll_dice() % longest : roll_dice() % 300;
            if (post_load(who, n, n > 2000 || has_chance(100)))
                messages--;
            send_all(who);
        }
        for (int i = 0; i < 2; i++)
            if (net.end[i].stopped && !net.flying) {
                net.end[i].stopped = false;
                wf_udp_flow_resume_delivery(&net.end[i].flow, net.now);
                send_all(i);
            }
        if (!run_step())
            assert_true(messages > 0 || all_done() || net.end[0].stopped ||
                        net.end[1].stopped);
        assert_true(steps < 2000000);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(net.end[i].returned, net.end[i].lent);
}

static inline void talk_both(int messages)
{
    talk_of(messages, 100000);
}

/* One way, so much; what may be under way after it. */
static inline uint64_t carry_bulk(int megabytes, struct weather w)
{
    net.weather = w;
    for (int i = 0; i < 10 * megabytes; i++) {
        assert_true(post_load(0, 100000, true));
        send_all(0);
        while (wf_udp_flow_has_unsent(&net.end[0].flow))
            assert_true(run_step());
    }
    while (!all_done())
        assert_true(run_step());
    return net.end[0].flow.congestion;
}

#endif
