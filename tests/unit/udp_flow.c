/* udp-reliable's flows: whatever a network does to packets, the stream arrives
 * once, in order and unaltered.
 *
 * Two flows and a network of fake time. The network loses, doubles, delays,
 * overtakes, damages and cuts as its seed says; a seed that fails is printed
 * and replays exactly.
 * SPDX-License-Identifier: BSD-3-Clause
 */
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
    int lent, returned;
    struct wf_udp_flow_out out;
    uint8_t scratch[FLOW_PACKET_MAX];
};

static struct {
    struct end end[2];
    struct flight air[IN_FLIGHT];
    int flying;
    uint64_t now, order, sent, seed;
    struct weather weather;
} net;

static uint64_t dice(void)
{
    net.seed ^= net.seed << 13;
    net.seed ^= net.seed >> 7;
    net.seed ^= net.seed << 17;
    return net.seed;
}

static bool chance(unsigned per_mille)
{
    return dice() % 1000 < per_mille;
}

static size_t deliver(void *ctx, const uint8_t *data, size_t n)
{
    struct end *e = ctx;
    struct end *from = &net.end[e == &net.end[0]];
    size_t most = n;

    if (chance(e->refuse)) {
        e->stopped = true;
        most = dice() % n;
    }
    assert_true(e->received + most <= from->written);
    assert_memory_equal(data, from->script + e->received, most);
    e->received += most;
    return most;
}

static void fly(int to, const uint8_t *bytes, size_t n)
{
    struct flight *p = &net.air[net.flying++];

    assert_true(net.flying < IN_FLIGHT);
    p->bytes = malloc(n);
    memcpy(p->bytes, bytes, n);
    p->n = n;
    p->to = to;
    p->order = net.order++;
    p->at = net.now + 20000 + net.weather.queue;
    if (chance(net.weather.late))
        p->at += dice() % 300000;
    if (chance(net.weather.damaged))
        p->bytes[dice() % n] ^= (uint8_t)(1 + dice() % 255);
}

static void send_all(int who)
{
    struct end *e = &net.end[who];
    static uint8_t bytes[PACKET_MAX + FLOW_PACKET_MAX];

    e->out.scratch = e->scratch;
    while (wf_udp_flow_output(&e->flow, net.now, &e->out)) {
        size_t head = wf_udp_packet_pack(&e->out.head, bytes), at = head;
        for (int i = 0; i < e->out.n; i++) {
            memcpy(bytes + at, e->out.v[i].iov_base, e->out.v[i].iov_len);
            at += e->out.v[i].iov_len;
        }
        wf_udp_packet_seal(bytes, at, NULL, 0);
        wf_udp_flow_sent(&e->flow, net.now, &e->out);
        net.sent++;
        if (net.now >= net.weather.dark_from && net.now < net.weather.dark_to)
            continue;
        if (!chance(net.weather.lost))
            fly(!who, bytes, at);
        if (chance(net.weather.doubled))
            fly(!who, bytes, at);
    }
}

static void arrive(struct flight p)
{
    struct wf_udp_packet k;
    struct end *e = &net.end[p.to];
    size_t head = 0;

    if (wf_udp_packet_intact(p.bytes, p.n))
        head = wf_udp_packet_unpack(&k, p.bytes, p.n);
    if (head)
        wf_udp_flow_input(&e->flow, net.now, &k, p.bytes + head, p.n - head);
    free(p.bytes);
    while (wf_udp_flow_return(&e->flow, false))
        e->returned++;
}

static int first(void)
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
static bool step(void)
{
    uint64_t next = UINT64_MAX;
    int packet = net.flying ? first() : -1;

    for (int i = 0; i < 2; i++) {
        uint64_t at = wf_udp_flow_deadline(&net.end[i].flow);
        if (at && at < next)
            next = at;
    }
    if (packet >= 0 && net.air[packet].at <= next) {
        struct flight p = net.air[packet];
        net.air[packet] = net.air[--net.flying];
        net.now = p.at > net.now ? p.at : net.now;
        arrive(p);
    } else if (next != UINT64_MAX) {
        net.now = next > net.now ? next : net.now;
    } else {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        struct end *e = &net.end[i];
        wf_udp_flow_expire(&e->flow, net.now);
        if (e->stopped && chance(300)) {
            e->stopped = false;
            wf_udp_flow_resume(&e->flow, net.now);
        }
        send_all(i);
    }
    return true;
}

static void start(uint64_t seed, struct weather w, uint32_t packet)
{
    struct wf_udp_flow_config cfg = {.packet = packet,
                                     .window = 256 << 10,
                                     .burst = 64 << 10,
                                     .ack_delay = 100000,
                                     .probe_after = 2000000};
    memset(&net, 0, sizeof net);
    net.seed = seed * 2654435761u + 88172645463325252u;
    net.weather = w;
    net.now = 1000000;
    for (int i = 0; i < 2; i++) {
        struct end *e = &net.end[i];
        assert_int_equal(wf_udp_flow_open(&e->flow, &cfg), WEFT_OK);
        e->flow.deliver = deliver;
        e->flow.ctx = e;
        e->script = malloc(SCRIPT);
    }
}

