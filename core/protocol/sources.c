/* The event sources of a protocol engine besides its endpoints: see sources.h.
 *
 * Neither has a descriptor. The timers tell a sleeper when a pair is due. The
 * launcher's notices are read by whoever polls, a few times a second, and by a
 * sleeper about once a second, which looks for dead peers then.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/sources.h"

#include "boot/boot.h"
#include "process/rank.h"
#include "progress/source.h"
#include "protocol/carrier.h"
#include "protocol/carrier_deadline.h"
#include "protocol/failure.h"
#include "protocol/queues.h"

/* ns between two looks for notices of the launcher */
enum { HEAR_NS = 250000000 };

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

static int poll_launcher(wf_source_object *engine, int budget)
{
    struct wf_engine *e = (struct wf_engine *)engine;
    uint64_t now = wf_now(e->wf);

    if (now < e->hear_at)
        return 0;
    e->hear_at = now + HEAR_NS;
    wf_failure_hear_launcher(e->wf);
    return 0;
}

static const struct wf_event_source timers = {.name = "timers of pairs",
                                              .poll = poll_timers,
                                              .arm = arm_timers,
                                              .fd = -1};
static const struct wf_event_source launcher = {
    .name = "launcher", .poll = poll_launcher, .fd = -1};

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

    add_source(e, &e->timers, &timers);
    if (wf->rank->boot && wf->rank->boot->ops->hear)
        add_source(e, &e->launcher, &launcher);
}

void wf_engine_remove_sources(struct wf_engine *e)
{
    wf_source_remove(e->wf, &e->timers);
    wf_source_remove(e->wf, &e->launcher);
}
