/* Error handlers, and raising an error through them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ERRHANDLER_H
#define WF_ERRHANDLER_H

#include "object/handle.h"

struct wf_errhandler {
    struct wf_object object;
    uint32_t predefined; /* ABI value, or 0 */
    void (*fn)(void);    /* the user's function */
    enum wf_kind target; /* the kind of object it was created for */
};

void wf_errhandler_get(struct wf_errhandler *);
void wf_errhandler_put(struct wf_errhandler *);
/* Returns the handler with which MPI_COMM_WORLD and MPI_COMM_SELF start. */
struct wf_errhandler *wf_errhandler_initial(void);

/* Raise error class `rc` of the MPI function `function`. The handler is `on`,
 * if that is one; else the handler of the recorded communicator, else of `on`,
 * else of MPI_COMM_SELF, else (no world) the initial one. on: the object of the
 * call, which is a communicator, a session or a group, or NULL. Called outside
 * the API section. Returns the code that the MPI function is to return; does
 * not return if the handler aborts. */
int wf_raise(struct wf_instance *wf, void *on, const char *function, int rc);

/* Create an error handler for objects of kind `target`
 * (MPI_X_create_errhandler). */
int wf_errhandler_create(enum wf_kind target, void (*fn)(void),
                         MPI_Errhandler *);
/* Replace the handler of an object of kind `target`
 * (MPI_X_set_errhandler). */
int wf_errhandler_replace(struct wf_errhandler **slot, struct wf_errhandler *,
                          enum wf_kind target);
/* Returns a handle with a reference of its own, which the user frees (s9.3). */
MPI_Errhandler wf_errhandler_get_handle(struct wf_errhandler *);
/* Call the handler of `on` with an error code (MPI_X_call_errhandler). Called
 * inside the API section. */
int wf_errhandler_call(struct wf_instance *, void *on, const char *function,
                       int errorcode);

#endif
