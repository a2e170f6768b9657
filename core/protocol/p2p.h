/* Point-to-point inside the library: the operations that collectives and
 * communicator management are built on. All functions run inside the API
 * section, return an MPI error class, and take ranks of comm's peer group.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_H
#define WF_P2P_H

#include "protocol/request.h"

/* Traffic classes that never match one another (8 bits of env0). */
enum wf_space {
    WF_SPACE_P2P = 0,      /* messages of the program */
    WF_SPACE_COLL = 1,     /* collectives: wf_comm_draw_tag */
    WF_SPACE_NBC = 2,      /* not used */
    WF_SPACE_SETUP = 3,    /* start of partitioned operations: part/part.h */
    WF_SPACE_PART = 4,     /* parts of partitioned operations */
    WF_SPACE_INTERNAL = 6, /* communicator management */
    WF_SPACE_GROUP = 7     /* groups that have no communicator yet */
};

enum wf_send_mode {
    WF_SEND_STANDARD,
    /* A standard send that a plugin may hold back, to send it with later ones,
     * until the program waits. A held request is shared: no on_complete. */
    WF_SEND_WINDOW,
    WF_SEND_SYNC,
    WF_SEND_READY
};

/* Start a send. *out may be a shared request that is complete already. */
int wf_isend(struct wf_comm *, const void *buf, uint64_t count,
             struct wf_type *, int dest, int tag, enum wf_space,
             enum wf_send_mode, struct wf_req **out);
/* Start a send without trying to send at once: *out is a request of its own. */
int wf_isend_queued(struct wf_comm *, const void *buf, uint64_t count,
                    struct wf_type *, int dest, int tag, enum wf_space,
                    enum wf_send_mode, struct wf_req **out);
/* Start a receive. */
int wf_irecv(struct wf_comm *, void *buf, uint64_t count, struct wf_type *,
             int source, int tag, enum wf_space, struct wf_req **out);

/* The arguments of a receive. */
struct wf_receive_args {
    void *buf;
    uint64_t count;
    struct wf_type *type;
    int source, tag;
};

/* Start a send of contiguous bytes only if they can be copied at once; the
 * buffer is free afterwards. False: nothing has happened. */
bool wf_isend_bytes(struct wf_comm *, const void *data, uint64_t bytes,
                    int dest, int tag, struct wf_req **out);

/* Send or receive, and wait until that is complete. */
int wf_send(struct wf_comm *, const void *buf, uint64_t count, struct wf_type *,
            int dest, int tag, enum wf_space);
int wf_recv(struct wf_comm *, void *buf, uint64_t count, struct wf_type *,
            int source, int tag, enum wf_space, MPI_Status *);
int wf_sendrecv(struct wf_comm *, const void *sbuf, uint64_t scount,
                struct wf_type *stype, int dest, void *rbuf, uint64_t rcount,
                struct wf_type *rtype, int source, int tag, enum wf_space);

/* Send or receive only if that is possible at once (try.c); false: nothing has
 * happened. Not at MPI_THREAD_MULTIPLE. wf_try_recv polls for a short while;
 * for an operation that is under way by then it waits. */
struct wf_try_result {
    int error;      /* MPI_SUCCESS, or an error class that was recorded */
    uint64_t bytes; /* received */
};
bool wf_try_send(struct wf_comm *, const void *data, uint64_t bytes, int dest,
                 int tag, enum wf_space);
bool wf_try_recv(struct wf_comm *, void *buf, uint64_t bytes, int source,
                 int tag, enum wf_space, struct wf_try_result *);

/* Wait for one request, or for all; makes progress meanwhile. The requests are
 * released and *req set to NULL. wf_wait_all returns the first error. status
 * may be MPI_STATUS_IGNORE. */
int wf_wait(struct wf_req **req, MPI_Status *status);
int wf_wait_all(int n, struct wf_req **reqs);

#endif
