/* Messages to the keeper of a shared file pointer that wait in a list until it
 * can answer them (shared.c).
 *
 * LOCK  the API section of the file's engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_KEPT_H
#define WF_IO_KEPT_H

#include "base.h"
#include "protocol/active.h"

struct wf_kept {
    struct wf_list link;
    struct weft_loc *from;
    struct wf_active_head head;
};

/* Appends a message. False: there is no memory. */
bool wf_kept_add(struct wf_list *, struct weft_loc *from,
                 const struct wf_active_head *);
/* Drops the messages of one process; from NULL: those of all. */
void wf_kept_forget(struct wf_list *, const struct weft_loc *from);

#endif
