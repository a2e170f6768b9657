/* The event sources of a protocol engine besides its endpoints: see sources.h.
 *
 * Neither has a descriptor. The timers tell a sleeper when a pair is due. The
 * watch reads the launcher's notices a few times a second, and looks for dead
 * peers once a second. It is polled by a thread that polls and by a sleeper
 * that looks by itself, so a program that only tests its receives learns, too,
 * that their senders cannot be reached.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/sources.h"

#include "process/rank.h"
#include "progress/source.h"
#include "protocol/carrier.h"
#include "protocol/carrier_deadline.h"
#include "protocol/failure.h"
#include "protocol/queues.h"

enum {
    HEAR_NS = 250000000,  /* between two looks for notices of the launcher */
    WATCH_NS = 1000000000 /* between two looks for dead peers */
};

static int poll_timers(wf_source_object *engine, int budget)
{
    wf_orders_maintain(((struct wf_engine *)engine)->wf);
    return 0;
}

static int arm_timers(wf_source_object *engine, uint64_t *deadline_ns)
{
    *deadline_ns = wf_orders_deadline(((struct wf_engine *)engine)->wf);
    return WEFT_OK;
}

static int poll_watch(wf_source_object *engine, int budget)
{
    struct wf_engine *e = (struct wf_engine *)engine;
    uint64_t now = wf_now(e->wf);

    if (now < e->hear_at)
        return 0;
    e->hear_at = now + HEAR_NS;
    if (now < e->watch_at) {
        wf_failure_hear_launcher(e->wf);
        return 0;
    }
    e->watch_at = now + WATCH_NS;
    wf_failure_watch(e->wf); /* which reads the notices first */
    return 0;
}

static const struct wf_event_source timers = {.name = "timers of pairs",
                                              .poll = poll_timers,
                                              .arm = arm_timers,
                                              .fd = -1};
static const struct wf_event_source watch = {
    .name = "launcher and dead peers", .poll = poll_watch, .fd = -1};

static void add_source(struct wf_engine *e, struct wf_event_source *s,
                       const struct wf_event_source *what)
{
    *s = *what;
    s->object = (wf_source_object *)e;
    (void)wf_source_add(e->wf, s, WF_SOURCE_BIT_ANY); /* no descriptor */
}

void wf_engine_add_sources(struct wf_instance *wf)
{
    struct wf_engine *e = wf->engine;

    e->watch_at = wf_now(wf) + WATCH_NS; /* most connect by themselves */
    add_source(e, &e->timers, &timers);
    add_source(e, &e->watch, &watch);
}

void wf_engine_remove_sources(struct wf_engine *e)
{
    wf_source_remove(e->wf, &e->timers);
    wf_source_remove(e->wf, &e->watch);
}
