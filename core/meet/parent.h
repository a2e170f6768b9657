/* How spawned processes meet those that have spawned them: while they start.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_PARENT_H
#define WF_MEET_PARENT_H

struct wf_instance;

/* Meets the parents: collective over the world. Returns an MPI error class. It
 * is linked into programs that call MPI_Comm_get_parent, and is NULL in others,
 * which thus need no collectives. */
int wf_parent_meet(struct wf_instance *) __attribute__((weak));

#endif
