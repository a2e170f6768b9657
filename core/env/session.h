/* Sessions (MPI-5.0 s11.3): users of the instance that own no communicator but
 * name process sets, from which groups and then communicators are made.
 *
 * Groups and the communicators made from them keep their session's memory; the
 * handle is dead once MPI_Session_finalize was called.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SESSION_H
#define WF_SESSION_H

#include "instance.h"

struct wf_session {
    struct wf_object object;
    struct wf_instance *wf;
    struct wf_errhandler *errhandler;
    struct wf_info *info; /* what MPI_Session_get_info tells */
    struct wf_bsend_buffer *bsend; /* p2p/buffered.h */
};

void wf_session_get(struct wf_session *);
void wf_session_put(struct wf_session *);

#endif
