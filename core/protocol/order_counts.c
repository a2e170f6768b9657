/* Counts of what happened to the ordered pairs of a process: see order.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/order_counts.h"

#include <inttypes.h>
#include <stdio.h>

#include "config/config.h"
#include "process/endpoint.h"
#include "process/rank.h"
#include "protocol/carrier.h"
#include "protocol/measure.h"
#include "protocol/order.h"
#include "route/location.h"
#include "route/links.h"

uint64_t wf_orders_count(const struct wf_instance *wf,
                         enum wf_order_count which)
{
    uint64_t sum = 0;

    for (struct wf_ordered *o = wf->links->orders; o; o = o->next_order)
        sum += o->counts[which];
    return sum;
}

void wf_order_add_traffic(const struct wf_ordered *o,
                          const struct weft_core *core, struct wf_traffic *t)
{
    int k = wf_carrier_index_of(o, core);

    if (k < 0)
        return;
    t->sent += o->carrier[k].sent;
    t->sent_bytes += o->carrier[k].sent_bytes;
}

/* Print what the carriers of a pair cost, as measured. */
static void report_measured(const struct wf_ordered *o)
{
    char text[512];
    size_t n = 0;

    for (int k = 0; k < o->carriers && n < sizeof text; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s %.1f us",
                              k ? "," : "", o->carrier[k].core->config->name,
                              wf_measure_cost(o, k) / 1000);
    fprintf(stderr,
            "weft: rank %u: process %u: measured%s; now through '%s', after "
            "%" PRIu64 " moves for that\n",
            o->loc->wf->rank->id, o->loc->id, text,
            o->at < 0 ? "none" : o->carrier[o->at].core->config->name,
            o->counts[WF_ORDER_MEASURED]);
}

void wf_orders_report(const struct wf_instance *wf)
{
    uint64_t n[WF_ORDER_COUNTS];

    if (!wf->rank->options->stats || !wf->links->orders)
        return;
    for (int i = 0; i < WF_ORDER_COUNTS; i++)
        n[i] = wf_orders_count(wf, (enum wf_order_count)i);
    fprintf(stderr,
            "weft: rank %u: failover: %" PRIu64 " moves, %" PRIu64
            " of them back; %" PRIu64 " connections replaced; %" PRIu64
            " messages sent again, %" PRIu64 " duplicates dropped, %" PRIu64
            " damaged, %" PRIu64 " striped\n",
            wf->rank->id, n[WF_ORDER_MOVES], n[WF_ORDER_FAILBACKS],
            n[WF_ORDER_RECONNECTS], n[WF_ORDER_RESENT], n[WF_ORDER_DUPLICATES],
            n[WF_ORDER_DAMAGED], n[WF_ORDER_STRIPED]);
    for (struct wf_ordered *o = wf->links->orders; o; o = o->next_order)
        if (o->measuring.every)
            report_measured(o);
}
