/* Cross-engine tasks: functions that one engine has another run. See engines.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/engines.h"

#include <stdlib.h>

#include "config/config.h"
#include "object/env.h"
#include "progress/progress.h"

void wf_engine_task_put(struct wf_instance *to, struct wf_engine_task *e)
{
    struct wf_engines *all = wf_engines(to);
    struct wf_engine_tasks *q = &all->tasks[to->number];
    bool first = false;

    WF_SECTION(tasks, all) {
        first = !e->posted;
        if (first) {
            e->posted = true;
            e->next = NULL;
            *q->last = e;
            q->last = &e->next;
            wf_store_relaxed(&q->due, 1); /* the kick orders it */
        }
    }
    if (first)
        wf_progress_wake_leader(to);
}

void wf_engine_task_cancel(struct wf_instance *to, struct wf_engine_task *e)
{
    struct wf_engines *all = wf_engines(to);
    struct wf_engine_tasks *q = &all->tasks[to->number];

    WF_SECTION(tasks, all) {
        struct wf_engine_task **at = &q->first;
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

static struct wf_engine_task *take_next_task(struct wf_engines *all,
                                        struct wf_engine_tasks *q)
{
    struct wf_engine_task *e = NULL;

    WF_SECTION(tasks, all) {
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

bool wf_engine_tasks_run(struct wf_instance *wf)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_engine_tasks *q = &all->tasks[wf->number];
    struct wf_engine_task *e;
    bool some = false;

    while (wf_load_relaxed(&q->due) && (e = take_next_task(all, q)) != NULL) {
        e->run(e);
        some = true;
    }
    return some;
}
