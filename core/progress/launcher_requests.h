/* Requests of the engines of a rank to the launcher about names and processes
 * to spawn, one at a time (progress/launcher.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROGRESS_LAUNCHER_REQUESTS_H
#define WF_PROGRESS_LAUNCHER_REQUESTS_H

#include "base.h"

struct wf_instance;
struct wf_name_request;
struct weft_boot_spawn;

/* Publish, find or unpublish a name, as wf_boot_call_name does. */
int wf_launcher_call_name(struct wf_instance *, const struct wf_name_request *);
/* Start processes, as wf_spawn_start does. */
int wf_launcher_spawn(struct wf_instance *, const struct weft_boot_spawn *,
                      int *statuses, int *job);
/* Whether a job has ended, as wf_spawn_has_ended tells. */
bool wf_launcher_has_job_ended(struct wf_instance *, int job);

#endif
