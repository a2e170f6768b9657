/* The events of shared-memory collectives in the trace of the rank.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_RECORD_H
#define WF_COLL_SHM_RECORD_H

#include "base.h"

struct wf_comm;

/* Records a collective through shared memory in the trace. */
void wf_shmcoll_note_call(const struct wf_comm *);

#endif
