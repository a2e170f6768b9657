/* Starting processes as a new job: see spawn.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "boot/spawn.h"

#include <stdlib.h>
#include <string.h>

#include "boot/boot.h"
#include "boot/hosted.h"
#include "boot/own_launcher.h"
#include "boot/pmi1_spawn.h"
#include "report/error.h"

/* A launcher may say that a request has failed and not of which process. */
static void complete_statuses(int rc, int *statuses, uint32_t n)
{
    for (uint32_t i = 0; rc < 0 && i < n; i++)
        statuses[i] = statuses[i] < 0 ? statuses[i] : rc;
}

int wf_spawn_find_server(struct wf_boot *boot)
{
    if (boot->server)
        return 0;
    if (boot->starts_launcher)
        return wf_own_launcher_start(boot->launcher_path, &boot->server);
    return wf_fail(WEFT_ENOTSUP, "no launcher serves this process: it is %s",
                   boot->is_static ? "started without a launcher, from mpi.ini"
                   : wf_boot_hosted_has(boot, boot->rank)
                       ? "a thread of a process that holds several ranks"
                       : "started by a launcher that is not asked for more");
}

int wf_spawn_start(struct wf_boot *boot, const struct weft_boot_spawn *q,
                   int *statuses, int *job)
{
    uint32_t n = wf_spawn_count(q);
    int rc;

    *job = 0;
    for (uint32_t i = 0; i < n; i++)
        statuses[i] = 0;
    rc = boot->ops->spawn ? boot->ops->spawn(boot, q)
                          : wf_spawn_find_server(boot);
    if (rc == 0 && !boot->ops->spawn)
        rc = wf_pmi1_spawn(boot->server, q, statuses, job);
    else if (rc > 0)
        *job = rc;
    complete_statuses(rc, statuses, n);
    return rc < 0 ? rc : 0;
}

bool wf_spawn_has_ended(struct wf_boot *boot, int job)
{
    if (job <= 0)
        return false;
    return boot->ops->spawn
               ? boot->ops->has_ended && boot->ops->has_ended(boot, job)
               : boot->server && wf_pmi1_has_job_ended(boot->server, job);
}

int wf_spawn_parent(struct wf_boot *boot, char **port)
{
    void *bytes = NULL;
    size_t n;
    int rc;

    *port = NULL;
    if (boot->parent_port) {
        *port = boot->parent_port;
        boot->parent_port = NULL;
        return 0;
    }
    if (!boot->is_spawned)
        return 0;
    rc = boot->ops->get(boot, "weft.parent", &bytes, &n);
    if (rc == WEFT_EUNREACH)
        return 0; /* spawned by a program of another MPI */
    if (rc < 0)
        return rc;
    *port = strndup(bytes, n);
    explicit_bzero(bytes, n);
    free(bytes);
    return *port ? 0 : wf_fail(WEFT_ENOMEM, "no memory for the parent's port");
}
