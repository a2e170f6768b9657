/* Point-to-point inside the library: the operations that collectives and
 * communicator management are built on. All functions run inside the API
 * section, return a status, and take ranks of comm's peer group.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_P2P_H
#define WF_P2P_H

#include "group/envelope.h"
#include "protocol/request.h"

enum wf_send_mode {
    WF_SEND_STANDARD,
    /* A standard send that a plugin may hold back, to send it with later ones,
     * until the program waits. A held request is shared: no on_complete. */
    WF_SEND_WINDOW,
    WF_SEND_SYNC,
    WF_SEND_READY
};

/* The arguments of a send. */
struct wf_send_args {
    const void *buf;
    uint64_t count;
    struct wf_type *type;
    int dest, tag;
};

/* The arguments of a receive. */
struct wf_receive_args {
    void *buf;
    uint64_t count;
    struct wf_type *type;
    int source, tag;
};

/* The outcome of wf_try_recv (protocol/try.h). */
struct wf_try_result {
    int error;      /* 0, or a status that was recorded */
    uint64_t bytes; /* received */
};

#endif
