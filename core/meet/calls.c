/* The calls on ports (MPI-5.0 s11.9, s11.10).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "group/comm.h"
#include "meet/meet.h"
#include "meet/ports.h"
#include "object/error.h"
#include "object/info.h"
#include "process/rank.h"
#include "progress/engines.h"

int wf_mpi_open_port(struct wf_instance *wf, struct wf_info *info,
                     char *port_name)
{
    return wf_port_open(wf, port_name);
}

int wf_mpi_close_port(struct wf_instance *wf, const char *port_name)
{
    return wf_port_close(wf, port_name);
}

int wf_mpi_comm_accept(struct wf_instance *wf, const char *port_name,
                       struct wf_info *info, int root, struct wf_comm *comm,
                       MPI_Comm *newcomm)
{
    *newcomm = MPI_COMM_NULL;
    return wf_port_accept(comm, root, port_name, newcomm);
}

/* The info key for the limit of MPI_Comm_connect, which MPICH calls timeout:
 * seconds, with a fraction or without. 0: there is none. */
static int read_timeout(const struct wf_info *info, uint64_t *ns)
{
    const char *key = "connect_timeout", *text = wf_info_find(info, key);
    char *end;
    double seconds;

    if (!text)
        text = wf_info_find(info, key = "timeout");
    *ns = 0;
    if (!text)
        return MPI_SUCCESS;
    seconds = strtod(text, &end);
    if (end == text || *end || !(seconds > 0) || seconds > 1e6)
        return wf_error(MPI_ERR_INFO_VALUE,
                        "%s is '%.40s': it must be a number of seconds, up to "
                        "1000000",
                        key, text);
    *ns = (uint64_t)(seconds * 1e9) + 1;
    return MPI_SUCCESS;
}

int wf_mpi_comm_connect(struct wf_instance *wf, const char *port_name,
                        struct wf_info *info, int root, struct wf_comm *comm,
                        MPI_Comm *newcomm)
{
    uint64_t timeout;
    int rc = comm->rank == root ? read_timeout(info, &timeout) : MPI_SUCCESS;

    *newcomm = MPI_COMM_NULL;
    if (comm->rank != root)
        timeout = 0;
    if (rc != MPI_SUCCESS) { /* the others wait for the root: it fails there */
        struct wf_error_record cause = *wf_error_last();
        wf_port_connect(comm, root, "", 1, newcomm);
        return wf_error(rc, "%s", cause.text);
    }
    return wf_port_connect(comm, root, port_name, timeout, newcomm);
}
