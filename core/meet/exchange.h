/* The exchange between the roots of two groups, until each knows the other's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_EXCHANGE_H
#define WF_MEET_EXCHANGE_H

#include "meet/describe.h"
#include "meet/ports.h"

/* A meeting of two groups, as one of their members sees it. */
struct wf_meeting {
    struct wf_comm *comm;
    /* At the root: how it reaches the other one. It fills in theirs, key, and
     * other. */
    int (*exchange)(struct wf_instance *home, struct wf_meeting *);
    const char *name; /* of a port */
    uint64_t timeout; /* ns, of a client */
    int fd;           /* of MPI_Comm_join */
    /* Of a server, called now and then: why nobody will come, or NULL. */
    const char *(*look)(void *arg);
    void *look_arg;
    /* The descriptions of both groups, malloc'ed. */
    unsigned char *mine, *theirs;
    size_t mine_n, theirs_n;
    unsigned char key[WF_TOKEN]; /* of the pair */
    struct wf_met_group other;
};

/* Exchanges of the three calls. */
int wf_exchange_accept(struct wf_instance *home, struct wf_meeting *);
int wf_exchange_connect(struct wf_instance *home, struct wf_meeting *);
int wf_exchange_join(struct wf_instance *home, struct wf_meeting *);

/* Records why MPI_Comm_join fails on a descriptor: MPI_ERR_OTHER. */
int wf_exchange_fail_join(int fd, const char *why);

/* Exchanges descriptions over a link that was made otherwise, and ends it. */
int wf_exchange_over(struct wf_meet_state *, struct wf_meeting *,
                     struct wf_meet_link *, uint64_t deadline);

#endif
