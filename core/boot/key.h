/* The search for the job key.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_KEY_H
#define WF_KEY_H

struct wf_instance;

/* Set the key of the own job from, in this order: [core] job_key or
 * job_key_file, the launcher's key weft.key, or fresh random bytes that rank 0
 * publishes. Rank 0 always has its key after the first call; the others may
 * need a second call after the fence. 0 or WEFT_E*, with the cause recorded by
 * wf_error. */
int wf_key_find(struct wf_instance *);

#endif
