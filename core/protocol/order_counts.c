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
#include "protocol/order.h"
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
}
