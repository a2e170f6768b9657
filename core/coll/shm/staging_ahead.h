/* Calls from a root through the staging ring, without synchronization: the root
 * writes when the chunks it takes are free, and goes on; a member reads when
 * the root has written, and goes on. So several calls are under way, each in
 * chunks of its own, and where ranks outnumber CPUs a turn of the run queue
 * carries as many.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_STAGING_AHEAD_H
#define WF_COLL_SHM_STAGING_AHEAD_H

#include "base.h"

struct wf_staged_call;

/* Runs a call from the root without synchronization, once there is a ring.
 * False: nothing has happened. */
bool wf_staging_run_ahead(struct wf_staged_call *, int *rc);

#endif
