/* Setting up shared-memory collectives: one segment that all members of a
 * communicator map.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_SETUP_H
#define WF_COLL_SHM_SETUP_H

#include "base.h"

struct wf_comm;
struct wf_shmcoll;

/* Counts a blocking collective of this communicator that has been run with this
 * result, and sets up the shared memory after enough of them. A process that
 * lacked a resource does not go on to the set-up, where it would wait for
 * members that wait for it in the collective. If they do not, it catches up
 * before the next collective. */
void wf_shmcoll_count_call(struct wf_comm *, int rc);

/* Makes the staging ring when it is due; all members are in a large call.
 * False: there is no ring yet. */
bool wf_shmcoll_ensure_staging(struct wf_shmcoll *);

#endif
