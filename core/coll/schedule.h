/* Schedules: a collective as a directed acyclic graph of sends, receives,
 * reductions, copies and calls, run by the progress engine.
 *
 * A vertex starts when every vertex that it was put `after` is complete.
 * Vertices without dependencies start in wf_sched_start. Blocking, nonblocking,
 * persistent and simulated runs share the same builders. Messages of one
 * schedule use one tag drawn from comm->coll_tag at creation; between a pair
 * they match in the order of vertex creation: a message never starts before an
 * earlier one of the same direction and peer has started.
 *
 * On an intercommunicator messages go to the remote group, or after
 * wf_sched_use_local_group to the local one.
 *
 * ERRORS  Builders never fail half-way: a failed allocation is remembered and
 * reported by wf_sched_start/run as MPI_ERR_NO_MEM. After a vertex has failed
 * nothing is computed, but messages go on, sends without bytes; the request
 * gets the first error.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCHEDULE_H
#define WF_SCHEDULE_H

#include "datatype/op.h"
#include "protocol/p2p.h"

struct wf_sched;

struct wf_sched *wf_sched_create(struct wf_comm *);
/* A schedule that follows another one of the same operation, which has ended in
 * this process: it has its tag. */
struct wf_sched *wf_sched_create_part(struct wf_comm *, int tag);
int wf_sched_tag(const struct wf_sched *);
/* Each returns the vertex number (>= 0), or -1 if the vertex is complete
 * already and nothing has to wait for it. */
int wf_sched_send(struct wf_sched *, const void *buf, uint64_t count,
                  struct wf_type *, int dest);
int wf_sched_recv(struct wf_sched *, void *buf, uint64_t count,
                  struct wf_type *, int source);
/* A message whose content only its sender knows: wf_sched_send_deferred sends
 * the bytes that *what names when the vertex starts, not when it is built. The
 * receiver gets at most `room` bytes, and their number in *got. */
struct wf_sched_deferred_buf {
    const void *buf;
    uint64_t bytes;
};
int wf_sched_send_deferred(struct wf_sched *,
                           const struct wf_sched_deferred_buf *what, int dest);
int wf_sched_recv_deferred(struct wf_sched *, void *buf, uint64_t room,
                           uint64_t *got, int source);
/* inout = in op inout */
int wf_sched_reduce(struct wf_sched *, struct wf_op *, const void *in,
                    void *inout, uint64_t count, struct wf_type *);
int wf_sched_copy(struct wf_sched *, const void *src, uint64_t scount,
                  struct wf_type *stype, void *dst, uint64_t dcount,
                  struct wf_type *dtype);
/* fn runs inside the API section and must not wait. */
int wf_sched_call(struct wf_sched *, int (*fn)(void *arg), void *arg);
/* `vertex` starts only after `dependency`, an earlier vertex, is complete. In
 * wf_sched_after either may be -1: then there is nothing to wait for. */
void wf_sched_add_edge(struct wf_sched *, int vertex, int dependency);
static inline void wf_sched_after(struct wf_sched *s, int vertex,
                                  int dependency)
{
    if (vertex >= 0 && dependency >= 0)
        wf_sched_add_edge(s, vertex, dependency);
}
/* `vertex` starts only after every vertex created before it is complete. */
void wf_sched_after_all(struct wf_sched *, int vertex);
/* Every vertex created from here on starts after all earlier ones are
 * complete. */
void wf_sched_fence(struct wf_sched *);
/* Messages created from here on address ranks of the local group (on) or of the
 * peer group (off, as at creation). On an intracommunicator both are the
 * same. */
void wf_sched_use_local_group(struct wf_sched *, bool on);
/* In messages created from here on rank i means ranks[i]; NULL ends the
 * translation. The array is read while messages are created. */
void wf_sched_map_ranks(struct wf_sched *, const int *ranks);
/* Allocates scratch memory that lives as long as the schedule. Returns NULL on
 * failure, which start reports. */
void *wf_sched_alloc_temp(struct wf_sched *, size_t bytes);

/* Finds a message that has started and has not completed: a receive if there is
 * one. */
const struct wf_vertex *wf_sched_find_message(const struct wf_sched *);

void wf_sched_destroy(struct wf_sched *);
/* Destroys a schedule that was never started because of an error of this
 * process, and gives its tags back. */
void wf_sched_abandon(struct wf_sched *);

#endif
