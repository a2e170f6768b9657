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
 * Errors of calls on a session, or on a group that came from one, go to the
 * session's handler; those of calls that are given a handler for what they make
 * go to that one (s7.4.2, s11.3.1).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "env/env.h"
#include "env/errhandler.h"
#include "env/session.h"
#include "os/trust.h"

/* The initial handler is what the launcher's mpi_initial_errhandler says
 * (s11.5); mpirun passes it on in the environment. */
struct wf_errhandler *wf_errhandler_initial(void)
{
    const char *name = wf_trust_getenv("WEFT_INITIAL_ERRHANDLER");
    if (name && !strcmp(name, "mpi_errors_return"))
        return wf_errhandler_of(MPI_ERRORS_RETURN);
    if (name && !strcmp(name, "mpi_errors_abort"))
        return wf_errhandler_of(MPI_ERRORS_ABORT);
    return wf_errhandler_of(MPI_ERRORS_ARE_FATAL);
}

/* Of which object an error is, and which handler it gets. comm or session is
 * set where the handler takes one. */
struct raised {
    struct wf_comm *comm;
    struct wf_session *session;
    struct wf_errhandler *handler;
};

/* " on MPI_COMM_WORLD", " on communicator 'rows'", " on a communicator of 4
 * processes", " on a session", or nothing. */
static void describe(const struct raised *on, char *out, size_t n)
{
    const struct wf_comm *comm = on->comm;
    out[0] = 0;
    if (on->session)
        snprintf(out, n, " on a session");
    if (!comm)
        return;
    if (comm == wf_home(comm->wf)->world)
        snprintf(out, n, " on MPI_COMM_WORLD");
    else if (comm == wf_home(comm->wf)->self)
        snprintf(out, n, " on MPI_COMM_SELF");
    else if (comm->name[0])
        snprintf(out, n, " on communicator '%s'", comm->name);
    else
        snprintf(out, n, " on a communicator of %d processes", comm->size);
}

/* W-11: product and version, host, rank, function, object, cause. */
static void fatal(struct wf_instance *wf, const struct raised *on,
                  const char *function, int rc, const char *detail)
{
    char where[sizeof wf->host + 40] = "";
    char object[MPI_MAX_OBJECT_NAME + 40];
    char text[MPI_MAX_ERROR_STRING];
    const char *sentence = wf_error_sentence(rc);
    describe(on, object, sizeof object);
    if (wf)
        snprintf(where, sizeof where, "rank %u on %s: ", wf->rank, wf->host);
    if (detail[0])
        sentence = detail;
    else if (!sentence)
        sentence = wf_error_code_text(rc, text) ? text : "no detail is known";
    wf_abort(wf, rc, "weft " WEFT_VERSION ": %s%s%s failed: %s: %s", where,
             function, object, wf_error_name(rc), sentence);
}

/* The user's function with the handle of the object it was made for. */
static void call_user(const struct raised *on, int *rc)
{
    struct wf_errhandler *e = on->handler;
    if (e->target == WF_KIND_SESSION) {
        MPI_Session handle = (MPI_Session)on->session;
        ((MPI_Session_errhandler_function *)e->fn)(&handle, rc);
    } else {
        MPI_Comm handle = on->comm ? wf_comm_handle(on->comm) : MPI_COMM_NULL;
        ((MPI_Comm_errhandler_function *)e->fn)(&handle, rc);
    }
}

/* Call the handler with code rc. object: on what the function was called. The
 * API section is not held; the caller holds references. */
static int call(struct wf_instance *wf, const struct raised *on,
                const struct raised *object, const char *function, int rc)
{
    const struct wf_error_record *r = wf_error_take(rc);
    if (!on->handler->predefined)
        call_user(on, &rc);
    else if (wf_errhandler_handle(on->handler) != MPI_ERRORS_RETURN)
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

static struct raised object_of(void *on)
{
    struct raised o = {0};
    struct wf_object *object = on;
    if (!object)
        return o;
    if (object->kind == WF_KIND_COMM)
        o.comm = on;
    else if (object->kind == WF_KIND_SESSION)
        o.session = on;
    else if (object->kind == WF_KIND_ERRHANDLER)
        o.handler = on;
    else if (object->kind == WF_KIND_GROUP)
        o.session = ((struct wf_group *)on)->session;
    return o;
}

static void choose(struct wf_instance *wf, struct raised *r)
{
    if (r->handler)
        return;
    if (!r->comm && !r->session)
        r->comm = general(wf);
    if (r->comm)
        r->handler = r->comm->errhandler;
    else if (r->session)
        r->handler = r->session->errhandler;
    else /* no world, or while starting or ending */
        r->handler = wf_errhandler_initial();
}

static void hold(const struct raised *r)
{
    wf_errhandler_get(r->handler);
    if (r->comm)
        wf_comm_get(r->comm);
    if (r->session)
        wf_session_get(r->session);
}

static void let_go(const struct raised *r)
{
    wf_errhandler_put(r->handler);
    if (r->comm)
        wf_comm_put(r->comm);
    if (r->session)
        wf_session_put(r->session);
}

int wf_raise(struct wf_instance *wf, void *on, const char *function, int rc)
{
    const struct wf_error_record *last = wf_error_last();
    struct raised object = object_of(on);
    /* the record may name a communicator of the library's own */
    if (last->mpi_class == rc && last->comm && !object.handler && !object.comm)
        object = (struct raised){.comm = last->comm};
    struct raised target = object;
    if (!wf) {
        if (!target.handler)
            target.handler = wf_errhandler_initial();
        return call(NULL, &target, &object, function, rc);
    }
    wf = target.comm ? target.comm->wf : wf_home(wf);
    bool held = wf_cs_hold(&wf->api);
    choose(wf, &target);
    hold(&target);
    wf_cs_drop(&wf->api, held);
    rc = call(wf, &target, &object, function, rc);
    held = wf_cs_hold(&wf->api);
    let_go(&target);
    wf_cs_drop(&wf->api, held);
    return rc;
}

/* s9.3: success once the handler has returned, whatever it did. */
int wf_errhandler_call(struct wf_instance *wf, void *on, const char *function,
                       int errorcode)
{
    int mpi_class;
    struct raised target = object_of(on);
    int rc = wf_mpi_error_class(wf, errorcode, &mpi_class);
    if (rc != MPI_SUCCESS)
        return rc;
    choose(wf, &target);
    hold(&target);
    wf_cs_leave(&wf->api);
    call(wf, &target, &target, function, errorcode);
    wf_cs_enter(&wf->api);
    let_go(&target);
    return MPI_SUCCESS;
}

int wf_mpi_comm_call_errhandler(struct wf_instance *wf, struct wf_comm *comm,
                                int errorcode)
{
    return wf_errhandler_call(wf, comm, "MPI_Comm_call_errhandler", errorcode);
}
