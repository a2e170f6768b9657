/* Error handlers, and raising an error through them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ERRHANDLER_H
#define WF_ERRHANDLER_H

#include "handle.h"

struct wf_errhandler {
    struct wf_object object;
    uint32_t predefined; /* ABI value, or 0 */
    void (*fn)(void *handle_p, int *code, ...); /* of the user */
    int target; /* WF_KIND_COMM, … : the kind of object it was created for */
};

void wf_errhandler_get(struct wf_errhandler *);
void wf_errhandler_put(struct wf_errhandler *);
/* What MPI_COMM_WORLD and MPI_COMM_SELF start with. */
struct wf_errhandler *wf_errhandler_initial(void);

/* Raise error class `rc` of MPI function `function` through the handler of
 * the recorded communicator, else of comm, else of MPI_COMM_SELF, else (no
 * instance) the initial handler. Called outside the API section. Returns the
 * code the MPI function is to return; does not return if the handler aborts. */
int wf_raise(struct wf_instance *wf, struct wf_comm *comm, const char *function,
             int rc);

#endif
