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

/* Close the connections to processes of other jobs that no communicator names,
 * and forget what is known of them: all messages leave before, unless the
 * deadline comes first. Those who were parted from agree that nothing is on its
 * way. The numbers are of processes that may be parted from; it is called in
 * the section of the first engine. */
void wf_parting_leave(struct wf_instance *, const uint32_t *numbers, int n,
                      uint64_t deadline);

#endif
