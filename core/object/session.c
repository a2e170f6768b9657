/* References to sessions, and sessions as owners of errors: see session.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/session.h"

#include <stdio.h>
#include <stdlib.h>

#include "object/errhandler.h"
#include "object/info.h"
#include "report/error.h"

void wf_session_get(struct wf_session *s)
{
    wf_object_get(&s->object);
}

void wf_session_put(struct wf_session *s)
{
    if (!wf_object_put(&s->object))
        return;
    wf_errhandler_put(s->errhandler);
    wf_info_destroy(s->info);
    wf_error_disown(s);
    free(s);
}

/* ---- as an owner of errors ----------------------------------------------- */

static struct wf_errhandler *find_handler(struct wf_object *object)
{
    return wf_container(object, struct wf_session, object)->errhandler;
}

static void *find_handle(struct wf_object *object)
{
    return object ? (void *)object : (void *)MPI_SESSION_NULL;
}

static void call_handler(void (*fn)(void), void *handle, int *errorcode)
{
    MPI_Session session = handle;

    ((MPI_Session_errhandler_function *)fn)(&session, errorcode);
}

static void describe_session(struct wf_object *object, char *out, size_t n)
{
    snprintf(out, n, " on a session");
}

const struct wf_owner_kind wf_session_owner_kind = {
    .kind = WF_KIND_SESSION,
    .name = "Session",
    .gives_way = true,
    .errhandler = find_handler,
    .handle = find_handle,
    .call = call_handler,
    .describe = describe_session,
};
