/* The send unit: it takes a message from MPI_Send to its lane.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_SEND_H
#define WF_PROTOCOL_SEND_H

#include "base.h"
#include "protocol/p2p.h"

struct weft_loc;
struct wf_comm;
struct wf_p2p;
struct wf_req;
struct wf_type;

/* Start a send. *out may be a shared request that is complete already. */
int wf_isend(struct wf_comm *, const void *buf, uint64_t count,
             struct wf_type *, int dest, int tag, enum wf_space,
             enum wf_send_mode, struct wf_req **out);

/* Start a send without trying to send at once: *out is a request of its own. */
int wf_isend_queued(struct wf_comm *, const void *buf, uint64_t count,
                    struct wf_type *, int dest, int tag, enum wf_space,
                    enum wf_send_mode, struct wf_req **out);

/* Start a send of contiguous bytes only if they can be copied at once; the
 * buffer is free afterwards. False: nothing has happened. */
bool wf_isend_bytes(struct wf_comm *, const void *data, uint64_t bytes,
                    int dest, int tag, struct wf_req **out);

/* Send, and wait until that is complete. */
int wf_send(struct wf_comm *, const void *buf, uint64_t count, struct wf_type *,
            int dest, int tag, enum wf_space);

/* Start a prepared request, which may be a new one; a persistent one again, by
 * copy like MPI_Isend where that is possible. */
int wf_send_start(struct wf_p2p *);
int wf_send_restart(struct wf_p2p *);

/* The Location of a rank of comm's peer group, connected. NULL: the error is
 * recorded and its class in *rc. */
struct weft_loc *wf_peer_connect(struct wf_comm *, int rank, int *rc);

/* The answer to a send has come: SYNC, FIN or CANCELLED. */
void wf_send_answered(struct wf_p2p *send, int error);

/* Complete a send that waits for nothing any more. */
void wf_send_complete_if_ready(struct wf_p2p *);

/* Ask the receiver to forget a send that waits for its answer. The receiver's
 * answer, to this or to the message itself, completes the send. */
void wf_send_cancel(struct wf_p2p *);

#endif
