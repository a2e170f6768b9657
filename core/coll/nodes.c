/* Collectives in two levels: inside every node, and between one rank of each,
 * its leader. Data goes between nodes once per node.
 *
 *   nodes      0 1 2 3 | 4 5 6 7 | 8 9         leaders 0, 4 and 8
 *   allreduce  reduce to 0, to 4, to 8; allreduce of 0 4 8; bcast from each
 *
 * DESIGN  Each level is the collective itself over fewer ranks, chosen by the
 * same rules: builders see a communicator of that size, and the schedule
 * translates the ranks they name (wf_sched_map_ranks). A root is the leader of
 * its node. Ranks keep their order in both levels; where the members of nodes
 * follow each other, so do the operands of a reduction.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/nodes.h"

#include "coll/allgather.h"
#include "coll/allreduce.h"
#include "coll/args.h"
#include "coll/barrier.h"
#include "coll/bcast.h"
#include "coll/coll.h"
#include "coll/gather.h"
#include "coll/layout.h"
#include "coll/reduce.h"

/* The ranks of one level, as a communicator for builders. */
struct level {
    struct wf_comm g;      /* rank -1: this process is not in it */
    struct wf_group group; /* of g: only its size is used */
    const int *ranks;      /* in the whole communicator */
};

/* Both levels, seen from this process. */
struct levels {
    struct wf_sched *s;
    const struct wf_layout *l;
    struct level here, leaders;
    int leader; /* of this node, as a rank of `here` */
    int top;    /* the node of the root, as a rank of `leaders` */
};

static void init_level(struct level *v, const struct wf_comm *comm,
                       const int *ranks, int n)
{
    v->group = (struct wf_group){.size = n, .stride = 1};
    v->g = (struct wf_comm){.wf = comm->wf,
                            .size = n,
                            .rank = -1,
                            .local = &v->group,
                            .peers = &v->group};
    wf_layout_set_single_node(&v->g);
    v->ranks = ranks;
    for (int i = 0; i < n; i++)
        if (ranks[i] == comm->rank)
            v->g.rank = i;
}

/* `root` -1: there is no root. */
static bool init_levels(struct levels *v, struct wf_sched *s,
                        struct wf_comm *comm, int root)
{
    const struct wf_layout *l = wf_layout_of(comm);
    int *leaders =
        l ? wf_sched_alloc_temp(s, (size_t)l->nodes * sizeof *leaders) : NULL;
    int first, n;

    if (!leaders)
        return false;
    v->s = s;
    v->l = l;
    v->top = v->leader = 0;
    for (int k = 0; k < l->nodes; k++) {
        leaders[k] = l->members[l->first[k]];
        for (int i = l->first[k]; i < l->first[k + 1]; i++)
            if (l->members[i] == root) {
                leaders[k] = root;
                v->top = k;
            }
    }
    first = l->first[l->mine];
    n = l->first[l->mine + 1] - first;
    init_level(&v->leaders, comm, leaders, l->nodes);
    init_level(&v->here, comm, l->members + first, n);
    while (v->here.ranks[v->leader] != leaders[l->mine])
        v->leader++;
    return true;
}

static bool is_leader(const struct levels *v)
{
    return v->leaders.g.rank >= 0;
}

/* Makes the vertices built until the next call be among the ranks of this
 * level, after everything before. */
static struct wf_comm *enter_level(struct levels *v, struct level *level)
{
    wf_sched_fence(v->s);
    wf_sched_map_ranks(v->s, level->ranks);
    return &level->g;
}

static void leave_levels(struct levels *v)
{
    wf_sched_map_ranks(v->s, NULL);
}

/* ---- barrier, bcast ------------------------------------------------------ */

void wf_coll_barrier_nodes(struct wf_sched *s, struct wf_comm *comm)
{
    struct levels v;

    if (!init_levels(&v, s, comm, -1))
        return;
    enter_level(&v, &v.here);
    wf_coll_signal_up(s, &v.here.g);
    if (is_leader(&v))
        wf_coll_disseminate(s, enter_level(&v, &v.leaders));
    enter_level(&v, &v.here);
    wf_coll_signal_down(s, &v.here.g);
    leave_levels(&v);
}

