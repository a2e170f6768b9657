/* The time that the threads of a rank spend in MPI: call_time.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report/call_time.h"

#include "os/clock.h"
#include "process/process.h"
#include "report/state.h"

_Static_assert(sizeof((struct wf_rank *)0)->call_ns ==
                   WF_CALL_CLASSES * sizeof(uint64_t),
               "one of each class");

bool wf_call_begin(void)
{
    if (wf_call_now.begun || !wf_current())
        return false;
    wf_call_now.begun = wf_clock_ns();
    return true;
}

int wf_call_end(enum wf_call_class class, int rc)
{
    const struct wf_instance *wf = wf_current();
    uint64_t took = wf_clock_ns() - wf_call_now.begun;

    wf_call_now.begun = 0;
    if (wf)
        wf_add_relaxed(&wf->rank->call_ns[class], took);
    return rc;
}

void wf_call_times_start(void)
{
    wf_add_acq_rel(&wf_process_state.call_timers, 1);
}

void wf_call_times_stop(void)
{
    wf_add_acq_rel(&wf_process_state.call_timers, -1u);
}

uint64_t wf_call_time(const struct wf_rank *rank, enum wf_call_class class)
{
    return wf_load_relaxed(&rank->call_ns[class]);
}
