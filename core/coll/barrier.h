/* Barrier: through shared memory, by dissemination, or by signals to and from
 * rank 0 where ranks outnumber CPUs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_BARRIER_H
#define WF_COLL_BARRIER_H

#include "base.h"

struct wf_comm;
struct wf_sched;

/* Replaces *flags by the OR of the bytes of all ranks, or returns an error. */
int wf_barrier_agree_on_flags(struct wf_comm *, uint8_t *flags);

/* These add a dissemination, signals from all to rank 0, and signals from rank
 * 0 to all. */
void wf_coll_disseminate(struct wf_sched *, const struct wf_comm *g);
void wf_coll_signal_up(struct wf_sched *, const struct wf_comm *g);
void wf_coll_signal_down(struct wf_sched *, const struct wf_comm *g);

#endif
