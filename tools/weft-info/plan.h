/* A plan has the schedules of a collective on all ranks, built without a job:
 * the builders of core/coll run over simulated communicators, and no data
 * moves.
 *
 *   plan_open -> plan_build (every rank's schedule) -> plan_match -> plan_weigh
 *
 * Vertices of all ranks are numbered through: vertex i of rank r is base[r] +
 * i. weft-info --collective and tests/sim/schedules.c use plans.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include "boot/boot.h"
#include "coll/coll.h"
#include "coll/layout.h"
#include "coll/vertex.h"
#include "process/rank.h"

enum { PLAN_RANKS_MAX = 4096 };

struct plan_message {
    int from, to; /* processes */
    int send, recv; /* numbers of vertices */
};

/* The distance of a vertex from the beginning when it is complete. */
struct plan_depth {
    int rounds;     /* messages that had to be one after the other */
    uint64_t bytes; /* and on another path perhaps, most bytes */
};

struct plan {
    int ranks, left; /* left: of an intercommunicator's first group, or 0 */
    struct wf_rank rank;
    struct wf_instance *wf;
    struct wf_boot boot;
    struct wf_group groups[2];
    struct wf_comm *comms, *locals; /* [ranks] */
    struct wf_sched **scheds;       /* [ranks] */
    int *base;                      /* [ranks + 1] */
    int messages;
    struct plan_message *message;
    int *message_of;          /* of each vertex, or -1 */
    struct plan_depth *depth; /* of each vertex, after plan_weigh */
    char error[256];          /* why a step failed */
};

/* Open a plan: `nodes` nodes hold ranks in equal shares, one after the other;
 * boot.node_of may be changed before the first plan_build. rules may be
 * NULL. */
bool plan_open(struct plan *, int ranks, int left, int nodes,
               const struct wf_coll_rules *rules);
void plan_close(struct plan *);

/* Sets the arguments of a process, of which comm is set already. */
typedef void plan_args(void *user, int rank, struct wf_coll_args *);
/* Build the schedules; a repeated call replaces earlier ones. */
bool plan_build(struct plan *, wf_coll_builder *, plan_args *, void *user);
/* Match each send with its receive. Returns false if one does not fit. */
bool plan_match(struct plan *);
/* Find the depth of each vertex. Returns false if some vertex can never
 * start. */
bool plan_weigh(struct plan *);

static inline struct wf_vertex *plan_vertex(const struct plan *p, int rank,
                                            int number)
{
    return &p->scheds[rank]->v[number - p->base[rank]];
}
/* Returns the rank of a vertex. */
int plan_rank(const struct plan *, int number);

#endif
