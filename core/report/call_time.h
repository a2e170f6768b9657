/* The time that the threads of a rank spend in MPI, by classes of calls.
 *
 *   binding   if (wf_call_is_timed() && wf_call_begin())
 *                 return wf_call_end(WF_CALL_PROBE, <the same call again>);
 *
 * DESIGN  Nobody pays for what nobody asks for: a call compares one word, and
 * those of the short path not even that, for it is shut while calls are timed,
 * as it is while there is a trace. A call that is timed calls itself once more,
 * so that nothing is kept across the usual one. A call inside another one, in a
 * callback of the program, is part of the time of the outer one.
 *
 * THREADS  Any thread may be in a call; the sums are atomic.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CALL_TIME_H
#define WF_CALL_TIME_H

#include "process/process.h"
#include "process/rank.h"

/* core/api/chapters.py says which call is in which. */
enum wf_call_class {
    WF_CALL_POINT_TO_POINT, /* sends, receives, partitioned ones */
    WF_CALL_COMPLETION,     /* wait and test */
    WF_CALL_PROBE,
    WF_CALL_COLLECTIVE, /* those of neighbourhoods included */
    WF_CALL_OTHER,
    WF_CALL_CLASSES
};

/* Whether somebody in this process has asked for the times of calls. */
static inline bool wf_call_is_timed(void)
{
    return wf_unlikely(wf_load_relaxed(&wf_process_state.call_timers) != 0);
}

/* Begin a call. False: it is not timed, or is inside another one. */
bool wf_call_begin(void);
/* End the call that wf_call_begin has begun. Returns rc. */
int wf_call_end(enum wf_call_class, int rc);

/* Time calls from now on, until the same asker says that it needs no more. Its
 * rank then updates the fast path. */
void wf_call_times_start(void);
void wf_call_times_stop(void);

/* The time in ns that threads have spent in calls of a class. */
uint64_t wf_call_time(const struct wf_rank *, enum wf_call_class);

#endif
