/* The helper thread, as the rest of progress sees it: see helper.c.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HELPER_H
#define WF_HELPER_H

#include "progress/wait.h"
#include "protocol/request.h"

/* In a nonblocking call, section held or off: r is not done and left to
 * itself. */
void wf_helper_attend(struct wf_req *r);
static inline void wf_attend(struct wf_req *r)
{
    if (!wf_req_done(r) && r->wf->may_help)
        wf_helper_attend(r);
}

/* Something is owed and no caller waits any more. */
void wf_helper_recall(struct wf_instance *);
/* A caller has polled, and so disarmed what an armed helper sleeps on. */
void wf_helper_disturb(struct wf_instance *);

#endif
