/* An agreement computes the bitwise AND of a few words over all members of a
 * scope, without blocking, by dissemination.
 *
 * In step k member r sends the words that it has so far to r + 2^k and receives
 * those of r - 2^k (modulo the number of members); after log2 steps, rounded
 * up, every member has the contributions of all. AND tolerates that some arrive
 * twice, so any number of members will do (Hensgen, Finkel, Manber, Int. J.
 * Parallel Programming 17, 1988).
 *
 * A scope of two groups (an intercommunicator, or one in the making) agrees
 * inside each group, then between the leaders, then inside each group again.
 * The communicator over which the leaders reach each other is called the
 * bridge.
 *
 * The bridge may be on another engine (engines.h): then a cross-engine task
 * sends its messages there, and another task brings the result back.
 *
 * LOCK  the API section of the group's engine; of the bridge's, while its
 *       messages are under way.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_AGREE_H
#define WF_AGREE_H

#include "progress/engines.h"
#include "protocol/p2p.h"

/* A scope says which processes take part, and over which messages. Consecutive
 * agreements of a pair of members may use the same tag, as messages keep their
 * order. */
struct wf_agree_scope {
    struct wf_comm *comm; /* intracommunicator of the (local) group */
    const int *ranks;     /* ranks of the members; NULL: all ranks of comm */
    int size, me;         /* number of members; index of this process */
    int tag;
    enum wf_space space;
    int leader; /* with a bridge: the member that uses it */
    bool bridged;
    struct wf_comm *bridge; /* leader only: comm that the other leader is in;
                               NULL: it has failed, and clears all words */
    int bridge_rank;        /* the other leader's rank there */
    int bridge_tag;
    enum wf_space bridge_space;
    /* The end of a process of these groups ends the agreement, as does that of
     * a member. */
    struct wf_group *others; /* leader only: instead of the bridge's members;
                                or NULL */
    struct wf_comm *result;  /* has both groups, once they are known; or NULL */
};

/* One agreement. Set scope, n, value, input, resume and arg, then call
 * wf_agree_start. */
struct wf_agree {
    const struct wf_agree_scope *scope;
    struct wf_instance *wf;
    int n;           /* number of words */
    uint64_t *value; /* in: own contribution; out: the result */
    uint64_t *input; /* scratch, n words */
    /* Called when the agreement ends, if wf_agree_start returned false. */
    void (*resume)(struct wf_agree *);
    void *arg;
    int error; /* MPI error class */
    /* private */
    int phase, step, pending;
    struct wf_engine_task task; /* to the bridge's engine, and back */
};

/* Starts the agreement. Returns true when it has ended at once: then resume is
 * not called. */
bool wf_agree_start(struct wf_agree *);

/* Returns whether a member of either group is dead, as far as the groups are
 * known here. Called inside the section of the group's engine. */
bool wf_agree_has_dead(const struct wf_agree_scope *);
/* Returns whether a process that the bridge depends on is dead. Called inside
 * the section of the bridge's engine. */
bool wf_agree_bridge_has_dead(const struct wf_agree_scope *);

/* Fills in the scope of all members of a communicator of either kind. It draws
 * the tags that the next collective operation would have, so every member calls
 * it at the same point of its sequence of collective calls. */
void wf_agree_init_scope(struct wf_agree_scope *, struct wf_comm *);

/* Runs an agreement of all members of a communicator, over n words, and waits
 * for it. It has no request, for which there might be no memory while others
 * wait for this member. Returns an MPI error class: MPI_ERR_PROC_ABORTED if one
 * is dead. */
int wf_agree_run(struct wf_comm *, uint64_t *value, uint64_t *input, int n);

/* The same over a scope. */
int wf_agree_run_over(const struct wf_agree_scope *, uint64_t *value,
                      uint64_t *input, int n);

#endif
