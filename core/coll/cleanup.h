/* Frees what collectives keep: schedules, and the shared memory of a
 * communicator. It is apart from the rest, so that a program that uses no
 * collective can free it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_CLEANUP_H
#define WF_COLL_CLEANUP_H

#include "base.h"

struct wf_comm;
struct wf_instance;
struct wf_sched;

/* Frees the schedules and scratch memory that an instance keeps for reuse, at
 * its end. */
void wf_sched_fini(struct wf_instance *);

/* Frees the object and its arrays. */
void wf_sched_free(struct wf_sched *);

/* Unmaps the shared memory of a communicator. */
void wf_shmcoll_free(struct wf_comm *);

#endif
