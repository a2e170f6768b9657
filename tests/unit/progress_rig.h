/* One endpoint, a clock and a sched_yield that a test counts and sets: for
 * tests of what progress does while nothing comes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PROGRESS_RIG_H
#define PROGRESS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/endpoint_source.h"
#include "protocol/queues.h"
#include "route/links.h"

struct weft_ep {
    int found;     /* at the next poll */
    int polls;     /* so far, */
    int budget;    /* of the last */
    unsigned turn; /* ns that one takes */
};

static weft_ep fabric;
static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};
static struct wf_links links;
static struct wf_core_options options;
static uint64_t now;
static int yields;
/* what others do during a yield; NULL: nothing */
static void (*meanwhile)(void);

/* In the place of the C library's. */
int sched_yield(void)
{
    yields++;
    if (meanwhile)
        meanwhile();
    return 0;
}

static uint64_t clock_now(void *clock)
{
    return now;
}

static int poll_once(weft_ep *ep, int budget)
{
    int found = ep->found;

    ep->found = 0;
    ep->polls++;
    ep->budget = budget;
    now += ep->turn;
    return found;
}

static const weft_ops ops = {.size = sizeof ops, .progress = poll_once};

/* `as` with two CPUs, the options and the endpoint. */
static void rig_open(struct wf_rank as, unsigned turn)
{
    wf_rank = as;
    wf_rank.home = &wf;
    wf_rank.options = &options;
    wf_rank.cpus = wf_rank.own_cpus = 2;
    links = (struct wf_links){.ep_count = 1};
    wf = (struct wf_instance){.rank = &wf_rank, .links = &links};
    wf.now_ns = clock_now;
    fabric = (weft_ep){.turn = turn};
    yields = 0;
    meanwhile = NULL;
    assert_int_equal(wf_progress_init(&wf), 0);
    links.eps[0].ops = &ops;
    links.eps[0].wf = &wf;
    links.eps[0].ep = &fabric;
    assert_int_equal(wf_endpoint_add_source(&links.eps[0]), 0);
}

#endif
