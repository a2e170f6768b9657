/* Calls of the launcher by the engines of a rank: see launcher.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "progress/launcher.h"

#include <sched.h>

#include "process/rank.h"
#include "progress/engines.h"

bool wf_launcher_try_connection(struct wf_engines *all)
{
    uint32_t free = 0;

    /* pairs with the release in wf_launcher_return_connection() */
    return !all || wf_cas_acq_rel(&all->launcher_busy, &free, 1);
}

void wf_launcher_return_connection(struct wf_engines *all)
{
    if (all)
        wf_store_release(&all->launcher_busy, 0);
}

int wf_launcher_get(struct wf_instance *wf, const char *key, void **value,
                    size_t *n)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;
    int r = 0;

    if (!all)
        return boot->ops->get(boot, key, value, n);
    WF_SECTION(boot, all) {
        while (!wf_launcher_try_connection(all))
            sched_yield(); /* it is used for a moment only */
        r = boot->ops->get(boot, key, value, n);
        wf_launcher_return_connection(all);
    }
    return r;
}

int wf_launcher_put(struct wf_instance *wf, const char *key, const void *value,
                    size_t n)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;
    int r = 0;

    if (!all)
        return boot->ops->put(boot, key, value, n);
    WF_SECTION(boot, all) {
        while (!wf_launcher_try_connection(all))
            sched_yield(); /* it is used for a moment only */
        r = boot->ops->put(boot, key, value, n);
        wf_launcher_return_connection(all);
    }
    return r;
}

int wf_launcher_psets(struct wf_instance *wf, const struct wf_boot_pset **sets,
                      uint32_t *count)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;
    int r = 0;

    *count = 0;
    if (!boot->ops->psets)
        return 0;
    if (!all)
        return boot->ops->psets(boot, sets, count);
    WF_SECTION(boot, all) {
        while (!wf_launcher_try_connection(all))
            sched_yield(); /* it is used for a moment only */
        r = boot->ops->psets(boot, sets, count);
        wf_launcher_return_connection(all);
    }
    return r;
}

bool wf_launcher_give_up(struct wf_instance *wf, uint32_t id)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;

    if (!boot || !boot->ops->give_up || id >= wf->rank->job.size)
        return true;
    if (!wf_launcher_try_connection(all))
        return false;
    boot->ops->give_up(boot, id);
    wf_launcher_return_connection(all);
    return true;
}

void wf_launcher_hear(struct wf_instance *wf)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;

    if (!boot || !boot->ops->hear || !wf_launcher_try_connection(all))
        return;
    boot->ops->hear(boot);
    wf_launcher_return_connection(all);
}

bool wf_launcher_take_loser(struct wf_instance *wf, uint32_t *taken,
                            uint32_t *id)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;
    bool found;

    if (!boot || !wf_launcher_try_connection(all))
        return false;
    found = *taken < boot->given_up_by_count;
    if (found)
        *id = boot->given_up_by[(*taken)++];
    wf_launcher_return_connection(all);
    return found;
}

bool wf_launcher_ask(struct wf_instance *wf, uint32_t id, bool ask,
                     struct wf_boot_word *word)
{
    struct wf_engines *all = wf_engines(wf);
    struct wf_boot *boot = wf->rank->boot;

    if (!boot || !boot->ops->ask_state || id >= wf->rank->job.size)
        return false;
    if (!wf_launcher_try_connection(all))
        return true;
    boot->ops->hear(boot);
    if (ask)
        boot->ops->ask_state(boot, id);
    if (boot->said)
        *word = boot->said[id];
    wf_launcher_return_connection(all);
    return true;
}
