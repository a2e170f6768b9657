/* Parting from processes of other jobs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_PARTING_H
#define WF_PROTOCOL_PARTING_H

#include "base.h"

struct wf_comm;
struct wf_instance;

/* Return the credit that is owed to processes of other jobs. Before they agree
 * to part: afterwards nothing may be sent to a process that has left. */
void wf_parting_return_credit(struct wf_instance *);
/* Whether no send on the communicator waits for an answer, and no matched
 * receive for its data. */
bool wf_parting_is_idle(const struct wf_comm *);

/* Processes that may be parted from, and how the caller waits: until done(arg)
 * or until the deadline, driving progress. */
struct wf_parting {
    struct wf_instance *wf; /* the first engine */
    const uint32_t *numbers;
    int n;
    uint64_t deadline; /* ns */
    bool abrupt;       /* they have not agreed: they count this as a loss */
    void (*wait)(struct wf_instance *, bool (*done)(void *), void *arg,
                 uint64_t deadline);
};

/* Close the connections to those of these processes that no communicator names,
 * and forget what is known of them: all messages leave before, unless the
 * deadline comes first. Unless it is abrupt they have agreed that nothing is on
 * its way. */
void wf_parting_leave(const struct wf_parting *);

#endif
