/* Raising an error: which handler, and what a fatal one prints.
 *
 * MPI-5.0 s9.3: errors of a call on a communicator go to its handler; errors
 * of calls without one go to the handler of MPI_COMM_SELF; before MPI_Init and
 * after MPI_Finalize to the initial handler.
 *
 * Before MPI-4.0 the errors of calls without a communicator went to the handler
 * of MPI_COMM_WORLD, and many programs set just that one. So a handler given
 * to MPI_COMM_WORLD serves where none was ever given to MPI_COMM_SELF.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "env/env.h"
#include "env/errhandler.h"

/* The initial handler is what the launcher's mpi_initial_errhandler says
 * (s11.5); mpirun passes it on in the environment. */
struct wf_errhandler *wf_errhandler_initial(void)
{
    const char *name = getenv("WEFT_INITIAL_ERRHANDLER");
    if (name && !strcmp(name, "mpi_errors_return"))
        return wf_errhandler_of(MPI_ERRORS_RETURN);
    if (name && !strcmp(name, "mpi_errors_abort"))
        return wf_errhandler_of(MPI_ERRORS_ABORT);
    return wf_errhandler_of(MPI_ERRORS_ARE_FATAL);
}

/* " on MPI_COMM_WORLD", " on communicator 'rows'", " on a communicator of 4
 * processes", or nothing. */
static void describe(struct wf_comm *comm, char *out, size_t n)
{
    out[0] = 0;
    if (!comm)
        return;
    if (comm == comm->wf->world)
        snprintf(out, n, " on MPI_COMM_WORLD");
    else if (comm == comm->wf->self)
        snprintf(out, n, " on MPI_COMM_SELF");
    else if (comm->name[0])
        snprintf(out, n, " on communicator '%s'", comm->name);
    else
        snprintf(out, n, " on a communicator of %d processes", comm->size);
}

/* W-11: product and version, host, rank, function, object, cause. */
static void fatal(struct wf_instance *wf, struct wf_comm *comm,
                  const char *function, int rc, const char *detail)
{
    char where[sizeof wf->host + 40] = "";
    char object[MPI_MAX_OBJECT_NAME + 40];
    char text[MPI_MAX_ERROR_STRING];
    const char *sentence = wf_error_sentence(rc);
    describe(comm, object, sizeof object);
    if (wf)
        snprintf(where, sizeof where, "rank %u on %s: ", wf->rank, wf->host);
    if (detail[0])
        sentence = detail;
    else if (!sentence)
        sentence = wf_error_code_text(rc, text) ? text : "no detail is known";
    wf_abort(wf, rc, "weft " WEFT_VERSION ": %s%s%s failed: %s: %s", where,
             function, object, wf_error_name(rc), sentence);
}

/* Call the handler e of comm (NULL: none) with code rc. object: on what the
 * function was called, or NULL. The API section is not held; the caller holds
 * references on e and comm. */
static int call(struct wf_instance *wf, struct wf_comm *comm,
                struct wf_comm *object, struct wf_errhandler *e,
                const char *function, int rc)
{
    const struct wf_error_record *r = wf_error_take(rc);
    if (!e->predefined) {
        MPI_Comm handle = wf_comm_handle(comm);
        ((MPI_Comm_errhandler_function *)e->fn)(&handle, &rc);
        return rc;
    }
    if ((MPI_Errhandler)(uintptr_t)e->predefined != MPI_ERRORS_RETURN)
        fatal(wf, object, function, rc, r->text);
    return rc;
}

/* Whose handler is for errors of calls without a communicator. */
static struct wf_comm *general(struct wf_instance *wf)
{
    bool older = wf->world && wf->world->errhandler_given;
    bool newer = wf->self && wf->self->errhandler_given;
    return older && !newer ? wf->world : wf->self;
}

int wf_raise(struct wf_instance *wf, struct wf_comm *comm, const char *function,
             int rc)
{
    const struct wf_error_record *r = wf_error_last();
    if (!wf)
        return call(NULL, NULL, NULL, wf_errhandler_initial(), function, rc);
    if (r->mpi_class == rc && r->comm)
        comm = r->comm;
    struct wf_comm *object = comm;
    if (!comm)
        comm = general(wf);
    if (!comm) /* while starting or ending */
        return call(wf, NULL, NULL, wf_errhandler_initial(), function, rc);
    wf_cs_enter(&wf->api);
    struct wf_errhandler *e = comm->errhandler;
    wf_errhandler_get(e);
    wf_comm_get(comm);
    wf_cs_leave(&wf->api);
    rc = call(wf, comm, object, e, function, rc);
    wf_cs_enter(&wf->api);
    wf_errhandler_put(e);
    wf_comm_put(comm);
    wf_cs_leave(&wf->api);
    return rc;
}

/* s9.3: success once the handler has returned, whatever it did. */
int wf_mpi_comm_call_errhandler(struct wf_instance *wf, struct wf_comm *comm,
                                int errorcode)
{
    int mpi_class;
    int rc = wf_mpi_error_class(wf, errorcode, &mpi_class);
    if (rc != MPI_SUCCESS)
        return rc;
    struct wf_errhandler *e = comm->errhandler;
    wf_errhandler_get(e);
    wf_comm_get(comm);
    wf_cs_leave(&wf->api);
    call(wf, comm, comm, e, "MPI_Comm_call_errhandler", errorcode);
    wf_cs_enter(&wf->api);
    wf_errhandler_put(e);
    wf_comm_put(comm);
    return MPI_SUCCESS;
}