static void bcast_in_node(struct levels *v, struct wf_coll_args a)
{
    a.comm = enter_level(v, &v->here);
    a.root = v->leader;
    wf_coll_bcast(v->s, &a);
}

void wf_coll_bcast_nodes(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;

    if (!init_levels(&v, s, given->comm, given->root))
        return;
    if (is_leader(&v)) {
        a.comm = enter_level(&v, &v.leaders);
        a.root = v.top;
        wf_coll_bcast(s, &a);
    }
    bcast_in_node(&v, *given);
    leave_levels(&v);
}

/* ---- reductions ---------------------------------------------------------- */

/* Reduces the operands of this node into `sum` of its leader. */
static void reduce_in_node(struct levels *v, struct wf_coll_args a, void *sum)
{
    if (is_leader(v))
        a.rbuf = sum;
    a.comm = enter_level(v, &v->here);
    a.root = v->leader;
    wf_coll_reduce(v->s, &a);
}

void wf_coll_reduce_nodes(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;
    void *sum = given->rbuf;

    if (!init_levels(&v, s, given->comm, given->root))
        return;
    if (is_leader(&v) && given->comm->rank != given->root)
        sum = wf_coll_alloc_temp(s, a.rcount, a.rtype);
    reduce_in_node(&v, a, sum);
    if (is_leader(&v)) {
        a.comm = enter_level(&v, &v.leaders);
        a.root = v.top;
        a.sbuf = given->comm->rank == given->root ? MPI_IN_PLACE : sum;
        a.rbuf = given->comm->rank == given->root ? sum : NULL;
        wf_coll_reduce(s, &a);
    }
    leave_levels(&v);
}

void wf_coll_allreduce_nodes(struct wf_sched *s,
                             const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;

    if (!init_levels(&v, s, given->comm, -1))
        return;
    reduce_in_node(&v, a, a.rbuf);
    if (is_leader(&v)) {
        a.comm = enter_level(&v, &v.leaders);
        a.sbuf = MPI_IN_PLACE;
        wf_coll_allreduce(s, &a);
    }
    bcast_in_node(&v, *given);
    leave_levels(&v);
}

/* ---- allgather: equal blocks, and nodes one after the other -------------- */

static void gather_in_node(struct levels *v, struct wf_coll_args a)
{
    int own = a.comm->rank;

    if (a.sbuf == MPI_IN_PLACE && !is_leader(v)) {
        a.sbuf = wf_coll_rblock(&a, own);
        a.scount = a.rcount;
        a.stype = a.rtype;
    }
    a.rbuf = wf_coll_rblock(&a, v->here.ranks[0]);
    a.comm = enter_level(v, &v->here);
    a.root = v->leader;
    wf_coll_gather(v->s, &a, a.rcount * (uint64_t)a.rtype->size);
}

static void allgather_leaders(struct levels *v, struct wf_coll_args a)
{
    int n = v->l->nodes;
    int64_t *counts = wf_sched_alloc_temp(v->s, 2 * sizeof *counts * (size_t)n);
    int64_t *displs = counts + n;

    if (!counts)
        return;
    for (int k = 0; k < n; k++) {
        int members = v->l->first[k + 1] - v->l->first[k];
        counts[k] = members * (int64_t)a.rcount;
        displs[k] = v->l->first[k] * (int64_t)a.rcount;
    }
    a.sbuf = MPI_IN_PLACE;
    a.rcounts = (struct wf_ints){counts, sizeof *counts};
    a.rdispls = (struct wf_ints){displs, sizeof *displs};
    a.comm = enter_level(v, &v->leaders);
    wf_coll_allgather(v->s, &a);
}

void wf_coll_allgather_nodes(struct wf_sched *s,
                             const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;

    if (!init_levels(&v, s, given->comm, -1))
        return;
    gather_in_node(&v, a);
    if (is_leader(&v))
        allgather_leaders(&v, a);
    a.rcount *= (uint64_t)given->comm->size;
    bcast_in_node(&v, a);
    leave_levels(&v);
}
