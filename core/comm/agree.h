/* Agreement: the bitwise AND of a few words over all members of a scope,
 * nonblocking, by dissemination.
 *
 * In step k member r sends what it knows to r + 2^k and hears from r - 2^k
 * (modulo the number of members); after log2 steps, rounded up, everybody
 * knows all contributions. AND does not mind that some arrive twice, so any
 * number of members will do (Hensgen, Finkel, Manber, Int. J. Parallel
 * Programming 17, 1988).
 *
 * A scope of two groups (an intercommunicator, or one in the making) agrees
 * inside each group, then between the leaders, then inside each group again.
 *
 * The bridge may be on another engine (engines.h): then its messages are sent
 * there by an errand, and another one comes back.
 *
 * LOCK  the API section of the group's engine; of the bridge's, meanwhile.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_AGREE_H
#define WF_AGREE_H

#include "engines.h"
#include "protocol/p2p.h"

/* Who takes part, and over which messages. Between a pair of members one
 * agreement after the other may use the same tag, as messages keep order. */
struct wf_agree_scope {
    struct wf_comm *comm; /* intracommunicator of the (local) group */
    const int *ranks;     /* members, as ranks of comm; NULL: all of it */
    int size, me;         /* number of members; this process among them */
    int tag;
    enum wf_space space;
    int leader; /* with a bridge: the member that has it */
    bool bridged;
    struct wf_comm *bridge; /* of the leader: where the other leader is … */
    int bridge_rank;        /* … this rank */
    int bridge_tag;
    enum wf_space bridge_space;
    /* Whose end ends the agreement, beside that of the members. */
    struct wf_group *others; /* of the leader: instead of the bridge's members;
                                or NULL */
    struct wf_comm *result;  /* both groups, once they are known; or NULL */
};

struct wf_agree {
    const struct wf_agree_scope *scope;
    struct wf_instance *wf;
    int n; /* words */
    uint64_t *value; /* in: own contribution; out: the result */
    uint64_t *input; /* scratch, n words */
    /* Called when the agreement ends after wf_agree_run had returned false. */
    void (*resume)(struct wf_agree *);
    void *arg;
    int error; /* MPI error class */
    /* private */
    int phase, step, pending;
    struct wf_errand errand; /* to the bridge's engine, and back */
};

/* Start, or go on: true when it has ended (then resume is not called). */
bool wf_agree_start(struct wf_agree *);

/* Has a member gone, of either group as far as they are known here? The section
 * of the group's engine. */
bool wf_agree_dead(const struct wf_agree_scope *);
/* The same of those who matter on the bridge. The section of its engine. */
bool wf_agree_bridge_dead(const struct wf_agree_scope *);

/* The scope of all members of a communicator, of either kind. Draws the tags
 * that the next collective operation would have, so every member calls it at
 * the same point of its sequence of collective calls. */
void wf_agree_all(struct wf_agree_scope *, struct wf_comm *);

#endif
