/* Error handlers, and raising an error through them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ERRHANDLER_H
#define WF_ERRHANDLER_H

#include "handle.h"

struct wf_errhandler {
    struct wf_object object;
    uint32_t predefined; /* ABI value, or 0 */
    void (*fn)(void); /* of the user */
    enum wf_kind target; /* the kind of object it was created for */
};

void wf_errhandler_get(struct wf_errhandler *);
void wf_errhandler_put(struct wf_errhandler *);
/* What MPI_COMM_WORLD and MPI_COMM_SELF start with. */
struct wf_errhandler *wf_errhandler_initial(void);

/* Raise error class `rc` of MPI function `function` through `on`, if
 * that is a handler, else that of the recorded communicator, else of `on`, else
 * of MPI_COMM_SELF, else (no world) the initial handler. on: the object of the
 * call, which is a communicator, a session or a group, or NULL. Called outside
 * the API section. Returns the code the MPI function is to return; does not
 * return if the handler aborts. */
int wf_raise(struct wf_instance *wf, void *on, const char *function, int rc);

/* What MPI_X_create_errhandler and MPI_X_set_errhandler have in common for
 * all kinds of object. */
int wf_errhandler_create(enum wf_kind target, void (*fn)(void),
                         MPI_Errhandler *);
int wf_errhandler_replace(struct wf_errhandler **slot, struct wf_errhandler *,
                          enum wf_kind target);
/* A reference for the user (s9.3), who frees it. */
MPI_Errhandler wf_errhandler_give(struct wf_errhandler *);
/* What MPI_X_call_errhandler does, inside the API section. */
int wf_errhandler_call(struct wf_instance *, void *on, const char *function,
                       int errorcode);

#endif
