/* Error handler objects (MPI-5.0 s9.3).
 *
 * The three predefined handlers are constant, shared by all instances and not
 * counted.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/errhandler.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/env.h"
#include "object/error.h"

/* clang-format off */
#define PREDEFINED(handle)                                                     \
    {.object = {WF_KIND_ERRHANDLER, 1},                                        \
     .predefined = (uint32_t)(uintptr_t)(handle)}
/* clang-format on */

/* The predefined handlers, in the order of their handles, which are
 * consecutive. */
static const struct wf_errhandler predefined[] = {
    PREDEFINED(0x141), /* MPI_ERRORS_ARE_FATAL */
    PREDEFINED(0x142), /* MPI_ERRORS_ABORT */
    PREDEFINED(0x143), /* MPI_ERRORS_RETURN */
};

struct wf_errhandler *wf_errhandler_of(MPI_Errhandler handle)
{
    uintptr_t i = (uintptr_t)handle - (uintptr_t)MPI_ERRORS_ARE_FATAL;
    if (i < sizeof predefined / sizeof predefined[0])
        return (struct wf_errhandler *)&predefined[i]; /* never written */
    return wf_is_object(handle, WF_KIND_ERRHANDLER)
               ? (struct wf_errhandler *)handle
               : NULL;
}

MPI_Errhandler wf_errhandler_handle(struct wf_errhandler *e)
{
    return e->predefined ? (MPI_Errhandler)(uintptr_t)e->predefined
                         : (MPI_Errhandler)e;
}

void wf_errhandler_get(struct wf_errhandler *e)
{
    if (!e->predefined)
        wf_object_get(&e->object);
}

void wf_errhandler_put(struct wf_errhandler *e)
{
    if (e->predefined || !wf_object_put(&e->object))
        return;
    e->object.kind = WF_KIND_DEAD;
    free(e);
}

int wf_errhandler_create(const struct wf_owner_kind *target, void (*fn)(void),
                         MPI_Errhandler *errhandler)
{
    struct wf_errhandler *e = calloc(1, sizeof *e);
    if (!e)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an error handler");
    wf_object_init(&e->object, WF_KIND_ERRHANDLER);
    e->fn = fn;
    e->target = target;
    *errhandler = wf_errhandler_handle(e);
    return MPI_SUCCESS;
}

int wf_errhandler_check(const struct wf_errhandler *e,
                        const struct wf_owner_kind *target)
{
    if (e->predefined || e->target == target)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ERRHANDLER,
                    "the error handler was made for another kind of object; "
                    "make it with MPI_%s_create_errhandler",
                    target->name);
}

int wf_errhandler_replace(struct wf_errhandler **slot, struct wf_errhandler *e,
                          const struct wf_owner_kind *target)
{
    int rc = wf_errhandler_check(e, target);

    if (rc != MPI_SUCCESS)
        return rc;
    wf_errhandler_get(e);
    wf_errhandler_put(*slot);
    *slot = e;
    return MPI_SUCCESS;
}

MPI_Errhandler wf_errhandler_get_handle(struct wf_errhandler *e)
{
    wf_errhandler_get(e);
    return wf_errhandler_handle(e);
}

/* A predefined handler may be freed, too, because the program must free the
 * handle that MPI_Comm_get_errhandler returns, whatever handler it is. */
int wf_mpi_errhandler_free(struct wf_instance *wf, MPI_Errhandler *errhandler)
{
    struct wf_errhandler *e = wf_errhandler_of(*errhandler);
    if (!e)
        return wf_error(MPI_ERR_ERRHANDLER, "the handle is not an error "
                                            "handler");
    wf_errhandler_put(e);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
