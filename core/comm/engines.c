/* Opening and closing the other engines of a rank: see progress/engines.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/engines.h"

#include <stdlib.h>

#include "boot/boot.h"
#include "config/config.h"
#include "object/env.h"
#include "object/handle.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "protocol/endpoints.h"
#include "protocol/helper.h"
#include "report/error.h"

/* Returns the number of engines without core.engines: several only in builds
 * with per-object granularity (critical.h). There are more engines than CPUs
 * because a thread whose CPU was taken away may be inside one. */
static unsigned choose_default_count(uint32_t cpus)
{
    if (!WF_OBJECTS)
        return 1;
    return cpus < WF_ENGINES_MAX / 2 ? 2 * (cpus ? cpus : 1) : WF_ENGINES_MAX;
}

/* Whether peers can find further engines. mpi.ini has one address per process;
 * in a static start all transports must have derived ones. */
static bool can_be_found(const struct wf_instance *home)
{
    return !home->rank->boot->is_static || wf_endpoints_are_derived(home);
}

/* Returns how many engines the rank should have. Ranks that are threads are
 * engines of their own already. */
static unsigned choose_count(const struct wf_instance *home)
{
    if (!home->rank->multiple || home->rank->ranks || !can_be_found(home))
        return 1;
    return home->rank->options->engines == WF_AUTO
               ? choose_default_count(home->rank->cpus)
               : (unsigned)home->rank->options->engines;
}

static void close_engines(struct wf_instance *home, struct wf_engines *all)
{
    for (unsigned i = WF_ENGINES_ALL; --i > 0;)
        if (all->all[i])
            home->rank->engine_makers->close(all->all[i]);
    free(all);
}

static void free_engines(struct wf_instance *home)
{
    struct wf_engines *all = wf_engines(home);

    wf_store_relaxed(&home->rank->engines, NULL);
    close_engines(home, all);
}

static struct wf_engines *create_table(struct wf_instance *home)
{
    struct wf_engines *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->ops = &wf_engines_ops;
    all->free = free_engines;
    all->all[0] = home;
    all->count = 1;
    for (int i = 0; i < WF_ENGINES_ALL; i++)
        all->tasks[i].last = &all->tasks[i].first;
    return all;
}

/* Open an engine of this number. 0 or WEFT_E*, recorded. */
static int open_engine(struct wf_instance *home, struct wf_engines *all,
                       unsigned number)
{
    struct wf_instance *wf = NULL;
    int r = home->rank->engine_makers->open(home, number, &wf);

    if (r == 0)
        /* pairs with wf_engine_if_open */
        wf_store_release(&all->all[number], wf);
    return r;
}

/* Open all engines with all their transports, or else none: the transports that
 * a rank has must not depend on the communicator. */
static struct wf_engines *open_engines(struct wf_instance *home, unsigned count)
{
    struct wf_engines *all = create_table(home);
    int r = all ? wf_progress_open_sleeper(home->progress) : WEFT_ENOMEM;

    for (; r == 0 && all->count < count; all->count += r == 0)
        r = open_engine(home, all, all->count);
    if (r == 0)
        return all;
    wf_log(home, WF_LOG_WARN,
           "core.engines: no second engine can be opened "
           "(error %d: %s); all communicators share one",
           r, wf_error_last()->text);
    if (all)
        close_engines(home, all);
    return NULL;
}

static void publish_engines(struct wf_instance *home, struct wf_engines *all)
{
    if (home->api.threads)
        wf_store_relaxed(&wf_refs_atomic, 1);
    /* pairs with wf_engines */
    wf_store_release(&home->rank->engines, all);
}

/* Open the engines, once: a rank that could not open them does not try
 * again. */
static void try_to_open_engines(struct wf_instance *home)
{
    struct wf_engines *all = open_engines(home, choose_count(home));

    home->rank->single_engine = !all;
    if (all)
        publish_engines(home, all);
}

void wf_engines_start_helpers(struct wf_instance *home)
{
    struct wf_engines *all = wf_engines(home);

    for (unsigned i = 1; &weft_helpers && all && i < all->count; i++)
        weft_helpers.start(wf_engine(home, i));
}

unsigned wf_engines_ensure(struct wf_instance *wf) WF_UNANALYSED
{
    struct wf_instance *home = wf_home(wf);

    if (!wf_engines(home) && choose_count(home) > 1 &&
        !home->rank->single_engine) {
        try_to_open_engines(home); /* wf is home, whose section is held */
        wf_leave_api(home);
        wf_engines_start_helpers(home);
        wf_enter_api(home);
    }
    return wf_engines(home) ? wf_engines(home)->count : 1;
}

void wf_engines_open_early(struct wf_instance *home)
{
    if (home->rank->job.size > 1 && !home->rank->boot->awaits &&
        choose_count(home) > 1)
        try_to_open_engines(home);
}

/* ---- channels ------------------------------------------------------------ */

/* Whether peers find an engine that is opened later than the first. */
static bool can_be_found_later(const struct wf_instance *home)
{
    const struct wf_boot *boot = home->rank->boot;

    return home->rank->job.size == 1 ||
           (boot->is_static ? wf_endpoints_are_derived(home) : boot->awaits);
}

/* Returns the table of engines, which is made if there is none. NULL: there is
 * no memory, or no descriptor to sleep on. */
static struct wf_engines *ensure_table(struct wf_instance *home)
{
    struct wf_engines *all = wf_engines(home);

    if (all)
        return all;
    all = create_table(home);
    if (all && wf_progress_open_sleeper(home->progress) == 0) {
        publish_engines(home, all);
        return all;
    }
    free(all);
    return NULL;
}

void wf_channels_log_refusal(struct wf_instance *wf, const char *why)
{
    wf_log(wf, WF_LOG_INFO, "weft_channel: nothing is reserved: %s", why);
}

uint32_t wf_channels_offer(struct wf_instance *wf)
{
    struct wf_instance *home = wf_home(wf);
    struct wf_engines *all;
    uint32_t offer = 0;

    if (!can_be_found_later(home)) {
        wf_channels_log_refusal(
            wf, "the addresses of this job are exchanged at its "
                "start only");
        return 0;
    }
    /* while there is no table wf is home, whose section is held */
    all = ensure_table(home);
    if (!all) {
        wf_channels_log_refusal(wf,
                                "no memory or no descriptor for its engine");
        return 0;
    }
    WF_SECTION(objects, home->rank->env) {
        offer = WF_CHANNELS_MASK & ~all->channels_taken;
        all->channels_taken |= offer;
    }
    return offer;
}

void wf_channels_give_back(struct wf_instance *wf, uint32_t channels)
{
    struct wf_engines *all = wf_engines(wf);

    if (channels)
        WF_SECTION(objects, wf->rank->env)
            all->channels_taken &= ~channels;
}

int wf_channel_open(struct wf_instance *wf, unsigned channel)
{
    struct wf_engines *all = wf_engines(wf);
    unsigned number = WF_ENGINES_MAX + channel;

    if (wf_engine_if_open(all, number))
        return 0; /* an earlier channel has left it */
    return open_engine(wf_home(wf), all, number);
}