static void stop(void)
{
    while (net.flying > 0)
        free(net.air[--net.flying].bytes);
    for (int i = 0; i < 2; i++) {
        wf_udp_flow_close(&net.end[i].flow);
        free(net.end[i].script);
    }
}

struct load { /* a container that may be lent */
    weft_hdr hdr;
    weft_tx tx;
    struct iovec v[3];
    uint8_t *data;
};

static struct load *loads[LOADS];
static int loads_n;

static void write_script(struct end *e, const void *data, size_t n)
{
    assert_true(e->written + n <= SCRIPT);
    memcpy(e->script + e->written, data, n);
    e->written += n;
}

static struct load *load_new(size_t n)
{
    struct load *l = calloc(1, sizeof *l);
    uint8_t *h = (uint8_t *)&l->hdr;
    size_t cut = n ? dice() % n : 0;

    l->data = malloc(n + 1);
    for (size_t i = 0; i < sizeof l->hdr; i++)
        h[i] = (uint8_t)dice();
    h[2] = 0;
    h[3] = WEFT_HDR_SHORT >> 8;
    for (size_t i = 0; i < n; i++)
        l->data[i] = (uint8_t)dice();
    l->v[0] = (struct iovec){l->data, cut};
    l->v[1] = (struct iovec){l->data, 0};
    l->v[2] = (struct iovec){l->data + cut, n - cut};
    l->tx = (weft_tx){.hdr = &l->hdr, .iov = l->v, .iov_n = 3, .len = n};
    assert_true(loads_n < LOADS);
    return loads[loads_n++] = l;
}

/* Queue one container, copied or lent; it must have room. */
static bool post(int who, size_t n, bool lend)
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

static void free_loads(void)
{
    while (loads_n > 0) {
        struct load *l = loads[--loads_n];
        free(l->data);
        free(l);
    }
}

static bool all_done(void)
{
    return wf_udp_flow_idle(&net.end[0].flow) &&
           wf_udp_flow_idle(&net.end[1].flow) &&
           net.end[0].received == net.end[1].written &&
           net.end[1].received == net.end[0].written;
}

