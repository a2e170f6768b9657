/* Sleeping in the kernel, and waking threads that sleep: see wait.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SLEEP_H
#define WF_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

struct wf_instance;
struct wf_progress;

/* Arm the event sources of the mask to wake a sleeper. False: an event is there
 * already. *timeout: milliseconds until a source wants to be polled, -1 for
 * never. */
bool wf_progress_arm(struct wf_instance *, uint32_t mask, int *timeout);
/* Take back the rings of the bell by which the leader is woken. */
void wf_progress_drain_bell(struct wf_progress *);
/* Wake a waiter to lead, if none leads. */
void wf_progress_pass_lead(struct wf_instance *);
/* Wake the waiters whose condition holds. */
void wf_waiters_notify(struct wf_instance *);
/* Sleep until an event may have made done(arg) true, as the leader or as a
 * follower. Enters and returns with the API section held. */
void wf_progress_sleep_once(struct wf_instance *, bool (*done)(void *),
                            void *arg);

#endif
