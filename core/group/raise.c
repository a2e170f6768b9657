/* Raising an error: the choice of the handler, and the text of a fatal one.
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
 * go to that one (s7.4.2, s11.3.1). The owners are known by their registered
 * kinds (object/owner.h), so that a window or a file needs no change here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/raise.h"

#include <stdio.h>
#include <stdlib.h>

#include "boot/abort.h"
#include "core_api.h"
#include "group/comm.h"
#include "object/env.h"
#include "object/errhandler.h"
#include "object/error.h"
#include "object/error_text.h"
#include "object/error_user.h"
#include "object/owner.h"
#include "os/trust.h"
#include "process/rank.h"
#include "report/state.h"

/* The initial handler is the one that the launcher's mpi_initial_errhandler
 * names (s11.5); mpirun passes it on in the environment. */
struct wf_errhandler *wf_errhandler_initial(void)
{
    const char *name = wf_trust_getenv("WEFT_INITIAL_ERRHANDLER");
    if (name && !strcmp(name, "mpi_errors_return"))
        return wf_errhandler_of(MPI_ERRORS_RETURN);
    if (name && !strcmp(name, "mpi_errors_abort"))
        return wf_errhandler_of(MPI_ERRORS_ABORT);
    return wf_errhandler_of(MPI_ERRORS_ARE_FATAL);
}

/* The object to which an error belongs, and the handler that it gets. */
struct raised {
    struct wf_object *object;         /* or NULL */
    const struct wf_owner_kind *kind; /* of the object; or NULL */
    struct wf_errhandler *handler;
};

enum { OBJECT_LEN = MPI_MAX_OBJECT_NAME + 40 };

/* A verdict says what to do about an error. It is found inside the API section
 * and carried out outside. It refers to no object of the library: a handler of
 * the user may free what the error is about, and may not return (a C++
 * exception, longjmp). */
struct verdict {
    MPI_Errhandler predefined; /* or MPI_ERRHANDLER_NULL: fn */
    void (*fn)(void);
    const struct wf_owner_kind *target; /* for which fn was made; or NULL */
    void *handle;
    char object[OBJECT_LEN]; /* for the text of a fatal error */
};

/* End the process with a text that has product and version, host, rank,
 * function, object and cause. */
static void end_process(struct wf_instance *wf, const char *object,
                        const char *function, bool large, int rc,
                        const char *detail)
{
    char where[sizeof wf->rank->host + 40] = "";
    char text[MPI_MAX_ERROR_STRING];
    const char *sentence = wf_error_sentence(rc);
    if (wf)
        snprintf(where, sizeof where, "rank %u on %s: ", wf->rank->id,
                 wf->rank->host);
    if (detail[0])
        sentence = detail;
    else if (!sentence)
        sentence = wf_error_code_text(rc, text) ? text : "no detail is known";
    wf_abort(wf, rc, "weft " WEFT_VERSION ": %s%s%s%s failed: %s: %s", where,
             function, large ? "_c" : "", object, wf_error_name(rc), sentence);
}

/* Fill in a verdict. target: the object whose handler is called. object: the
 * one on which the MPI function was called. */
static void decide_verdict(struct verdict *v, const struct raised *target,
                           const struct raised *object)
{
    const struct wf_errhandler *e = target->handler;
    bool fits = target->kind && target->kind == e->target;

    v->predefined = e->predefined ? wf_errhandler_handle(target->handler)
                                  : MPI_ERRHANDLER_NULL;
    v->fn = e->fn;
    v->target = e->target;
    if (e->target)
        v->handle = e->target->handle(fits ? target->object : NULL);
    v->object[0] = 0;
    if (object->kind)
        object->kind->describe(object->object, v->object, sizeof v->object);
}

/* Call the handler with code rc, which r is the record of. The API section is
 * not held. */
