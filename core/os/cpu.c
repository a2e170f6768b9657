/* Moves a thread to another processor: see cpu.h.
 *
 * The kernel moves a thread at once when its processor is taken away, and does
 * not move it back when it is given again.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "os/cpu.h"

#include <sched.h>

void wf_cpu_leave(void)
{
    cpu_set_t all, others;
    int here = sched_getcpu();

    if (here < 0 || sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) > 0 &&
        sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}
