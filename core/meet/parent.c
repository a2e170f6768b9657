/* Spawned processes meet their parents: see parent.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/parent.h"

#include <stdio.h>
#include <stdlib.h>

#include "boot/boot.h"
#include "boot/spawn.h"
#include "config/config.h"
#include "core_api.h"
#include "group/comm.h"
#include "meet/meet.h"
#include "meet/ports.h"
#include "object/error_class.h"
#include "process/rank.h"
#include "progress/engines.h"

int wf_parent_meet(struct wf_instance *wf)
{
    MPI_Comm handle = MPI_COMM_NULL;
    struct wf_comm *parent;
    char *port;
    int rc = wf_error_class(wf_spawn_parent(wf->rank->boot, &port));

    if (rc != MPI_SUCCESS || !port)
        return rc;
    rc = wf_port_connect(wf->world, 0, port, wf->rank->options->start_timeout,
                         &handle);
    explicit_bzero(port, strlen(port));
    free(port);
    if (rc != MPI_SUCCESS)
        return rc;
    parent = wf_comm_of(wf, handle);
    snprintf(parent->name, sizeof parent->name,
             "MPI_COMM_PARENT"); /* MPI-5.0 s7.8 */
    return wf_parent_set(wf, parent);
}

int wf_mpi_comm_get_parent(struct wf_instance *wf, MPI_Comm *parent)
{
    const struct wf_meet_state *s = (void *)wf_home(wf)->rank->meet;

    *parent = s && s->parent && !s->parent->freed ? wf_comm_handle(s->parent)
                                                  : MPI_COMM_NULL;
    return MPI_SUCCESS;
}
