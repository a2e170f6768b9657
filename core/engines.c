/* The other engines of a rank: how they are made and go. See engines.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "engines.h"

#include <stdlib.h>

#include "env/env.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "route/config.h"

/* ---- their life ----------------------------------------------------------- */

/* Where it is the build's granularity: more than CPUs, for a thread whose CPU is
 * taken may be inside one. */
static unsigned by_default(uint32_t cpus)
{
    if (!WF_OBJECTS)
        return 1;
    return cpus < WF_ENGINES_MAX / 2 ? 2 * (cpus ? cpus : 1) : WF_ENGINES_MAX;
}

/* Static start has one address per process, and ranks that are threads are
 * engines of their own already. */
static unsigned wanted(const struct wf_instance *home)
{
    if (!home->api.threads || home->ranks ||
        strcmp(home->boot->ops->name, "static") == 0)
        return 1;
    return home->options->engines == WF_AUTO ? by_default(home->cpus)
                                             : (unsigned)home->options->engines;
}

static struct wf_engines *blank(struct wf_instance *home)
{
    struct wf_engines *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->ops = &wf_engines_ops;
    all->all[0] = home;
    all->count = 1;
    for (int i = 0; i < WF_ENGINES_MAX; i++)
        all->errands[i].last = &all->errands[i].first;
    return all;
}

static void dismantle(struct wf_engines *all)
{
    while (all->count > 1)
        wf_instance_close_beside(all->all[--all->count]);
    free(all);
}

/* All of them, or the rank keeps to one: which transports there are must not
 * depend on the communicator. */
static struct wf_engines *make(struct wf_instance *home, unsigned count)
{
    struct wf_engines *all = blank(home);
    int r = all ? wf_progress_open_sleeper(home->progress) : WEFT_ENOMEM;

    for (; r == 0 && all->count < count; all->count += r == 0)
        r = wf_instance_open_beside(home, all->count, &all->all[all->count]);
    if (r == 0)
        return all;
    wf_log(home, WF_LOG_WARN, "core.engines: no second engine can be opened "
           "(error %d: %s); all communicators share one", r,
           wf_error_last()->text);
    if (all)
        dismantle(all);
    return NULL;
}

static void publish(struct wf_instance *home, struct wf_engines *all)
{
    wf_store_relaxed(&wf_refs_shared, 1);
    for (unsigned i = all->count; i-- > 0;) /* pairs with wf_engines */
        wf_store_release(&all->all[i]->engines, all);
}

/* Made once; a rank that could not make them does not try again. */
static void provide(struct wf_instance *home)
{
    struct wf_engines *all = make(home, wanted(home));

    home->lone = !all;
    if (all)
        publish(home, all);
}

unsigned wf_engines_ready(struct wf_instance *wf)
{
    struct wf_instance *home = wf_home(wf);

    if (!wf_engines(home) && wanted(home) > 1 && !home->lone)
        provide(home); /* with one engine, its section is held */
    return wf_engines(home) ? wf_engines(home)->count : 1;
}

void wf_engines_early(struct wf_instance *home)
{
    if (home->nprocs > 1 && !home->boot->awaits && wanted(home) > 1)
        provide(home);
}

void wf_engines_free(struct wf_instance *home)
{
    struct wf_engines *all = wf_engines(home);

    wf_store_relaxed(&home->engines, NULL);
    dismantle(all);
}

/* ---- errands -------------------------------------------------------------- */

void wf_errands_put(struct wf_instance *to, struct wf_errand *e)
{
    struct wf_engines *all = wf_engines(to);
    struct wf_errands *q = &all->errands[to->number];
    bool first = false;

    WF_SECTION(errands, all) {
        first = !e->posted;
        if (first) {
            e->posted = true;
            e->next = NULL;
            *q->last = e;
            q->last = &e->next;
            wf_store_relaxed(&q->due, 1); /* the kick has the order */
        }
    }
    if (first)
        wf_progress_wake_leader(to);
}

void wf_errand_cancel(struct wf_instance *to, struct wf_errand *e)
{
    struct wf_engines *all = wf_engines(to);
    struct wf_errands *q = &all->errands[to->number];

    WF_SECTION(errands, all) {
        struct wf_errand **at = &q->first;
        while (e->posted && *at != e)
            at = &(*at)->next;
        if (e->posted) {
            *at = e->next;
            if (!e->next)
                q->last = at;
            e->posted = false;
        }
    }
}

static struct wf_errand *next_errand(struct wf_engines *all,
                                     struct wf_errands *q)
{
    struct wf_errand *e = NULL;

    WF_SECTION(errands, all) {
        e = q->first;
        if (e) {
            q->first = e->next;
            e->posted = false;
        }
        if (!q->first) {
            q->last = &q->first;
            wf_store_relaxed(&q->due, 0);
        }
    }
    return e;
}

bool wf_errands_run(struct wf_instance *wf)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_errands *q = &all->errands[wf->number];
    struct wf_errand *e;
    bool some = false;

    while (wf_load_relaxed(&q->due) && (e = next_errand(all, q)) != NULL) {
        e->run(e);
        some = true;
    }
    return some;
}
