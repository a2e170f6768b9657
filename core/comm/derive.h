/* Making a communicator out of another: the object first, then the agreement
 * on its context id, which may go on in the background.
 *
 * Every member runs the agreement, also one that gets no communicator and one
 * that met an error: then the call fails in all members instead of leaving
 * the others waiting.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DERIVE_H
#define WF_DERIVE_H

#include "comm/agree.h"

struct wf_derive_plan {
    struct wf_comm *parent;
    struct wf_comm *result; /* without a context id; NULL: not a member */
    bool inter;  /* what the result is, where there is one; equal in members */
    bool failed; /* this process met an error */
    struct wf_agree_scope scope;
    uint64_t key;   /* of context.h */
    uint32_t *hint; /* NULL: key tells where to start */
    bool *exhausted; /* where to say that no context id is left, or NULL */
};

/* A collective operation over all members of parent. */
void wf_derive_plan_all(struct wf_derive_plan *, struct wf_comm *parent);

/* Start the agreement; scope.ranks has to live until it is over. */
int wf_derive_start(const struct wf_derive_plan *, struct wf_req **);
/* Run it and give the result to the user: MPI_COMM_NULL if there is none. On
 * failure the result is destroyed; rc is the error of this process that made
 * plan->failed, or MPI_SUCCESS. */
int wf_derive_run(const struct wf_derive_plan *, int rc, MPI_Comm *newcomm);

/* Leaders of two groups exchange words over the scope's bridge and tell their
 * groups what they got: *theirs is malloc'ed. Blocking; the scope has to hold
 * all of scope.comm. Only the leader's words matter. */
int wf_bridge_swap(const struct wf_agree_scope *, const uint32_t *mine,
                   uint32_t n, uint32_t **theirs, uint32_t *their_n);

/* How two leaders reach each other; the others need only know who leads. */
struct wf_bridge {
    int leader;           /* of this group, as a rank of its communicator */
    struct wf_comm *comm; /* the leader's: where the other leader is … */
    int rank;             /* … this rank */
    int tag;
    enum wf_space space;
    uint64_t key; /* of the agreement, equal in both leaders */
    struct wf_group *others; /* the remote group, where comm holds the leaders
                                only: if one of it is gone, nobody may come */
};

/* The intercommunicator of local_comm's group and that of the other leader. */
int wf_inter_make(struct wf_comm *local_comm, const struct wf_bridge *,
                  MPI_Comm *newintercomm);

#endif
