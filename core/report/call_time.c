/* The time that the threads of a rank spend in MPI: call_time.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/call_time.h"

#include "os/clock.h"

_Static_assert(sizeof((struct wf_rank *)0)->call_ns ==
                   WF_CALL_CLASSES * sizeof(uint64_t),
               "one of each class");

wf_atomic_u32 wf_call_timers;

/* When the call of this thread that is timed has begun; 0: there is none. */
static _Thread_local uint64_t begun;

bool wf_call_begin(void)
{
    if (begun || !wf_current())
        return false;
    begun = wf_clock_ns();
    return true;
}

int wf_call_end(enum wf_call_class class, int rc)
{
    const struct wf_instance *wf = wf_current();
    uint64_t took = wf_clock_ns() - begun;

    begun = 0;
    if (wf)
        wf_add_relaxed(&wf->rank->call_ns[class], took);
    return rc;
}

void wf_call_times_start(void)
{
    wf_add_acq_rel(&wf_call_timers, 1);
}

void wf_call_times_stop(void)
{
    wf_add_acq_rel(&wf_call_timers, -1u);
}

uint64_t wf_call_time(const struct wf_rank *rank, enum wf_call_class class)
{
    return wf_load_relaxed(&rank->call_ns[class]);
}
