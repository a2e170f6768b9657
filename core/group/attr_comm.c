/* Attributes of communicators, and the predefined ones (MPI-5.0 s7.7.2,
 * s9.1.2).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/attr_comm.h"

#include <limits.h>

#include "boot/boot.h"
#include "core_api.h"
#include "group/comm.h"
#include "object/attr.h"
#include "object/env.h"
#include "object/error_user.h"
#include "process/rank.h"

void wf_attr_predefine(struct wf_instance *wf)
{
    struct wf_env *env = wf->rank->env;
    const struct wf_boot *boot = wf->rank->boot;

    env->tag_ub = INT_MAX;
    env->host = MPI_PROC_NULL; /* no process is closer to the user */
    env->io = MPI_ANY_SOURCE;  /* every process has the C library's I/O */
    env->wtime_is_global = 0;
    env->appnum = boot ? boot->appnum : -1;
    env->universe_size = boot ? (int)boot->universe_size : 0;
    wf->rank->last_used_code = wf_error_last_code();
}

/* Returns the address of the value of a predefined attribute; NULL: it is not
 * set, or keyval is not one. */
static int *find_predefined(struct wf_instance *wf, int keyval)
{
    struct wf_env *env = wf->rank->env;

    switch (keyval) {
    case MPI_TAG_UB:
        return &env->tag_ub;
    case MPI_HOST:
        return &env->host;
    case MPI_IO:
        return &env->io;
    case MPI_WTIME_IS_GLOBAL:
        return &env->wtime_is_global;
    case MPI_LASTUSEDCODE:
        return &wf->rank->last_used_code;
    case MPI_APPNUM:
        return env->appnum >= 0 ? &env->appnum : NULL;
    case MPI_UNIVERSE_SIZE:
        return env->universe_size > 0 ? &env->universe_size : NULL;
    default:
        return NULL;
    }
}

/* Whether the communicator has this predefined attribute. Most describe the
 * environment of the World Model; a communicator that comes from a session has
 * only the one that describes communication (s9.1.2). */
static bool has_predefined_attr(const struct wf_comm *comm, int keyval)
{
    return keyval == MPI_TAG_UB || !comm->local->session;
}

/* attribute_val is the address of a pointer (s7.7.1). */
int wf_mpi_comm_get_attr(struct wf_instance *wf, struct wf_comm *comm,
                         int comm_keyval, void *attribute_val, int *flag)
{
    if (comm_keyval >= MPI_TAG_UB && comm_keyval <= MPI_UNIVERSE_SIZE) {
        int *value = has_predefined_attr(comm, comm_keyval)
                         ? find_predefined(wf, comm_keyval)
                         : NULL;
        *flag = value != NULL;
        if (value)
            *(void **)attribute_val = value;
        return MPI_SUCCESS;
    }
    return wf_attr_get(wf, WF_KIND_COMM, comm->attrs, comm_keyval,
                       attribute_val, flag);
}

int wf_mpi_comm_set_attr(struct wf_instance *wf, struct wf_comm *comm,
                         int comm_keyval, void *attribute_val)
{
    return wf_attr_set(wf, WF_KIND_COMM, wf_comm_handle(comm), &comm->attrs,
                       comm_keyval, attribute_val);
}

int wf_mpi_comm_delete_attr(struct wf_instance *wf, struct wf_comm *comm,
                            int comm_keyval)
{
    return wf_attr_delete(wf, WF_KIND_COMM, wf_comm_handle(comm), &comm->attrs,
                          comm_keyval);
}

/* The deprecated names of the functions above. */
int wf_mpi_attr_put(struct wf_instance *wf, struct wf_comm *comm, int keyval,
                    void *attribute_val)
{
    return wf_mpi_comm_set_attr(wf, comm, keyval, attribute_val);
}

int wf_mpi_attr_get(struct wf_instance *wf, struct wf_comm *comm, int keyval,
                    void *attribute_val, int *flag)
{
    return wf_mpi_comm_get_attr(wf, comm, keyval, attribute_val, flag);
}

int wf_mpi_attr_delete(struct wf_instance *wf, struct wf_comm *comm, int keyval)
{
    return wf_mpi_comm_delete_attr(wf, comm, keyval);
}
