/* A launcher of its own for a process that was started without one: it is
 * started when the process first spawns others, and serves only it and the jobs
 * that follow.
 *
 *   process -- PMI-1 on a socket -- mpirun --singleton -- launchers of its jobs
 *
 * The mpirun is that of the library's installation, or core.launcher. It is not
 * a child of the process (it forks and leaves), so that a program that waits
 * for its children does not find it. It ends its jobs when the socket ends
 * before the process has called MPI_Finalize.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_OWN_LAUNCHER_H
#define WF_BOOT_OWN_LAUNCHER_H

#include "base.h"

struct wf_boot;

/* Start it, for spawn.h only: it has no other functions than finalize and
 * close. path: core.launcher, or NULL. The cause of a failure is recorded:
 * WEFT_ENOTSUP, there is none; WEFT_ESYS, WEFT_ENOMEM. */
int wf_own_launcher_start(const char *path, struct wf_boot **out);

#endif
