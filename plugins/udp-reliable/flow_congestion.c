/* Congestion control: decides how many bytes may be under way, from round trip
 * times, arrivals and losses.
 *
 * A loss shows that too much is sent if a queue stands on the path (the round
 * trip is well above the shortest recent one), or if more than one packet in
 * fifty is lost; else the path damages packets, and sending less would not
 * help. The first is the rule of TCP Veno (Fu and Liew, 2003), the second that
 * of BBR version 2.
 *
 * Growth is a slow start up to `threshold`; after it CUBIC's curve through the
 * window at which the path was full, or a packet for each round trip where that
 * is faster (RFC 9438), so that a link is shared fairly with TCP.
 *
 * When several probes get no answer the path may be gone, and the window starts
 * small again when it is back. If packets that were sent before those probes
 * turn out to have arrived the path was only slow, and the window is restored.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "flow.h"

enum {
    QUEUE_NS = 1000000,    /* a queue that adds less does not count */
    LOSSY = 50,            /* one lost packet in so many counts */
    LATELY = 1024,         /* recent packets that losses are counted among */
    WINDOW_MAX = 16 << 20, /* bytes */
    KEPT = 7,              /* tenths of the window, after a cut */
    LEAST = 4,             /* packets that a window has room for */
    REORDER_MIN = 3,
    REORDER_MAX = 128
};
#define SHORTEST_NS 10000000000u /* a shortest round trip counts so long */
#define FAR_MS      50000        /* the curve is not evaluated beyond this */

void wf_udp_flow_add_rtt(struct wf_udp_flow *f, uint64_t now, uint64_t rtt)
{
    uint64_t off;

    if (!f->rtt_min || rtt < f->rtt_min || now - f->rtt_min_at > SHORTEST_NS) {
        f->rtt_min = rtt;
        f->rtt_min_at = now;
    }
    if (!f->rtt) {
        f->rtt = rtt;
        f->rtt_var = rtt / 2;
        return;
    }
    off = rtt > f->rtt ? rtt - f->rtt : f->rtt - rtt;
    f->rtt_var += (off >> 2) - (f->rtt_var >> 2);
    f->rtt += (rtt >> 3) - (f->rtt >> 3);
}

/* ---- CUBIC --------------------------------------------------------------- */

static uint64_t cube_root(uint64_t x)
{
    uint64_t root = 0;

    for (int bit = 20; bit >= 0; bit--) { /* 2^63 has a root of 2^21 */
        uint64_t next = root | 1ull << bit;
        if (next * next * next <= x)
            root = next;
    }
    return root;
}

/* Starts CUBIC's curve at the present window. */
static void begin_curve(struct wf_udp_flow *f, uint64_t now)
{
    uint64_t gap;

    WEFT_ASSERT(f->cfg.packet > 0);
    f->curve_at = now;
    if (f->congestion >= f->full) {
        f->full = f->congestion;
        f->curve_ms = 0;
        return;
    }
    gap = (f->full - f->congestion) / f->cfg.packet;     /* packets */
    f->curve_ms = (int64_t)cube_root(gap * 2500000000u); /* / 0.4 per s^3 */
}

/* Returns the window that the curve asks for one round trip from now. */
static uint64_t window_on_curve(const struct wf_udp_flow *f, uint64_t now)
{
    int64_t t = (int64_t)((now - f->curve_at + f->rtt) / 1000000) - f->curve_ms,
            by;

    t = t > FAR_MS ? FAR_MS : t < -FAR_MS ? -FAR_MS : t;
    by = t * t * t / 2500000 * (int64_t)f->cfg.packet / 1000;
    return by < 0 && (uint64_t)-by > f->full ? 0 : f->full + (uint64_t)by;
}

void wf_udp_flow_grow_window(struct wf_udp_flow *f, uint64_t now,
                             uint64_t bytes)
{
    uint64_t more = bytes;

    if (2 * (f->flying + bytes) < f->congestion)
        return; /* the window was not the limit */
    if (f->congestion >= f->threshold) {
        uint64_t aim;
        if (!f->curve_at)
            begin_curve(f, now);
        aim = window_on_curve(f, now);
        if (aim > f->congestion + f->congestion / 2)
            aim = f->congestion + f->congestion / 2;
        more = f->cfg.packet; /* for each round trip */
        if (aim > f->congestion + more)
            more = aim - f->congestion;
        more = more * bytes / f->congestion + 1;
    }
    WEFT_ASSERT(f->congestion > 0);
    f->congestion += more;
    if (f->congestion > WINDOW_MAX)
        f->congestion = WINDOW_MAX;
}

/* ---- losses -------------------------------------------------------------- */

static bool is_congested(const struct wf_udp_flow *f)
{
    return f->rtt > f->rtt_min + f->rtt_min / 2 + QUEUE_NS ||
           f->lost_lately * LOSSY > f->sent_lately;
}

void wf_udp_flow_count_packet(struct wf_udp_flow *f, bool lost)
{
    f->sent_lately++;
    f->lost_lately += lost;
    if (f->sent_lately < LATELY)
        return;
    f->sent_lately /= 2;
    f->lost_lately /= 2;
    if (!f->late && f->reorder > REORDER_MIN)
        f->reorder -= (f->reorder - REORDER_MIN + 3) / 4;
    f->late = false;
}

void wf_udp_flow_note_reordering(struct wf_udp_flow *f)
{
    f->late = true;
    if (f->reorder < REORDER_MAX)
        f->reorder += f->reorder / 2;
}

/* Applies the least window after a cut, and ends slow start there. */
static void finish_cut(struct wf_udp_flow *f)
{
    if (f->congestion < (uint64_t)LEAST * f->cfg.packet)
        f->congestion = (uint64_t)LEAST * f->cfg.packet;
    WEFT_ASSERT(f->congestion > 0);
    f->threshold = f->congestion;
    f->curve_at = 0;
}

void wf_udp_flow_cut_window(struct wf_udp_flow *f, uint64_t number)
{
    if (number < f->recovery)
        return; /* sent before the last reaction to a loss */
    f->recovery = f->number;
    if (!is_congested(f))
        return;
    f->full = f->congestion < f->full ? f->congestion * (10 + KEPT) / 20
                                      : f->congestion;
    f->congestion = f->congestion * KEPT / 10;
    finish_cut(f);
}

void wf_udp_flow_reset_window(struct wf_udp_flow *f)
{
    f->was_congestion = f->congestion;
    f->was_threshold = f->threshold;
    f->gave_way = f->recovery = f->number;
    f->congestion = 0;
    finish_cut(f);
}

void wf_udp_flow_undo_reset(struct wf_udp_flow *f, uint64_t number)
{
    if (number >= f->gave_way)
        return;
    f->gave_way = 0;
    if (f->congestion < f->was_congestion)
        f->congestion = f->was_congestion;
    f->threshold = f->was_threshold;
    f->curve_at = 0;
}
