/* Setting up shared-memory collectives: one segment that all members of a
 * communicator map.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_SETUP_H
#define WF_COLL_SHM_SETUP_H

#include "base.h"

struct wf_comm;
struct wf_shmcoll;

/* Sets up the segment; all members are in this call. Where one has none,
 * none uses it. */
void wf_shmcoll_set_up(struct wf_comm *);

/* Makes the staging ring when it is due; all members are in a large call.
 * False: there is no ring yet. */
bool wf_shmcoll_ensure_staging(struct wf_shmcoll *);

#endif
