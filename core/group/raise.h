/* Raising an error: the choice of the handler, and the text of a fatal one.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_RAISE_H
#define WF_GROUP_RAISE_H

#include "base.h"

struct wf_errhandler;
struct wf_instance;

/* Returns the handler with which MPI_COMM_WORLD and MPI_COMM_SELF start. */
struct wf_errhandler *wf_errhandler_initial(void);

/* Raise error class `rc` of the MPI function `function`. on: the object of the
 * call, or NULL; any registered kind (object/owner.h). The handler is `on`, if
 * that is one; else that of `on`, if errors belong to such objects; else of the
 * recorded owner; else of MPI_COMM_SELF; else (no world) the initial one. The
 * recorded owner goes before a session. Called outside the API section. Returns
 * the code that the MPI function is to return; does not return if the handler
 * aborts. */
int wf_raise(struct wf_instance *wf, void *on, const char *function, int rc);

/* Call the handler of `on` with an error code (MPI_X_call_errhandler). Called
 * inside the API section. */
int wf_errhandler_call(struct wf_instance *, void *on, const char *function,
                       int errorcode);

#endif
