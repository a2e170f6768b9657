/* Starting processes as a new job: a process asks its launcher to (PMI-1,
 * mcmd=spawn, or by its plugin), and a process without a launcher starts one
 * first (own_launcher.h).
 *
 *   asker     wf_spawn_start: commands and a port ---> launcher
 *   launcher  a new job with a key, a world and a key-value space of its own,
 *             in which the port is under "weft.parent"
 *   children  wf_spawn_parent: the port
 *
 * The answer comes when the programs have been executed, and does not wait for
 * what they do.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_SPAWN_H
#define WF_BOOT_SPAWN_H

#include "base.h"
#include "weft_bootstrap.h"

struct wf_boot;

/* Returns how many processes a request asks for. */
static inline uint32_t wf_spawn_count(const struct weft_boot_spawn *q)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < q->command_count; i++)
        n += q->commands[i].count;
    return n;
}

/* Finds the launcher that serves requests of this process; one without a
 * launcher starts its own. WEFT_ENOTSUP: there is none. The cause is recorded.
 */
int wf_spawn_find_server(struct wf_boot *);

/* Starts the processes, all or none. statuses: one for each process in the
 * order of the commands, 0 or negative. WEFT_EUNREACH: the launcher cannot
 * start them; WEFT_ENOTSUP: this process has no launcher that starts any;
 * WEFT_EINVAL: the request cannot be told to the launcher. The cause is
 * recorded. *job: the launcher's number of the job; 0: it gives none. */
int wf_spawn_start(struct wf_boot *, const struct weft_boot_spawn *,
                   int *statuses, int *job);

/* Whether a job that this process has spawned has ended, as far as the launcher
 * tells; job: as wf_spawn_start has given it. */
bool wf_spawn_has_ended(struct wf_boot *, int job);

/* The port of the process that has spawned this one, to be freed, in *port;
 * NULL: nobody has. Returns 0 or a status. */
int wf_spawn_parent(struct wf_boot *, char **port);

#endif
