/* Reducing the contributions of all members, in the order and with the brackets
 * of the schedules: the same bits, whichever way a call goes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_FOLD_H
#define WF_COLL_SHM_FOLD_H

#include "base.h"

struct wf_shmcoll;
struct wf_shmcoll_fold;

/* Sets from[r] to the contribution of each rank r; this member's is at
 * `own`. */
void wf_shmcoll_find_operands(struct wf_shmcoll *, uint64_t bytes,
                              const void *own, const void **from);
int wf_shmcoll_fold(struct wf_shmcoll *, const struct wf_shmcoll_fold *);

#endif
