/* Ports, and how the processes of two jobs meet by one: see meet.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/meet.h"

#include "config/config.h"
#include "group/comm.h"
#include "meet/members.h"
#include "meet/port.h"
#include "object/error.h"
#include "process/rank.h"
#include "progress/engines.h"

int wf_port_open(struct wf_instance *wf, char name[MPI_MAX_PORT_NAME])
{
    struct wf_meet_state *s = wf_meet_state(wf);

    return s ? wf_port_make(s, name) : MPI_ERR_OTHER;
}

int wf_port_close(struct wf_instance *wf, const char *name)
{
    struct wf_meet_state *s = (void *)wf_home(wf)->rank->meet;
    struct wf_port *port = s ? wf_port_find(s, name) : NULL;

    if (!port)
        return wf_port_fail_unknown(name);
    wf_port_end(s, port);
    return MPI_SUCCESS;
}

static int check_comm(const struct wf_comm *comm)
{
    return comm->inter ? wf_error(MPI_ERR_COMM,
                                  "the communicator is an intercommunicator")
                       : MPI_SUCCESS;
}

int wf_port_accept(struct wf_comm *comm, int root, const char *name,
                   MPI_Comm *newcomm)
{
    struct wf_meeting m = {.exchange = wf_exchange_accept, .name = name};
    int rc = check_comm(comm);

    return rc == MPI_SUCCESS ? wf_meet(comm, root, &m, newcomm) : rc;
}

int wf_port_connect(struct wf_comm *comm, int root, const char *name,
                    uint64_t timeout, MPI_Comm *newcomm)
{
    struct wf_meeting m = {.exchange = wf_exchange_connect,
                           .name = name,
                           .timeout = timeout};
    int rc = check_comm(comm);

    if (!timeout)
        m.timeout = comm->wf->rank->options->connect_timeout;
    return rc == MPI_SUCCESS ? wf_meet(comm, root, &m, newcomm) : rc;
}

static void forget_parent(struct wf_comm_kept *kept)
{
    wf_container(kept, struct wf_meet_state, parent_kept)->parent = NULL;
}

int wf_parent_set(struct wf_instance *wf, struct wf_comm *parent)
{
    struct wf_meet_state *s = wf_meet_state(wf);

    if (!s)
        return MPI_ERR_OTHER;
    s->parent = parent;
    s->parent_kept.drop = forget_parent;
    wf_comm_keep(parent, &s->parent_kept);
    return MPI_SUCCESS;
}
