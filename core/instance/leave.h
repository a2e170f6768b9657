/* The end of a rank's job.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INSTANCE_LEAVE_H
#define WF_INSTANCE_LEAVE_H

#include "base.h"

struct wf_instance;

/* Call `holds` for each engine of the rank; true if all calls return true. No
 * other thread may be inside an engine. */
bool wf_leave_each_engine(struct wf_instance *home, bool (*holds)(void *));

/* Leave the job together with the other processes. MPI_Finalize is collective
 * (MPI-5.0 s11.2.2): this process serves the others until all are in it. Then
 * nothing new is on its way, and the transports can be drained. */
void wf_leave_job(struct wf_instance *);

/* Whether the transports have taken all that was sent (arg: the instance). */
bool wf_are_lanes_empty(void *arg);

#endif
