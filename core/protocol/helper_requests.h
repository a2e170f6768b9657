/* Calls leave requests, or the service of peers, to the progress threads.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_HELPER_REQUESTS_H
#define WF_PROTOCOL_HELPER_REQUESTS_H

#include "os/tuning.h"
#include "progress/wait.h"
#include "protocol/queues.h"

/* Leave r to the progress thread unless r is done or not worth it. Called in a
 * nonblocking call, with the section held or off; starts the thread if there is
 * none. */
void wf_helper_register(struct wf_req *r);
/* Have the progress thread serve peers from now on, whatever the program does:
 * they may operate on memory of this process without its calls. False: there
 * is no such thread, and they wait for its calls. Called with the section held
 * or off. */
bool wf_helper_attend(struct wf_instance *);
/* Take back one wf_helper_attend that returned true. */
void wf_helper_stop_attending(struct wf_instance *);
/* Poll a moment for the announcement of the message of r, a receive that was
 * just posted, if it is large. Called in a nonblocking call, with the section
 * held or off. */
void wf_helper_poll_announcement(struct wf_req *r);

/* Leave the request to the progress thread if that is worth it. */
static inline void wf_register_with_helper(struct wf_req *r)
{
    if (wf_req_done(r) ||
        (r->type == WF_REQ_RECV && wf_p2p_of(r)->bytes < WF_HELP_MIN_BYTES))
        return;
    if (r->wf->progress->may_help)
        wf_helper_register(r);
}

#endif
