/* The exchange between the roots of two groups, until each knows the other's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_EXCHANGE_H
#define WF_MEET_EXCHANGE_H

#include "meet/describe.h"
#include "meet/ports.h"
#include "report/state.h"

/* A meeting of two groups, as one of their members sees it. */
struct wf_meeting {
    struct wf_comm *comm;
    /* At the root: how it reaches the other one. It fills in theirs, key, and
     * other. */
    int (*exchange)(struct wf_instance *home, struct wf_meeting *);
    const char *name; /* of a port */
    const char *call; /* of the program: wf_call_name of then, or NULL */
    char shown[WF_PORT_SHOWN];  /* the same without its secret, */
    struct wf_wait_cause cause; /* for whoever asks what the root waits for */
    uint64_t timeout; /* ns, of a client */
    int fd;           /* of MPI_Comm_join */
    /* How the roots talk already: both are called whatever has failed, to tell
     * each other. Or NULL. */
    const struct wf_bridge *peers;
    /* Of a server, called now and then: why nobody will come, or NULL. */
    const char *(*look)(void *arg);
    void *look_arg;
    /* The descriptions of both groups, malloc'ed. */
    unsigned char *mine, *theirs;
    size_t mine_n, theirs_n;
    unsigned char key[WF_TOKEN]; /* of the pair */
    struct wf_met_group other;
    /* At the root, while it knows the other group: communicator of both roots,
     * made before the other one may count on this group. */
    struct wf_comm *bridge;
};

/* Exchanges of the three calls. */
int wf_exchange_accept(struct wf_instance *home, struct wf_meeting *);
int wf_exchange_connect(struct wf_instance *home, struct wf_meeting *);
int wf_exchange_join(struct wf_instance *home, struct wf_meeting *);

/* Records why MPI_Comm_join fails on a descriptor: MPI_ERR_OTHER. */
int wf_exchange_fail_join(int fd, const char *why);

/* Makes the other group known, whose description and key have come, and the
 * bridge to it. */
int wf_exchange_adopt(struct wf_instance *home, struct wf_meeting *);

/* Forgets the other group, and the bridge to it. */
void wf_exchange_forget(struct wf_instance *home, struct wf_meeting *);

/* Exchanges descriptions over a link that was made otherwise, and ends it. */
int wf_exchange_over(struct wf_meet_state *, struct wf_meeting *,
                     struct wf_meet_link *, uint64_t deadline);

#endif
