/* The communicator of two roots, by which their groups agree.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_BRIDGE_H
#define WF_MEET_BRIDGE_H

#include "base.h"

struct wf_comm;
struct wf_instance;

/* Returns a number that only those who meet know, for the bridge and for the
 * agreement. */
uint64_t wf_bridge_id(const unsigned char *key);
/* Makes the bridge to another root, whose number is given. NULL: no memory. */
struct wf_comm *wf_bridge_make(struct wf_instance *home, uint32_t other,
                               const unsigned char *key);
/* Frees a bridge; NULL is allowed. */
void wf_bridge_free(struct wf_comm *);

#endif
