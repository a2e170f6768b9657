/* The waiting half of the fair mutex.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/mutex.h"

#include "os/futex.h"

enum { SPINS = 200 };

void wf_mutex_wait(struct wf_mutex *m, uint32_t ticket)
{
    uint32_t serving;

    for (int i = 0; i < SPINS; i++) {
        if (wf_load_acquire(&m->serving) == ticket)
            return;
        wf_cpu_relax();
    }
    wf_add_acq_rel(&m->sleepers, 1);
    wf_fence_full(); /* pairs with the fence in unlock */
    while ((serving = wf_load_acquire(&m->serving)) != ticket)
        wf_futex_wait(&m->serving, serving, NULL);
    wf_add_acq_rel(&m->sleepers, (uint32_t)-1);
}

void wf_mutex_wake(struct wf_mutex *m)
{
    wf_futex_wake(&m->serving);
}
