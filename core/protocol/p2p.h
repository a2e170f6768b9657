/* Point-to-point inside the library: what collectives and communicator
 * management are built on. All functions run inside the API section, return an
 * MPI error class, and take ranks of comm's peer group.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_H
#define WF_P2P_H

#include "protocol/request.h"

/* Traffic classes that never match one another (8 bits of env0). */
enum wf_space {
    WF_SPACE_P2P = 0,
    WF_SPACE_COLL = 1,     /* collectives: wf_comm_draw_tag */
    WF_SPACE_NBC = 2,      /* spare */
    WF_SPACE_SETUP = 3,    /* partitioned operations: part/part.h */
    WF_SPACE_PART = 4,     /* their parts */
    WF_SPACE_INTERNAL = 6, /* communicator management */
    WF_SPACE_GROUP = 7     /* the same, before there is a communicator */
};

enum wf_send_mode {
    WF_SEND_STANDARD,
    WF_SEND_WINDOW, /* standard, and may wait for others until it is waited for;
                       a held request is shared and takes no on_complete */
    WF_SEND_SYNC,
    WF_SEND_READY
};

int wf_isend(struct wf_comm *, const void *buf, uint64_t count,
             struct wf_type *, int dest, int tag, enum wf_space,
             enum wf_send_mode, struct wf_req **out);
/* Without a try to send at once: a request for certain. */
int wf_isend_queued(struct wf_comm *, const void *buf, uint64_t count,
                    struct wf_type *, int dest, int tag, enum wf_space,
                    enum wf_send_mode, struct wf_req **out);
int wf_irecv(struct wf_comm *, void *buf, uint64_t count, struct wf_type *,
             int source, int tag, enum wf_space, struct wf_req **out);

/* A receive of the program. */
struct wf_receive_args {
    void *buf;
    uint64_t count;
    struct wf_type *type;
    int source, tag;
};

/* Bytes of the program in one block, which may be gone afterwards: at once, or
 * false and nothing has happened. */
bool wf_isend_bytes(struct wf_comm *, const void *data, uint64_t bytes,
                    int dest, int tag, struct wf_req **out);

/* Blocking forms. */
int wf_send(struct wf_comm *, const void *buf, uint64_t count, struct wf_type *,
            int dest, int tag, enum wf_space);
int wf_recv(struct wf_comm *, void *buf, uint64_t count, struct wf_type *,
            int source, int tag, enum wf_space, MPI_Status *);
int wf_sendrecv(struct wf_comm *, const void *sbuf, uint64_t scount,
                struct wf_type *stype, int dest, void *rbuf, uint64_t rcount,
                struct wf_type *rtype, int source, int tag, enum wf_space);

/* At once, or false and nothing has happened: now.c. Not at
 * MPI_THREAD_MULTIPLE. wf_now_recv polls for a short while; what is under way
 * by then it waits for. */
struct wf_now {
    int error;      /* MPI_SUCCESS, or the recorded error */
    uint64_t bytes; /* received */
};
bool wf_now_send(struct wf_comm *, const void *data, uint64_t bytes, int dest,
                 int tag, enum wf_space);
bool wf_now_recv(struct wf_comm *, void *buf, uint64_t bytes, int source,
                 int tag, enum wf_space, struct wf_now *);

/* Wait for one or all, progressing; the requests are released and *req set to
 * NULL. wf_wait_all returns the first error. status may be MPI_STATUS_IGNORE. */
int wf_wait(struct wf_req **req, MPI_Status *status);
int wf_wait_all(int n, struct wf_req **reqs);

#endif
