/* Sessions (MPI-5.0 s11.3): users of the instance that own no communicator but
 * name process sets, from which groups and then communicators are made.
 *
 * Groups of a session, and the communicators made from them, keep the session's
 * memory alive; its handle is invalid after MPI_Session_finalize.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SESSION_H
#define WF_SESSION_H

#include "object/owner.h"

struct wf_instance;

struct wf_session {
    struct wf_object object;
    struct wf_instance *wf;
    struct wf_errhandler *errhandler;
    struct wf_info *info;          /* for MPI_Session_get_info */
    struct wf_bsend_buffer *bsend; /* p2p/buffered.h */
};

extern const struct wf_owner_kind wf_session_owner_kind WF_HIDDEN;

void wf_session_get(struct wf_session *);
void wf_session_put(struct wf_session *);

#endif
