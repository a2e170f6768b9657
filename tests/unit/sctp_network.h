/* Two ends of an association, and a network between them that loses, doubles
 * and overtakes. For sctp_stack.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SCTP_NETWORK_H
#define SCTP_NETWORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../plugins/sctp/stack.h"

enum { WIRE = 4096 };
enum { HEAD = 12, DATA = 0, INIT = 1, INIT_ACK = 2, I_DATA = 64 }; /* chunks */

struct packet {
    size_t n;
    uint8_t *bytes;
};

/* The wires between a pair of ends. */
struct network {
    uint32_t mtu;
    bool check;       /* packets carry a checksum */
    unsigned trouble; /* packets per 1000 that are lost, doubled, swapped */
    uint32_t seed;
};

struct end {
    struct wf_sctp_user_assoc assoc;
    struct end *other;
    uint32_t mtu, too_long, missed;
    uint32_t newest, again;   /* data of this end: packets that went again */
    bool old;                 /* its stack knows no I-DATA */
    bool plain;               /* the other side hears of no I-DATA from here */
    unsigned data, idata;     /* packets to this end that begin with one */
    struct packet wire[WIRE]; /* on the way to this end */
    int packets;
    unsigned lost, doubled, swapped; /* per 1000 of those */
    uint32_t random;
    bool up;
    uint32_t sent, got, next_in[SCTP_STREAMS], next_out[SCTP_STREAMS];
};

/* A thread that drives the stack's timers also sends for the associations of
 * others, so this lock covers all wires. It is taken inside the stack's lock,
 * never the other way. */
static pthread_mutex_t wires = PTHREAD_MUTEX_INITIALIZER;

static uint32_t draw_random(struct end *e, uint32_t below)
{
    e->random = e->random * 1664525u + 1013904223u;
    return (e->random >> 8) % below;
}

/* In an INIT or its acknowledgement, whose parameters follow 20 bytes: chunk
 * type I-DATA becomes one that nobody knows. */
static void forget_idata(uint8_t *packet, size_t n)
{
    size_t at = HEAD + 20;

    while (at + 4 <= n) {
        size_t len = (size_t)(packet[at + 2] << 8 | packet[at + 3]);
        bool types = packet[at] == 0x80 && packet[at + 1] == 0x08;
        for (size_t i = 4; types && i < len && at + i < n; i++)
            if (packet[at + i] == I_DATA)
                packet[at + i] = 0x3f;
        at += len < 4 ? 4 : (len + 3) & ~(size_t)3;
    }
}

static void look_at(struct end *to, struct packet *p)
{
    uint8_t first = p->n > HEAD ? p->bytes[HEAD] : 0xff;

    to->data += first == DATA;
    to->idata += first == I_DATA;
    if (to->other->plain && (first == INIT || first == INIT_ACK))
        forget_idata(p->bytes, p->n);
}

static void add_packet(struct end *to, const void *bytes, size_t n)
{
    struct packet *p = &to->wire[to->packets];

    if (to->packets == WIRE)
        return;
    p->bytes = malloc(n);
    memcpy(p->bytes, bytes, n);
    p->n = n;
    look_at(to, p);
    to->packets++;
}

static void send_packet(struct end *to, const void *bytes, size_t n)
{
    if (n > to->mtu) { /* never leaves; we hold the lock of the stack */
        to->too_long++;
        return;
    }
    if (draw_random(to, 1000) < to->lost) {
        to->missed++;
        return;
    }
    add_packet(to, bytes, n);
    if (draw_random(to, 1000) < to->doubled)
        add_packet(to, bytes, n);
    if (to->packets > 1 && draw_random(to, 1000) < to->swapped) {
        struct packet p = to->wire[to->packets - 1];
        to->wire[to->packets - 1] = to->wire[to->packets - 2];
        to->wire[to->packets - 2] = p;
    }
}

/* Behind what it acknowledges, a packet may carry data. */
static void count_again(struct end *from, const uint8_t *packet, size_t n)
{
    for (size_t at = HEAD; at + 8 <= n;) {
        uint32_t len = (uint32_t)packet[at + 2] << 8 | packet[at + 3];
        uint32_t number = (uint32_t)packet[at + 4] << 24 |
                          (uint32_t)packet[at + 5] << 16 |
                          (uint32_t)packet[at + 6] << 8 | packet[at + 7];
        if (packet[at] == DATA || packet[at] == I_DATA) {
            if (from->newest && (int32_t)(number - from->newest) <= 0)
                from->again++;
            else
                from->newest = number;
            return;
        }
        at += len < 4 ? 4 : (len + 3) & ~3u;
    }
}

static void output_packet(void *ctx, const void *bytes, size_t n)
{
    pthread_mutex_lock(&wires);
    count_again(ctx, bytes, n);
    send_packet(((struct end *)ctx)->other, bytes, n);
    pthread_mutex_unlock(&wires);
}

static void deliver_packets(struct end *e)
{
    struct packet here[WIRE];
    int n;

    pthread_mutex_lock(&wires);
    n = e->packets;
    memcpy(here, e->wire, (size_t)n * sizeof *here);
    e->packets = 0;
    pthread_mutex_unlock(&wires);
    for (int i = 0; i < n; i++) {
        wf_sctp_user_input(&e->assoc, here[i].bytes, here[i].n);
        free(here[i].bytes);
    }
}

#endif
