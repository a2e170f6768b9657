/* A communicator is derived from another in two steps: its object is made
 * first, then its members agree on its context id, which may go on in the
 * background.
 *
 * Every member takes part in the agreement, also one that gets no communicator
 * and one that met an error: then the call fails in all members, and none waits
 * for a message that never comes.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DERIVE_H
#define WF_DERIVE_H

#include "comm/agree.h"
#include "config/select.h"

/* A plan says how a communicator is derived, as far as this member knows. */
struct wf_derive_plan {
    struct wf_comm *parent;
    struct wf_comm *result; /* without a context id; NULL: not a member */
    bool inter;             /* kind of the result; equal in all members */
    bool failed;            /* this process met an error */
    struct wf_agree_scope scope;
    uint64_t key;    /* order among concurrent allocations: context.h */
    uint32_t *hint;  /* NULL: the search starts where key says */
    bool *exhausted; /* set if no context id is left; or NULL */
    /* Set to a channel that the members have taken, or negative; NULL: the
     * communicator is to have none. */
    int *channel;
};

/* Fills in a plan for a collective operation over all members of parent. */
void wf_derive_init_plan(struct wf_derive_plan *, struct wf_comm *parent);

/* Starts the agreement; scope.ranks must live until it has ended. */
int wf_derive_start(const struct wf_derive_plan *, struct wf_req **);
/* Runs the agreement and gives the result to the user: MPI_COMM_NULL if there
 * is none. On failure the result is destroyed; rc is the error of this process
 * that set plan->failed, or MPI_SUCCESS. */
int wf_derive_run(const struct wf_derive_plan *, int rc, MPI_Comm *newcomm);

/* Makes a communicator with the members of another for a window or a file. Its
 * messages are of that kind, and routes know it by the name of the other. rc:
 * the error of this process, or MPI_SUCCESS; on failure *out is NULL in all
 * members. */
int wf_derive_create_private(struct wf_comm *over, enum wf_route_kind, int rc,
                             struct wf_comm **out);

/* Destroys a communicator that the user is not to get after all, from inside
 * the section of its engine. */
void wf_derive_discard(struct wf_comm *);

/* Exchanges words between the leaders of two groups over the scope's bridge;
 * each then broadcasts to its group the words that it received: *theirs is
 * malloc'ed. The call blocks, and the scope must contain all of scope.comm.
 * Only the leader's words matter. */
int wf_bridge_exchange_words(const struct wf_agree_scope *,
                             const uint32_t *mine, uint32_t n,
                             uint32_t **theirs, uint32_t *their_n);

/* Sends n elements to the other leader and receives their_n. Runs inside the
 * section of the bridge's engine. */
int wf_bridge_swap(const struct wf_agree_scope *, struct wf_type *,
                   const void *mine, size_t n, void *theirs, size_t their_n);

/* A bridge says how two leaders reach each other; other members only need to
 * know the leader. */
struct wf_bridge {
    int leader;           /* rank of this group's leader in its communicator */
    struct wf_comm *comm; /* leader only: comm that the other leader is in */
    int rank;             /* rank of the other leader there */
    int tag;
    enum wf_space space;
    uint64_t key;            /* key of the agreement, equal in both leaders */
    struct wf_group *others; /* the remote group, if comm has only the
                                leaders: when a process of it is dead, the
                                other leader may never come */
};

#endif
