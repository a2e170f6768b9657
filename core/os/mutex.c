/* The waiting half of the fair mutex.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/mutex.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 200 };

static void futex(wf_atomic_u32 *word, int op, uint32_t value)
{
    syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

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
        futex(&m->serving, FUTEX_WAIT, serving);
    wf_add_acq_rel(&m->sleepers, (uint32_t)-1);
}

void wf_mutex_wake(struct wf_mutex *m)
{
    futex(&m->serving, FUTEX_WAKE, INT_MAX);
}
