/* Messages of the library that are tried without a request: they move at once
 * or not at all. The caller falls back to a request where a try fails.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_TRY_H
#define WF_PROTOCOL_TRY_H

#include "base.h"
#include "protocol/p2p.h"

struct wf_comm;
struct wf_try_result;

/* Send or receive only if that is possible at once; false: nothing has
 * happened. Not at MPI_THREAD_MULTIPLE. wf_try_recv polls for a short while;
 * for an operation that is under way by then it waits. */
bool wf_try_send(struct wf_comm *, const void *data, uint64_t bytes, int dest,
                 int tag, enum wf_space);
bool wf_try_recv(struct wf_comm *, void *buf, uint64_t bytes, int source,
                 int tag, enum wf_space, struct wf_try_result *);

#endif
