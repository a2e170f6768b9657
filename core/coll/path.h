/* Which path the collectives of a communicator take: see path.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_PATH_H
#define WF_COLL_PATH_H

#include "group/comm.h"

/* With core.log = debug, say once which path the blocking collectives of this
 * communicator take, and why none that is better. why: the reason why they do
 * not share memory; NULL: path.c finds it. */
void wf_coll_log_path(struct wf_comm *, const char *why);

/* Counts a blocking collective of this communicator that has been run with this
 * result, and sets up the shared memory after enough of them. A process that
 * lacked a resource does not go on to the set-up, where it would wait for
 * members that wait for it in the collective. If they do not, it catches up
 * before the next collective. */
void wf_shmcoll_count_call(struct wf_comm *, int rc);

#endif
