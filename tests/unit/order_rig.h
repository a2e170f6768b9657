/* An ordered pair with several carriers that are fakes: they land what they
 * took when the test says so, and time stands still otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef ORDER_RIG_H
#define ORDER_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "config/config.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/carrier.h"
#include "protocol/order.h"
#include "route/links.h"

#ifndef ORDER_CARRIERS
#define ORDER_CARRIERS 2
#endif

enum { CARRIERS = ORDER_CARRIERS, MOST = 256 };

#define MS UINT64_C(1000000)

/* Containers that a fake took and that have not landed, oldest first. */
struct fake {
    uint32_t seq[MOST];
    int n, taken, pings, pongs;
    uint64_t traffic; /* as its plugin counts it */
    uint64_t silent;  /* what it says of that */
};

static struct fake fakes[CARRIERS];
static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_links links;
static struct wf_progress progress;
static struct wf_transport_config names[CARRIERS] = {{.name = "first"},
                                                     {.name = "second"}};
static struct wf_core_options options;
static struct weft_loc *loc;
static struct wf_ordered *order;
static uint64_t now;
static char here[] = "here";

static uint64_t clock_now(void *clock)
{
    return now;
}

static struct fake *fake_of(weft_peer *p)
{
    return (struct fake *)p;
}

static void note_taken(struct fake *f, const weft_hdr *hdr)
{
    const struct wf_wire *w = (const struct wf_wire *)hdr;

    if (w->type == (WF_PING | WF_SEQUENCED)) {
        f->pings++;
    } else if (w->type == (WF_PONG | WF_SEQUENCED)) {
        f->pongs++;
    } else if (wf_le32(w->seq)) {
        assert_in_range(f->n, 0, MOST - 1);
        f->seq[f->n++] = wf_le32(w->seq);
        f->taken++;
    }
}

static int take_short(weft_peer *p, const weft_hdr *hdr, const void *data,
                      size_t len, unsigned flags)
{
    note_taken(fake_of(p), hdr);
    return WEFT_DONE;
}

static int take_long(weft_peer *p, weft_tx *tx)
{
    note_taken(fake_of(p), tx->hdr);
    wf_container(tx, struct wf_tx, tx)->done(
        wf_container(tx, struct wf_tx, tx), WEFT_OK);
    return WEFT_OK;
}

/* No second connection. */
static int refuse_peer(weft_ep *e, weft_loc *to, uint32_t id,
                       const void *address, size_t len, weft_peer **out)
{
    return WEFT_EUNREACH;
}

static int forget_peer(weft_peer *p, int abrupt)
{
    fake_of(p)->n = 0;
    return WEFT_OK;
}

static uint64_t traffic_of(weft_peer *p)
{
    return fake_of(p)->traffic;
}

static uint64_t silence_of(weft_peer *p, uint64_t within)
{
    return fake_of(p)->silent;
}

static const weft_ops ops = {.size = sizeof ops,
                             .send = take_long,
                             .send_short = take_short,
                             .peer_add = refuse_peer,
                             .peer_del = forget_peer,
                             .traffic = traffic_of,
                             .silent = silence_of};

/* The payload of the first carrier and that of the others. */
static int open_order(const struct wf_route_failover *f, uint64_t first,
                      uint64_t others)
{
    int eps[CARRIERS];

    memset(fakes, 0, sizeof fakes);
    for (int k = 0; k < CARRIERS; k++)
        fakes[k].silent = UINT64_MAX; /* it cannot tell */
    memset(&wf_rank, 0, sizeof wf_rank);
    links = (struct wf_links){.ep_count = CARRIERS};
    progress = (struct wf_progress){0};
    wf_list_init(&progress.waiters);
    wf = (struct wf_instance){
        .rank = &wf_rank, .links = &links, .progress = &progress};
    now = 1000 * MS;
    options.eager = WF_AUTO;
    options.log = WF_LOG_ERROR;
    wf.rank->options = &options;
    wf.now_ns = clock_now;
    loc = calloc(1, sizeof *loc);
    assert_non_null(loc);
    loc->wf = &wf;
    loc->host = here;
    loc->lanes = 1;
    for (int k = 0; k < CARRIERS; k++) {
        links.eps[k] = (struct weft_core){.wf = &wf, .ops = &ops, .index = k,
                                       .config = &names[k],
                                       .address = here};
        eps[k] = k;
        links.eps[k].attr.caps = WEFT_CAP_REMOTE;
        links.eps[k].attr.max_payload = k ? others : first;
        links.eps[k].attr.max_eager = links.eps[k].attr.max_short = 4096;
        loc->peers[k] = (weft_peer *)&fakes[k];
    }
    loc->lane[0].core = &links.eps[0];
    loc->lane[0].max_eager = 4096;
    loc->lane[0].fifo_tail = &loc->lane[0].fifo_head;
    if (wf_order_open(loc, eps, CARRIERS, f) != 0)
        return -1;
    order = loc->order;
    return 0;
}

static void close_order(void)
{
    wf_order_free(order);
    free(loc);
}

/* The peer probes this carrier. */
static inline void take_ping(int k)
{
    struct wf_wire w = {.type = WF_PING | WF_SEQUENCED};

    wf_carrier_take_control(order, &links.eps[k], &w);
}

/* The peer answers a probe on this carrier. */
static inline void take_pong(int k)
{
    struct wf_wire w = {.type = WF_PONG | WF_SEQUENCED};

    wf_carrier_take_control(order, &links.eps[k], &w);
}

#endif
