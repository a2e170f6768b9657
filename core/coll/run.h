/* Running schedules.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_RUN_H
#define WF_COLL_RUN_H

#include "base.h"

struct wf_req;
struct wf_sched;

/* Makes vertices be performed when they are made, as long as that takes no
 * waiting (direct.c). To be called before the first vertex of a schedule that
 * runs once. */
void wf_sched_begin_direct(struct wf_sched *);
/* Whether it may go on without waiting, after a callback of the program. */
bool wf_sched_may_be_direct(const struct wf_sched *);

/* Runs the schedule to completion and destroys it; NULL: it could not be
 * created. */
int wf_sched_run(struct wf_sched *);

/* Starts the schedule as a request (WF_REQ_SCHEDULE), which owns it. */
int wf_sched_start(struct wf_sched *, struct wf_req **out);

/* Starts a schedule that is a part of a larger operation, without a request.
 * `ended` is called once, inside the API section, with an MPI error class, when
 * the schedule has ended and is destroyed; perhaps before this returns. It may
 * post operations; it must not wait. */
void wf_sched_start_part(struct wf_sched *, void (*ended)(void *arg, int error),
                         void *arg);

/* Makes an inactive persistent request that owns the schedule. */
int wf_sched_make_persistent(struct wf_sched *, struct wf_req **out);

#endif
