/* Requests to the launcher about names and processes to spawn: see
 * launcher_requests.h. They are apart, so that only programs that make such
 * requests link what answers them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/launcher_requests.h"

#include <sched.h>

#include "boot/pmi1_names.h"
#include "boot/spawn.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/launcher.h"

int wf_launcher_call_name(struct wf_instance *wf,
                          const struct wf_name_request *name)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;
    int r = 0;

    if (!all)
        return wf_boot_call_name(boot, name);
    WF_SECTION(boot, all) {
        while (!wf_launcher_try_connection(all))
            sched_yield(); /* it is used for a moment only */
        r = wf_boot_call_name(boot, name);
        wf_launcher_return_connection(all);
    }
    return r;
}

int wf_launcher_spawn(struct wf_instance *wf, const struct weft_boot_spawn *q,
                      int *statuses, int *job)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;
    int r = 0;

    if (!all)
        return wf_spawn_start(boot, q, statuses, job);
    WF_SECTION(boot, all) {
        while (!wf_launcher_try_connection(all))
            sched_yield(); /* it is used for a moment only */
        r = wf_spawn_start(boot, q, statuses, job);
        wf_launcher_return_connection(all);
    }
    return r;
}

bool wf_launcher_has_job_ended(struct wf_instance *wf, int job)
{
    struct wf_engines *all = wf_engines(wf);
    bool ended;

    if (!wf_launcher_try_connection(all))
        return false;
    ended = wf_spawn_has_ended(wf->rank->boot, job);
    wf_launcher_return_connection(all);
    return ended;
}
