/* Collectives in two levels: inside every node, and between one rank of each,
 * its leader. Data goes between nodes once per node.
 *
 *   nodes      0 1 2 3 | 4 5 6 7 | 8 9         leaders 0, 4 and 8
 *   allreduce  reduce to 0, to 4, to 8; allreduce of 0 4 8; bcast from each
 *
 * DESIGN  Each level is the collective itself over fewer ranks, chosen by the
 * same rules: builders see a communicator of that size, and the schedule
 * translates the ranks they name (wf_sched_map). A root is the leader of its
 * node. Ranks keep their order in both levels; where the members of nodes
 * follow each other, so do the operands of a reduction.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/coll.h"
#include "coll/layout.h"

/* The ranks of one level, as a communicator for builders. */
struct level {
    struct wf_comm g; /* rank -1: this process is not in it */
    struct wf_group group; /* of g: only its size is used */
    const int *ranks; /* in the whole communicator */
};

struct levels {
    struct wf_sched *s;
    const struct wf_layout *l;
    struct level here, leaders;
    int leader; /* of this node, as a rank of `here` */
    int top;    /* the node of the root, as a rank of `leaders` */
};

static void level_init(struct level *v, const struct wf_comm *comm,
                       const int *ranks, int n)
{
    v->group = (struct wf_group){.size = n, .stride = 1};
    v->g = (struct wf_comm){.wf = comm->wf, .size = n, .rank = -1,
                            .local = &v->group, .peers = &v->group};
    wf_layout_single(&v->g);
    v->ranks = ranks;
    for (int i = 0; i < n; i++)
        if (ranks[i] == comm->rank)
            v->g.rank = i;
}

/* root -1: there is none. */
static bool levels_init(struct levels *v, struct wf_sched *s,
                        struct wf_comm *comm, int root)
{
    const struct wf_layout *l = wf_layout_of(comm);
    int *leaders = l ? wf_sched_temp(s, (size_t)l->nodes * sizeof *leaders)
                     : NULL;
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
    level_init(&v->leaders, comm, leaders, l->nodes);
    level_init(&v->here, comm, l->members + first, n);
    while (v->here.ranks[v->leader] != leaders[l->mine])
        v->leader++;
    return true;
}

static bool leads(const struct levels *v)
{
    return v->leaders.g.rank >= 0;
}

/* Makes the vertices built until the next call be among the ranks of this
 * level, after everything before. */
static struct wf_comm *enter(struct levels *v, struct level *level)
{
    wf_sched_fence(v->s);
    wf_sched_map(v->s, level->ranks);
    return &level->g;
}

static void leave(struct levels *v)
{
    wf_sched_map(v->s, NULL);
}

/* ---- barrier, bcast ------------------------------------------------------- */

void wf_coll_barrier_nodes(struct wf_sched *s, struct wf_comm *comm)
{
    struct levels v;

    if (!levels_init(&v, s, comm, -1))
        return;
    enter(&v, &v.here);
    wf_coll_signal_up(s, &v.here.g);
    if (leads(&v))
        wf_coll_disseminate(s, enter(&v, &v.leaders));
    enter(&v, &v.here);
    wf_coll_signal_down(s, &v.here.g);
    leave(&v);
}

static void bcast_here(struct levels *v, struct wf_coll_args a)
{
    a.comm = enter(v, &v->here);
    a.root = v->leader;
    wf_coll_bcast(v->s, &a);
}

void wf_coll_bcast_nodes(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;

    if (!levels_init(&v, s, given->comm, given->root))
        return;
    if (leads(&v)) {
        a.comm = enter(&v, &v.leaders);
        a.root = v.top;
        wf_coll_bcast(s, &a);
    }
    bcast_here(&v, *given);
    leave(&v);
}

/* ---- reductions ----------------------------------------------------------- */

/* Reduces the operands of this node into `sum` of its leader. */
static void reduce_here(struct levels *v, struct wf_coll_args a, void *sum)
{
    if (leads(v))
        a.rbuf = sum;
    a.comm = enter(v, &v->here);
    a.root = v->leader;
    wf_coll_reduce(v->s, &a);
}

void wf_coll_reduce_nodes(struct wf_sched *s, const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;
    void *sum = given->rbuf;

    if (!levels_init(&v, s, given->comm, given->root))
        return;
    if (leads(&v) && given->comm->rank != given->root)
        sum = wf_coll_temp(s, a.rcount, a.rtype);
    reduce_here(&v, a, sum);
    if (leads(&v)) {
        a.comm = enter(&v, &v.leaders);
        a.root = v.top;
        a.sbuf = given->comm->rank == given->root ? MPI_IN_PLACE : sum;
        a.rbuf = given->comm->rank == given->root ? sum : NULL;
        wf_coll_reduce(s, &a);
    }
    leave(&v);
}

void wf_coll_allreduce_nodes(struct wf_sched *s,
                             const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;

    if (!levels_init(&v, s, given->comm, -1))
        return;
    reduce_here(&v, a, a.rbuf);
    if (leads(&v)) {
        a.comm = enter(&v, &v.leaders);
        a.sbuf = MPI_IN_PLACE;
        wf_coll_allreduce(s, &a);
    }
    bcast_here(&v, *given);
    leave(&v);
}

/* ---- allgather: equal blocks, and nodes one after the other --------------- */

static void gather_here(struct levels *v, struct wf_coll_args a)
{
    int own = a.comm->rank;

    if (a.sbuf == MPI_IN_PLACE && !leads(v)) {
        a.sbuf = wf_coll_rblock(&a, own);
        a.scount = a.rcount;
        a.stype = a.rtype;
    }
    a.rbuf = wf_coll_rblock(&a, v->here.ranks[0]);
    a.comm = enter(v, &v->here);
    a.root = v->leader;
    wf_coll_gather(v->s, &a, a.rcount * (uint64_t)a.rtype->size);
}

static void exchange_nodes(struct levels *v, struct wf_coll_args a)
{
    int n = v->l->nodes;
    int64_t *counts = wf_sched_temp(v->s, 2 * sizeof *counts * (size_t)n);
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
    a.comm = enter(v, &v->leaders);
    wf_coll_allgather(v->s, &a);
}

void wf_coll_allgather_nodes(struct wf_sched *s,
                             const struct wf_coll_args *given)
{
    struct wf_coll_args a = *given;
    struct levels v;

    if (!levels_init(&v, s, given->comm, -1))
        return;
    gather_here(&v, a);
    if (leads(&v))
        exchange_nodes(&v, a);
    a.rcount *= (uint64_t)given->comm->size;
    bcast_here(&v, a);
    leave(&v);
}
