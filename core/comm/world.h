/* MPI_COMM_WORLD and MPI_COMM_SELF.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_WORLD_H
#define WF_WORLD_H

#include <stdbool.h>

struct wf_instance;

/* MPI_COMM_WORLD and MPI_COMM_SELF exist between these calls. wf_world_end may
 * be called without wf_world_begin. final: nothing uses the instance any more,
 * not even a request that the program left unfinished. */
int wf_world_begin(struct wf_instance *);
void wf_world_end(struct wf_instance *, bool final);

#endif
