/* Creates and frees a flow, and runs its timers.
 *
 * Two timers send: one a probe, when nothing was acknowledged for long (the
 * oldest data again, or no data at all when the peer had no room); the other an
 * acknowledgement that found no data to travel with. The third timer declares
 * packets lost. A fourth ends a probe of the packet size.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "../ip/ip.h"
#include "flow.h"

enum {
    REORDER = 3,     /* packets that may overtake one, at first */
    BACKOFF_MAX = 8, /* doublings of the time until the next probe */
    GIVE_WAY = 3,    /* probes without an answer that reset the window */
    UNKNOWN = 10     /* times probe_after, while no round trip was measured */
};

int wf_udp_flow_open(struct wf_udp_flow *f,
                     const struct wf_udp_flow_config *cfg)
{
    memset(f, 0, sizeof *f);
    f->cfg = *cfg;
    f->item = malloc(FLOW_ITEMS * sizeof *f->item);
    f->packet = calloc(FLOW_PACKETS, sizeof *f->packet);
    f->stage = malloc(FLOW_STAGE);
    if (!f->item || !f->packet || !f->stage) {
        wf_udp_flow_close(f);
        return WEFT_ENOMEM;
    }
    f->limit = cfg->window;
    f->offered = cfg->window;
    f->search.top = f->search.high = cfg->packet;
    f->congestion = cfg->burst;
    f->threshold = UINT64_MAX;
    f->reorder = REORDER;
    f->number = f->oldest = 1; /* 0 in `seen` means that none has come */
    return WEFT_OK;
}

void wf_udp_flow_close(struct wf_udp_flow *f)
{
    while (f->early) {
        struct wf_udp_flow_chunk *c = f->early;
        f->early = c->next;
        free(c);
    }
    free(f->item);
    free(f->packet);
    free(f->stage);
    f->item = NULL;
    f->packet = NULL;
    f->stage = NULL;
    f->item_n = 0;
}

static uint64_t probe_delay_of(const struct wf_udp_flow *f)
{
    uint64_t t = f->rtt + 4 * f->rtt_var;

    if (!f->rtt)
        t = UNKNOWN * f->cfg.probe_after; /* the peer may be far away */
    if (t < f->cfg.probe_after)
        t = f->cfg.probe_after;
    return t << f->backoff;
}

void wf_udp_flow_arm_probe(struct wf_udp_flow *f)
{
    bool waits = f->sent < f->end && f->sent >= f->limit;

    f->probe_at =
        f->oldest < f->number || waits ? f->last_sent + probe_delay_of(f) : 0;
    if (!f->probe_at)
        f->probe = false;
}

uint64_t wf_udp_flow_deadline(const struct wf_udp_flow *f)
{
    uint64_t first = 0;

    wf_ip_set_sooner(&first, f->ack_at);
    wf_ip_set_sooner(&first, f->lost_at);
    wf_ip_set_sooner(&first, f->probe_at);
    if (f->search.size)
        wf_ip_set_sooner(&first, f->search.at);
    return first;
}

void wf_udp_flow_expire(struct wf_udp_flow *f, uint64_t now)
{
    if (f->lost_at && f->lost_at <= now)
        wf_udp_flow_find_lost(f, now);
    wf_udp_flow_expire_size(f, now);
    if (!f->probe_at || f->probe_at > now)
        return;
    f->probe = true;
    f->timeouts++;
    if (f->backoff < BACKOFF_MAX)
        f->backoff++;
    if (f->backoff == GIVE_WAY) {
        wf_udp_flow_reset_window(f);
        wf_udp_flow_suspect_size(f);
    }
    f->last_sent = now;
    wf_udp_flow_arm_probe(f);
}
