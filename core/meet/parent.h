/* How spawned processes meet those that have spawned them: while they start.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_PARENT_H
#define WF_MEET_PARENT_H

#include <stdbool.h>

struct wf_instance;

/* Whether this process was spawned, and its job has not met the parents yet. */
bool wf_parent_is_due(const struct wf_instance *);
/* Meets the parents: collective over the world. Returns an MPI error class. */
int wf_parent_meet(struct wf_instance *);

#endif
