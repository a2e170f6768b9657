/* Finds the size of packets that the path carries (RFC 8899, without its start
 * from below).
 *
 *   packet ---- works ----|.... unknown ....|---- refuted ----
 *          cfg.packet           search.high            search.top
 *
 * A flow begins with the size that the interface carries: where that is right,
 * as within a cluster, no search takes place. A path that drops packets of that
 * size is detected by several probes without an answer, or by the loss of
 * several large packets in a row while small ones arrive: packets then get a
 * size that every path carries, and the search begins, by packets of padding
 * that travel beside data. A packet that is acknowledged raises the size; three
 * of one size without an answer refute it. A refuted size is tried again after
 * a minute, for paths change.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flow.h"

enum {
    TRIES = 3,        /* probes without an answer that refute a size */
    GRAIN = 32,       /* bytes that are not worth a search */
    LARGE_LOST = 6,   /* large packets lost in a row that end their size */
    WAIT_NS = 5000000 /* the least time for an answer */
};
#define AGAIN_NS UINT64_C(60000000000) /* until a refuted size is tried again */

static bool is_size_found(const struct wf_udp_flow *f)
{
    return f->search.high < f->cfg.packet + GRAIN;
}

static void fall_to_minimum(struct wf_udp_flow *f)
{
    f->search.large_lost = 0;
    if (f->cfg.packet <= FLOW_PACKET_MIN)
        return;
    f->cfg.packet = FLOW_PACKET_MIN;
    f->search.high = f->search.top;
    f->search.size = f->search.tries = 0;
}

void wf_udp_flow_suspect_size(struct wf_udp_flow *f)
{
    for (uint64_t i = f->oldest; i < f->number; i++) {
        const struct wf_udp_flow_sent *s = wf_udp_flow_record_of(f, i);
        if (s->state != SENT_RESOLVED && s->len > FLOW_PACKET_MIN) {
            f->search.was = f->cfg.packet;
            fall_to_minimum(f);
            return;
        }
    }
}

void wf_udp_flow_reduce_size(struct wf_udp_flow *f)
{
    if (!f->search.size) /* else it may be about the probe, whose loss counts */
        fall_to_minimum(f);
}

void wf_udp_flow_note_large(struct wf_udp_flow *f, uint32_t len, bool lost)
{
    if (len <= FLOW_PACKET_MIN)
        return;
    if (!lost) {
        f->search.large_lost = 0;
        if (len == f->search.was && f->cfg.packet < len)
            f->cfg.packet = len; /* the path was only slow */
    } else if (++f->search.large_lost == LARGE_LOST) {
        fall_to_minimum(f);
    }
}

uint32_t wf_udp_flow_next_size(struct wf_udp_flow *f, uint64_t now)
{
    struct wf_udp_flow_search *s = &f->search;

    if (f->cfg.packet >= s->top || s->size || f->backoff)
        return 0;
    if (is_size_found(f)) {
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

void wf_udp_flow_note_size_sent(struct wf_udp_flow *f, uint64_t now,
                                uint64_t number, uint32_t size)
{
    uint64_t wait = 2 * f->rtt + 4 * f->rtt_var;

    f->search.size = size;
    f->search.number = number;
    f->search.at = now + (wait > WAIT_NS ? wait : WAIT_NS);
}

void wf_udp_flow_confirm_size(struct wf_udp_flow *f)
{
    if (f->cfg.packet < f->search.size)
        f->cfg.packet = f->search.size;
    f->search.size = f->search.tries = 0;
}

void wf_udp_flow_expire_size(struct wf_udp_flow *f, uint64_t now)
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