static int carry_out_verdict(struct wf_instance *wf, const struct verdict *v,
                             const char *function,
                             const struct wf_error_record *r, int rc)
{
    bool large = wf_call_now.large;

    wf_call_now.large = false; /* the handler may call MPI, or not return */
    if (v->predefined == MPI_ERRHANDLER_NULL)
        v->target->call(v->fn, v->handle, &rc);
    else if (v->predefined != MPI_ERRORS_RETURN)
        end_process(wf, v->object, function, large, rc, r->text);
    return rc;
}

/* Returns the communicator whose handler serves calls without one. */
static struct wf_comm *choose_general_comm(struct wf_instance *wf)
{
    bool older = wf->world && wf->world->errhandler_given;
    bool newer = wf->self && wf->self->errhandler_given;
    return older && !newer ? wf->world : wf->self;
}

/* Find the owner of the errors of calls on an object, which is an owner, stands
 * for one, or is a handler; or NULL. */
static struct raised find_owner(struct wf_instance *wf, void *on)
{
    struct raised o = {.object = on};

    if (o.object && o.object->kind == WF_KIND_ERRHANDLER)
        return (struct raised){.handler = on};
    o.kind = wf_owner_kind_of(wf, o.object);
    if (o.kind && o.kind->stands_for) {
        o.object = o.kind->stands_for(o.object);
        o.kind = wf_owner_kind_of(wf, o.object);
    }
    return o;
}

static void choose_handler(struct wf_instance *wf, struct raised *r)
{
    struct wf_comm *general = NULL;

    if (r->handler)
        return;
    if (!r->kind)
        general = choose_general_comm(wf);
    if (general)
        *r = find_owner(wf, &general->object);
    if (r->kind)
        r->handler = r->kind->errhandler(r->object);
    else /* no world, or while starting or ending */
        r->handler = wf_errhandler_initial();
}

/* Find the owner of an error: that of the call, or the one that the record
 * names. */
static struct raised find_owner_of_error(struct wf_instance *wf, void *on,
                                         const struct wf_error_record *r)
{
    struct raised o = find_owner(wf, on);

    if (!r->owner || o.handler || (o.kind && !o.kind->gives_way))
        return o;
    return find_owner(wf, r->owner);
}

/* Returns the engine whose section protects the owner. */
static struct wf_instance *find_engine(struct wf_instance *wf,
                                       const struct raised *r)
{
    return r->kind && r->kind->engine ? r->kind->engine(r->object)
                                      : wf_home(wf);
}

int wf_raise(struct wf_instance *wf, void *on, const char *function, int rc)
{
    const struct wf_error_record *r = wf_error_take_record(rc);
    struct raised object = find_owner_of_error(wf, on, r);
    struct raised target = object;
    struct verdict v;
    if (!wf) {
        if (!target.handler)
            target.handler = wf_errhandler_initial();
        decide_verdict(&v, &target, &object);
        return carry_out_verdict(NULL, &v, function, r, rc);
    }
    wf = find_engine(wf, &target);
    bool held = wf_cs_enter_as_is(&wf->api);
    choose_handler(wf, &target);
    decide_verdict(&v, &target, &object);
    wf_cs_leave_as_entered(&wf->api, held);
    return carry_out_verdict(wf, &v, function, r, rc);
}

/* Returns MPI_SUCCESS once the handler has returned, whatever it did (s9.3). */
int wf_errhandler_call(struct wf_instance *wf, void *on, const char *function,
                       int errorcode)
{
    int mpi_class;
    struct raised target = find_owner(wf, on);
    struct verdict v;
    int rc = wf_mpi_error_class(wf, errorcode, &mpi_class);
    if (rc != MPI_SUCCESS)
        return rc;
    choose_handler(wf, &target);
    decide_verdict(&v, &target, &target);
    wf_cs_leave(&wf->api);
    carry_out_verdict(wf, &v, function, wf_error_take_record(errorcode),
                      errorcode);
    wf_cs_enter(&wf->api);
    return MPI_SUCCESS;
}

int wf_mpi_comm_call_errhandler(struct wf_instance *wf, struct wf_comm *comm,
                                int errorcode)
{
    return wf_errhandler_call(wf, comm, "MPI_Comm_call_errhandler", errorcode);
}
