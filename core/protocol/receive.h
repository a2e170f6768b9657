/* The receive unit: posting of receives, and receiving of stored messages.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_RECEIVE_H
#define WF_PROTOCOL_RECEIVE_H

#include "base.h"
#include "protocol/p2p.h"

struct weft_loc;
struct wf_comm;
struct wf_expected;
struct wf_message;
struct wf_p2p;
struct wf_receive_args;
struct wf_req;
struct wf_type;

/* Start a receive. */
int wf_irecv(struct wf_comm *, void *buf, uint64_t count, struct wf_type *,
             int source, int tag, enum wf_space, struct wf_req **out);

/* Receive, and wait until that is complete. */
int wf_recv(struct wf_comm *, void *buf, uint64_t count, struct wf_type *,
            int source, int tag, enum wf_space, MPI_Status *);
int wf_sendrecv(struct wf_comm *, const void *sbuf, uint64_t scount,
                struct wf_type *stype, int dest, void *rbuf, uint64_t rcount,
                struct wf_type *rtype, int source, int tag, enum wf_space);

/* Receive and wait, without a request: a stored message, or one that comes
 * while it is polled for. False: nothing has happened, take the slow path. loc:
 * a contact of comm. */
bool wf_receive_fast(struct wf_comm *comm, struct weft_loc *loc,
                     const struct wf_expected *, MPI_Status *, int *rc);

/* The same for a message that no posted receive could take. loc: NULL if there
 * is no contact, then only a stored message is received. */
bool wf_receive_now(struct wf_comm *comm, struct weft_loc *loc,
                    const struct wf_expected *, MPI_Status *, int *rc);

/* Turn the expected message into a request. NULL: out of memory. */
struct wf_p2p *wf_expected_claim(struct wf_expected *);

/* Start a prepared request, a new or a persistent one. */
int wf_receive_start(struct wf_p2p *);

/* Receive a stored message that was matched. */
void wf_receive_message(struct wf_p2p *, struct wf_message *);

/* Complete a receive with a status: WF_ETRUNCATED or WF_ESHORT if it is 0 and
 * the length does not fit. */
void wf_receive_finish(struct wf_p2p *, int error);

/* Take a posted receive back; false: it is matched already. */
bool wf_receive_withdraw(struct wf_p2p *);

/* Prepare the receive for a message of this length and envelope. */
void wf_receive_match(struct wf_p2p *, uint64_t env1, uint64_t length);

/* Start a receive as wf_irecv does. The caller then, with the section left,
 * calls wf_receive_copy_stored, which copies a large message that was stored
 * already. */
int wf_irecv_defer_copy(struct wf_comm *, const struct wf_receive_args *,
                        struct wf_req **out);
void wf_receive_copy_stored(struct wf_req *);

#endif
