/* Communicators and groups as owners of errors. The errors of a group that came
 * from a session belong to the session (MPI-5.0 s11.3.1).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/owner.h"

#include <stdio.h>

#include "group/comm.h"
#include "object/session.h"

static struct wf_comm *comm_of(struct wf_object *object)
{
    return wf_container(object, struct wf_comm, object);
}

static struct wf_errhandler *find_handler(struct wf_object *object)
{
    return comm_of(object)->errhandler;
}

static struct wf_instance *find_engine(struct wf_object *object)
{
    return comm_of(object)->wf;
}

static void *find_handle(struct wf_object *object)
{
    return object ? wf_comm_handle(comm_of(object)) : MPI_COMM_NULL;
}

static void call_handler(void (*fn)(void), void *handle, int *errorcode)
{
    MPI_Comm comm = handle;

    ((MPI_Comm_errhandler_function *)fn)(&comm, errorcode);
}

/* Writes " on MPI_COMM_WORLD", " on communicator 'rows'", or " on a
 * communicator of 4 processes". */
static void describe_comm(struct wf_object *object, char *out, size_t n)
{
    struct wf_comm *comm = comm_of(object);
    MPI_Comm handle = wf_comm_handle(comm);

    if (handle == MPI_COMM_WORLD)
        snprintf(out, n, " on MPI_COMM_WORLD");
    else if (handle == MPI_COMM_SELF)
        snprintf(out, n, " on MPI_COMM_SELF");
    else if (comm->name[0])
        snprintf(out, n, " on communicator '%s'", comm->name);
    else
        snprintf(out, n, " on a communicator of %d processes", comm->size);
}

const struct wf_owner_kind wf_comm_owner_kind = {
    .kind = WF_KIND_COMM,
    .name = "Comm",
    .errhandler = find_handler,
    .engine = find_engine,
    .handle = find_handle,
    .call = call_handler,
    .describe = describe_comm,
};

static struct wf_object *find_session(struct wf_object *object)
{
    struct wf_session *session =
        wf_container(object, struct wf_group, object)->session;

    return session ? &session->object : NULL;
}

const struct wf_owner_kind wf_group_owner_kind = {
    .kind = WF_KIND_GROUP,
    .name = "Group",
    .stands_for = find_session,
};
