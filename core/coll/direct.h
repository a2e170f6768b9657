/* Performing a vertex while the builder makes it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_DIRECT_H
#define WF_COLL_DIRECT_H

#include "base.h"
#include "coll/vertex.h"

struct wf_op;
struct wf_sched;
struct wf_sched_block;
struct wf_type;

/* Each returns true if the vertex was performed: s->error is its outcome.
 * False: it is to be recorded. */
bool wf_direct_try_send(struct wf_sched *, const void *buf, uint64_t count,
                        const struct wf_type *, int dest);
bool wf_direct_try_recv(struct wf_sched *, void *buf, uint64_t count,
                        const struct wf_type *, int source);
bool wf_direct_try_reduce(struct wf_sched *, struct wf_op *, const void *in,
                          void *inout, uint64_t count, struct wf_type *);
bool wf_direct_try_copy(struct wf_sched *, struct wf_sched_block from,
                        struct wf_sched_block to);
bool wf_direct_try_call(struct wf_sched *, int (*fn)(void *), void *arg);

#endif