/* Random containers in both directions, in bursts. */
static void talk(int messages)
{
    for (long steps = 0; messages > 0 || !all_done(); steps++) {
        if (messages > 0 && (chance(200) || all_done())) {
            int who = chance(500);
            size_t n = chance(100) ? dice() % 100000 : dice() % 300;
            if (post(who, n, n > 2000 || chance(100)))
                messages--;
            send_all(who);
        }
        for (int i = 0; i < 2; i++)
            if (net.end[i].stopped && !net.flying) {
                net.end[i].stopped = false;
                wf_udp_flow_resume(&net.end[i].flow, net.now);
                send_all(i);
            }
        if (!step())
            assert_true(messages > 0 || all_done() || net.end[0].stopped ||
                        net.end[1].stopped);
        assert_true(steps < 2000000);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(net.end[i].returned, net.end[i].lent);
}

static void weather_holds(const char *name, struct weather w, int seeds)
{
    static const uint32_t packets[] = {1100, 1432, 8900, FLOW_PACKET_MAX};

    for (int seed = 1; seed <= seeds; seed++) {
        print_message("%s, seed %d\r", name, seed);
        start((uint64_t)seed, w, packets[seed % 4]);
        net.end[0].refuse = net.end[1].refuse = seed % 3 ? 0 : 50;
        talk(150);
        stop();
        free_loads();
    }
    print_message("%s, %d seeds   \n", name, seeds);
}

static void a_good_network_repeats_nothing(void **state)
{
    start(7, (struct weather){0}, 1432);
    talk(300);
    assert_int_equal(net.end[0].flow.packets_lost, 0);
    assert_int_equal(net.end[1].flow.packets_lost, 0);
    assert_int_equal(net.end[0].flow.packets_twice, 0);
    assert_int_equal(net.end[1].flow.packets_twice, 0);
    stop();
    free_loads();
}

static void loss_costs_repetition_only(void **state)
{
    weather_holds("loss", (struct weather){.lost = 50}, 40);
    weather_holds("heavy loss", (struct weather){.lost = 400}, 20);
}

static void reordering_duplicates_and_damage_pass_unnoticed(void **state)
{
    weather_holds("reordering", (struct weather){.late = 250}, 40);
    weather_holds(
        "all of it",
        (struct weather){.lost = 50, .late = 250, .doubled = 10, .damaged = 10},
        60);
}

/* One way, so much; what may be under way after it. */
static uint64_t carry(int megabytes, struct weather w)
{
    net.weather = w;
    for (int i = 0; i < 10 * megabytes; i++) {
        assert_true(post(0, 100000, true));
        send_all(0);
        while (wf_udp_flow_unsent(&net.end[0].flow))
            assert_true(step());
    }
    while (!all_done())
        assert_true(step());
    return net.end[0].flow.congestion;
}

/* 1 in 100: sending less would lose as much of it. */
static void damage_does_not_slow_a_path_down(void **state)
{
    uint64_t before;

    start(3, (struct weather){0}, 1432);
    before = carry(1, (struct weather){0});
    assert_true(carry(6, (struct weather){.lost = 10}) >= before);
    assert_true(net.end[0].flow.packets_lost > 10);
    stop();
    free_loads();
}

static void a_loss_beside_a_queue_slows_it_down(void **state)
{
    uint64_t before;

    start(3, (struct weather){0}, 1432);
    before = carry(1, (struct weather){0});
    assert_true(carry(3, (struct weather){.lost = 10, .queue = 2000000}) <
                before / 2);
    stop();
    free_loads();
}

static void many_losses_slow_it_down(void **state)
{
    uint64_t before;

    start(3, (struct weather){0}, 1432);
    before = carry(1, (struct weather){0});
    assert_true(carry(3, (struct weather){.lost = 60}) < before / 2);
    stop();
    free_loads();
}

static void a_cut_is_survived(void **state)
{
    weather_holds("cut",
                  (struct weather){.dark_from = 1200000, .dark_to = 900000000},
                  20);
}

static void a_reordering_path_is_not_taken_for_a_lossy_one(void **state)
{
    start(3, (struct weather){.late = 250}, 1432);
    talk(400);
    assert_true(net.end[0].flow.reorder > 3);
    assert_true(net.end[0].flow.packets_lost * 8 < net.sent);
    stop();
    free_loads();
}

static void numbers_are_found_across_the_wrap(void **state)
{
    assert_int_equal(wf_udp_packet_number(5, 7), 7);
    assert_int_equal(wf_udp_packet_number(0x1ffffffffull, 1), 0x200000001ull);
    assert_int_equal(wf_udp_packet_number(0x200000001ull, 0xffffffffu),
                     0x1ffffffffull);
}

/* Numbers are 32 bits on the wire, offsets 64. */
static void counters_wrap_in_the_middle_of_a_stream(void **state)
{
    start(11, (struct weather){.lost = 100, .late = 100}, 1432);
    for (int i = 0; i < 2; i++) {
        struct wf_udp_flow *f = &net.end[i].flow;
        f->number = f->oldest = 0xfffffff0u;
        f->seen = f->peer_seen = 0xffffffefu;
        f->seen_any = true;
    }
    talk(200);
    assert_true(net.end[0].flow.number > UINT32_MAX);
    stop();
    free_loads();
}

static void nonsense_from_outside_changes_nothing(void **state)
{
    start(13, (struct weather){0}, 1432);
    for (int i = 0; i < 20000; i++) {
        uint8_t bytes[200];
        struct wf_udp_packet k;
        size_t n = dice() % sizeof bytes, head;
        for (size_t b = 0; b < n; b++)
            bytes[b] = chance(300) ? 0 : (uint8_t)dice();
        if (n > 1) {
            bytes[0] = UDP_DATA + dice() % 2;
            bytes[1] = 1;
        }
        head = wf_udp_packet_unpack(&k, bytes, n);
        if (!head)
            continue;
        k.type = UDP_ACK; /* forged data is the checksum's business */
        k.room = 0;
        wf_udp_flow_input(&net.end[0].flow, net.now, &k, bytes + head,
                          n - head);
    }
    talk(50);
    stop();
    free_loads();
}

static void the_checksum_is_crc32c(void **state)
{
    assert_int_equal(wf_udp_crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(wf_udp_crc32c(wf_udp_crc32c(0, "1234", 4), "56789", 5),
                     0xe3069283u);
}

static void truncated_and_foreign_packets_are_refused(void **state)
{
    uint8_t bytes[PACKET_MAX];
    struct wf_udp_packet k = {.type = UDP_DATA, .flags = UDP_SACK}, back;

    assert_int_equal(wf_udp_packet_pack(&k, bytes), PACKET_MAX);
    assert_int_equal(wf_udp_packet_unpack(&back, bytes, PACKET_MAX),
                     PACKET_MAX);
    for (size_t n = 0; n < PACKET_MAX; n++)
        assert_int_equal(wf_udp_packet_unpack(&back, bytes, n), 0);
    bytes[1] = 9;
    assert_int_equal(wf_udp_packet_unpack(&back, bytes, PACKET_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_network_repeats_nothing),
        cmocka_unit_test(loss_costs_repetition_only),
        cmocka_unit_test(reordering_duplicates_and_damage_pass_unnoticed),
        cmocka_unit_test(damage_does_not_slow_a_path_down),
        cmocka_unit_test(a_loss_beside_a_queue_slows_it_down),
        cmocka_unit_test(many_losses_slow_it_down),
        cmocka_unit_test(a_cut_is_survived),
        cmocka_unit_test(a_reordering_path_is_not_taken_for_a_lossy_one),
        cmocka_unit_test(numbers_are_found_across_the_wrap),
        cmocka_unit_test(counters_wrap_in_the_middle_of_a_stream),
        cmocka_unit_test(nonsense_from_outside_changes_nothing),
        cmocka_unit_test(the_checksum_is_crc32c),
        cmocka_unit_test(truncated_and_foreign_packets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
