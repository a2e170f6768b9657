/* Counts of what went through the endpoints, and of how messages came.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/traffic.h"

#include <stdio.h>

#include "config/config.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/wait.h"
#include "protocol/order_counts.h"
#include "protocol/queues.h"
#include "protocol/send_side.h"
#include "report/call_time.h"
#include "route/links.h"
#include "route/location.h"

/* Add what was sent to one process. */
static void add_location(struct weft_loc *loc, const struct weft_core *c,
                         struct wf_traffic *t)
{
    wf_side_take_back(loc);
    for (unsigned k = 0; k < loc->lanes; k++) {
        if (loc->lane[k].order || loc->lane[k].core != c)
            continue;
        t->sent += loc->lane[k].seq;
        t->sent_bytes += wf_lane_bytes(loc, k);
    }
    if (loc->order)
        wf_order_add_traffic(loc->order, c, t);
}

void wf_traffic_keep(struct weft_loc *loc)
{
    struct wf_links *links = loc->wf->links;

    for (int i = 0; i < links->ep_count; i++) {
        struct weft_core *c = &links->eps[i];
        struct wf_traffic t = {0};

        add_location(loc, c, &t);
        c->parted_count += t.sent;
        c->parted_bytes += t.sent_bytes;
    }
}

static void add_sent(const struct wf_instance *wf, const struct weft_core *c,
                     struct wf_traffic *t)
{
    struct weft_loc *loc;

    t->sent += c->parted_count;
    t->sent_bytes += c->parted_bytes;
    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));)
        add_location(loc, c, t);
}

void wf_traffic_add(const struct weft_core *c, struct wf_traffic *t)
{
    add_sent(c->wf, c, t);
    t->received += c->rx_count;
    t->received_bytes += c->rx_bytes;
}

static void report_traffic(struct wf_instance *wf, const struct weft_core *c)
{
    unsigned long long wakeups = wf->progress->wakeups[c->index];
    struct wf_traffic t = {0};

    wf_traffic_add(c, &t);
    for (const struct wf_instance *e = wf_engine_after(wf); e;
         e = wf_engine_after(e)) {
        wf_traffic_add(&e->links->eps[c->index], &t);
        wakeups += e->progress->wakeups[c->index];
    }
    if (!(t.sent | t.received))
        return;
    fprintf(stderr,
            "weft: rank %u: %-6s sent %llu messages, %llu bytes; "
            "received %llu messages, %llu bytes; woken %llu times\n",
            wf->rank->id, c->config->name, t.sent, t.sent_bytes, t.received,
            t.received_bytes, wakeups);
}

uint64_t wf_traffic_plugin_count(const struct weft_core *c, const char *name)
{
    const char *its;
    uint64_t n;

    if (!WEFT_HAS(c->ops, weft_ops, stat))
        return 0;
    for (int i = 0; c->ops->stat(c->ep, i, &its, &n) >= 0; i++)
        if (strcmp(its, name) == 0)
            return n;
    return 0;
}

/* Returns a plugin's counter, over all engines. */
static unsigned long long sum_plugin_counts(const struct weft_core *c,
                                            const char *name)
{
    uint64_t n = 0;

    for (const struct wf_instance *e = c->wf; e; e = wf_engine_after(e))
        n += wf_traffic_plugin_count(&e->links->eps[c->index], name);
    return n;
}

/* Print how often the transport sent something again, the operations on windows
 * that it took, and the packets that it dropped as damaged or forged. */
static void report_plugin_counts(const struct wf_instance *wf,
                                 const struct weft_core *c)
{
    unsigned long long again = sum_plugin_counts(c, "retransmissions"),
                       late = sum_plugin_counts(c, "timeouts"),
                       strange = sum_plugin_counts(c, "strange_packets"),
                       operations = 0;

    for (const struct wf_instance *e = wf; e; e = wf_engine_after(e))
        operations += e->links->eps[c->index].rma_count;

    if (again | late)
        fprintf(stderr,
                "weft: rank %u: %-6s sent again %llu packets, after %llu "
                "timeouts\n",
                wf->rank->id, c->config->name, again, late);
    if (operations)
        fprintf(stderr, "weft: rank %u: %-6s took %llu operations on windows\n",
                wf->rank->id, c->config->name, operations);
    if (strange)
        fprintf(stderr,
                "weft: rank %u: %-6s dropped %llu damaged or strange packets\n",
                wf->rank->id, c->config->name, strange);
}

uint64_t wf_traffic_count_direct(const struct wf_instance *wf)
{
    const struct wf_message_counts *c = &wf->engine->counts;
    uint64_t containers = 0;

    for (int i = 0; i < wf->links->ep_count; i++)
        containers += wf->links->eps[i].rx_count;
    return containers - c->others - c->stored;
}

/* Print how the messages of an engine have come. */
static void report_messages(const struct wf_instance *wf)
{
    const struct wf_engine *e = wf->engine;
    const struct wf_message_counts *c = &e->counts;
    unsigned long long direct = wf_traffic_count_direct(wf);
    double growths = c->growths ? (double)c->growths : 1;

    if (!c->others && !direct && !c->growths)
        return;
    fprintf(
        stderr,
        "weft: rank %u: engine %u messages came direct %llu, stored first "
        "%llu, by rendezvous %llu; unexpected at most %u, mean %.1f, of at "
        "most %llu bytes, mean %.1f; searches %llu of %llu entries\n",
        wf->rank->id, wf->number, direct, (unsigned long long)c->stored,
        (unsigned long long)c->rendezvous, c->length_high,
        (double)c->length_sum / growths, (unsigned long long)e->unexpected_high,
        (double)c->bytes_sum / growths, (unsigned long long)e->match.searches,
        (unsigned long long)e->match.searched);
}

static void report_times(const struct wf_rank *rank)
{
    double s[WF_CALL_CLASSES], all = 0;

    for (int i = 0; i < WF_CALL_CLASSES; i++) {
        s[i] = (double)wf_call_time(rank, (enum wf_call_class)i) / 1e9;
        all += s[i];
    }
    fprintf(stderr,
            "weft: rank %u: in MPI %.6f s: point-to-point %.6f, wait and test "
            "%.6f, probe %.6f, collective %.6f, other %.6f\n",
            rank->id, all, s[WF_CALL_POINT_TO_POINT], s[WF_CALL_COMPLETION],
            s[WF_CALL_PROBE], s[WF_CALL_COLLECTIVE], s[WF_CALL_OTHER]);
}

void wf_traffic_report(struct wf_instance *wf)
{
    struct wf_links *links = wf->links;

    if (!wf->rank->options->stats)
        return;
    for (int i = links->ep_count; i-- > 0;) {
        report_traffic(wf, &links->eps[i]);
        report_plugin_counts(wf, &links->eps[i]);
    }
    for (const struct wf_instance *e = wf; e; e = wf_engine_after(e))
        report_messages(e);
    report_times(wf->rank);
    if (links->damaged)
        fprintf(stderr, "weft: rank %u: %llu messages arrived damaged\n",
                wf->rank->id, (unsigned long long)links->damaged);
}
