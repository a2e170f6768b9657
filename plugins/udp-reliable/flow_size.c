/* Which size of packet the path carries (RFC 8899, without its start from below).
 *
 *   packet ---- works ----|.... unknown ....|---- refuted ----
 *          cfg.packet           search.high            search.top
 *
 * A flow begins with what the interface carries: where that is right, as within
 * a cluster, nothing is ever searched. A path that swallows packets of that size
 * is found out by several probes without an answer, or by the loss of several
 * large packets in a row while small ones arrive: packets fall to a size that
 * every path carries, and the search begins, by packets of padding that travel
 * beside data. One that is acknowledged raises the size; three of one size
 * without an answer refute it. What was refuted is tried again after a minute:
 * paths change.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flow.h"

enum {
    TRIES = 3,
    GRAIN = 32,      /* bytes that are not worth a search */
    LARGE_LOST = 6,  /* in a row */
    WAIT_NS = 5000000 /* for an answer, at least */
};
#define AGAIN_NS UINT64_C(60000000000)

static bool found(const struct wf_udp_flow *f)
{
    return f->search.high < f->cfg.packet + GRAIN;
}

static void fall(struct wf_udp_flow *f)
{
    f->search.large_lost = 0;
    if (f->cfg.packet <= FLOW_PACKET_MIN)
        return;
    f->cfg.packet = FLOW_PACKET_MIN;
    f->search.high = f->search.top;
    f->search.size = f->search.tries = 0;
}

/* Nobody answers, and it may be for the size of what is under way. */
void wf_udp_flow_suspect(struct wf_udp_flow *f)
{
    for (uint64_t i = f->oldest; i < f->number; i++) {
        const struct wf_udp_flow_sent *s = wf_udp_flow_packet(f, i);
        if (s->state != SENT_RESOLVED && s->len > FLOW_PACKET_MIN) {
            f->search.was = f->cfg.packet;
            fall(f);
            return;
        }
    }
}

/* A router, or our own system, says that a packet was too large. */
void wf_udp_flow_too_large(struct wf_udp_flow *f)
{
    if (!f->search.size) /* else it may be about that: it will be missed */
        fall(f);
}

/* A packet of so many bytes has arrived, or is lost. */
void wf_udp_flow_large(struct wf_udp_flow *f, uint32_t len, bool lost)
{
    if (len <= FLOW_PACKET_MIN)
        return;
    if (!lost) {
        f->search.large_lost = 0;
        if (len == f->search.was && f->cfg.packet < len)
            f->cfg.packet = len; /* who did not answer was only slow */
    } else if (++f->search.large_lost == LARGE_LOST) {
        fall(f);
    }
}

/* The size to be tried now, 0: none. */
uint32_t wf_udp_flow_try_size(struct wf_udp_flow *f, uint64_t now)
{
    struct wf_udp_flow_search *s = &f->search;

    if (f->cfg.packet >= s->top || s->size || f->backoff)
        return 0;
    if (found(f)) {
        if (!s->again)
            s->again = now + AGAIN_NS;
        if (now < s->again)
            return 0;
        s->high = s->top;
        s->again = 0;
    }
    if (s->high == s->top)
        return s->top;
    return f->cfg.packet + (s->high - f->cfg.packet + 1) / 2;
}

/* Packet `number` is on its way, to try that size. */
void wf_udp_flow_size_sent(struct wf_udp_flow *f, uint64_t now, uint64_t number,
                           uint32_t size)
{
    uint64_t wait = 2 * f->rtt + 4 * f->rtt_var;

    f->search.size = size;
    f->search.number = number;
    f->search.at = now + (wait > WAIT_NS ? wait : WAIT_NS);
}

void wf_udp_flow_size_heard(struct wf_udp_flow *f)
{
    if (f->cfg.packet < f->search.size)
        f->cfg.packet = f->search.size;
    f->search.size = f->search.tries = 0;
}

void wf_udp_flow_size_expire(struct wf_udp_flow *f, uint64_t now)
{
    struct wf_udp_flow_search *s = &f->search;

    if (!s->size || s->at > now)
        return;
    if (++s->tries == TRIES) {
        s->high = s->size - 1;
        s->tries = 0;
    }
    s->size = 0;
}
