/* The helper thread, as the rest of progress sees it: see helper.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HELPER_H
#define WF_HELPER_H

#include "progress/wait.h"
#include "protocol/queues.h"

/* In a nonblocking call, section held or off: r is not done and left to
 * itself. */
void wf_helper_attend(struct wf_req *r);
/* In one, section held or off: r is a receive of at least the following, just
 * posted. */
void wf_helper_meet(struct wf_req *r);
enum { WF_HELP_LARGE = 64 << 10 }; /* bytes to receive that are worth it */

static inline void wf_attend(struct wf_req *r)
{
    if (wf_req_done(r) ||
        (r->type == WF_REQ_RECV && wf_p2p_of(r)->bytes < WF_HELP_LARGE))
        return;
    if (r->wf->may_help)
        wf_helper_attend(r);
}

#endif
