/* A mark in shared memory by which other processes find out whether the one
 * that has set it has ended, without a connection to it.
 *
 * DESIGN  The number of a process means the same in one namespace of processes
 * only; so the mark names that. Of a process in another one, or where the
 * kernel does not tell, nothing is known: it counts as running.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_MARK_H
#define WF_PROCESS_MARK_H

#include <stdbool.h>

#include "os/atomic.h"

struct wf_process_mark {
    wf_atomic_u32 pid; /* 0: the mark is not set */
    wf_atomic_u32 unused;
    wf_atomic_u64 space; /* of the number; 0: unknown */
};

/* Sets the mark of this process. */
void wf_process_mark_set(struct wf_process_mark *);
/* Returns true if the process that has set the mark has ended for sure. */
bool wf_process_mark_has_ended(const struct wf_process_mark *);

#endif
