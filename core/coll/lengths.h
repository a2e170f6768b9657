/* The lengths of what a schedule moves.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_LENGTHS_H
#define WF_COLL_LENGTHS_H

#include "base.h"

struct wf_sched_block;

/* Compares the length of a message of a collective with the one that its
 * receiver expects. */
WF_COLD int wf_sched_bad_length(int source, uint64_t got, uint64_t expected);

/* Copies between two blocks of this process. As for a message to itself,
 * different lengths are an error. */
int wf_sched_copy_now(struct wf_sched_block from, struct wf_sched_block to);

#endif
