/* Error handlers, and raising an error through them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ERRHANDLER_H
#define WF_ERRHANDLER_H

#include "object/owner.h"

struct wf_errhandler {
    struct wf_object object;
    uint32_t predefined; /* ABI value, or 0 */
    void (*fn)(void);    /* the user's function */
    const struct wf_owner_kind *target; /* the objects it was created for */
};

void wf_errhandler_get(struct wf_errhandler *);
void wf_errhandler_put(struct wf_errhandler *);

/* Create an error handler for objects of kind `target`
 * (MPI_X_create_errhandler). */
int wf_errhandler_create(const struct wf_owner_kind *target, void (*fn)(void),
                         MPI_Errhandler *);
/* Check that a handler is a predefined one, or was made for objects of kind
 * `target`. */
int wf_errhandler_check(const struct wf_errhandler *,
                        const struct wf_owner_kind *target);
/* Replace the handler of an object of kind `target`
 * (MPI_X_set_errhandler). */
int wf_errhandler_replace(struct wf_errhandler **slot, struct wf_errhandler *,
                          const struct wf_owner_kind *target);
/* Returns a handle with a reference of its own, which the user frees (s9.3). */
MPI_Errhandler wf_errhandler_get_handle(struct wf_errhandler *);

struct wf_errhandler *wf_errhandler_of(MPI_Errhandler handle);

MPI_Errhandler wf_errhandler_handle(struct wf_errhandler *);

#endif
