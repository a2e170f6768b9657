/* The spawn request of PMI-1.
 *
 *   mcmd=spawn, nprocs=, execname=, totspawns=, spawnssofar=, arg1=, ...,
 *   preput_*, info_*, endcmd      a block for each command
 *
 * Weft's mpirun gets values that are encoded (weft_words=1), others get them as
 * they are, so that a newline cannot be told to them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PMI1_SPAWN_H
#define WF_BOOT_PMI1_SPAWN_H

#include "base.h"

struct wf_boot;
struct weft_boot_spawn;

/* Ask the launcher and await its answer: wf_spawn_start. */
int wf_pmi1_spawn(struct wf_boot *, const struct weft_boot_spawn *,
                  int *statuses, int *job);
/* Read the launcher's notices, and tell whether one says that this job has
 * ended. */
bool wf_pmi1_has_job_ended(struct wf_boot *, int job);

#endif
