/* Scan and exscan: distance doubling (Hillis and Steele 1986), or a chain.
 *
 * After round k, total holds ranks (r - 2^(k+1), r]; it is sent to r + 2^k and
 * the vector from r - 2^k is its lower neighbour, so order is kept.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"
#include "coll/chain.h"
#include "coll/coll.h"
#include "coll/decision.h"
#include "object/error.h"

static int copy_vector(struct wf_sched *s, const struct wf_coll_args *a,
                       const void *from, void *to)
{
    return wf_sched_copy(s, from, a->rcount, a->rtype, to, a->rcount, a->rtype);
}

/* Computes upper = lower op upper. */
static int add_reduction(struct wf_sched *s, const struct wf_coll_args *a,
                         const void *lower, void *upper)
{
    return wf_sched_reduce(s, a->op, lower, upper, a->rcount, a->rtype);
}

/* Adds the rounds. `total` is at first this rank's own vector, complete after
 * vertex `ready`. `below` is where all lower ranks together go, or NULL; if not
 * NULL, `total` is for sending only, and ends with the last send. */
static void add_rounds(struct wf_sched *s, const struct wf_coll_args *a,
                       void *total, void *below, int ready)
{
    int rank = a->comm->rank, p = a->comm->size, below_ready = -1;

    for (int d = 1; d < p; d *= 2) {
        int sent = -1, arrived, reduced = -1;
        void *theirs = below;
        if (rank + d < p) {
            sent = wf_sched_send(s, total, a->rcount, a->rtype, rank + d);
            wf_sched_after(s, sent, ready);
        }
        if (rank < d)
            continue;
        if (d > 1 || !below)
            theirs = wf_coll_alloc_temp(s, a->rcount, a->rtype);
        arrived = wf_sched_recv(s, theirs, a->rcount, a->rtype, rank - d);
        if (theirs == below) /* in place, it is also the source of total */
            wf_sched_after(s, arrived, ready);
        if (!below || rank + 2 * d < p) {
            reduced = add_reduction(s, a, theirs, total);
            wf_sched_after(s, reduced, ready);
            wf_sched_after(s, reduced, arrived);
            wf_sched_after(s, reduced, sent);
        }
        if (below && d > 1) {
            int v = add_reduction(s, a, theirs, below);
            wf_sched_after(s, v, arrived);
            wf_sched_after(s, v, below_ready);
            wf_sched_after(s, v, ready); /* the vertex that has read it */
            below_ready = v;
        } else {
            below_ready = arrived;
        }
        ready = reduced;
    }
}

static int check_args(const struct wf_coll_args *a)
{
    if (a->comm->inter)
        return wf_error(MPI_ERR_COMM, "a scan over an intercommunicator is "
                                      "not defined");
    return wf_coll_check_reduce(a, true);
}

static bool is_chain_chosen(struct wf_sched *s, const struct wf_coll_args *a)
{
    return wf_coll_choose(s, a->comm, WF_COLL_SCAN,
                          a->rcount * (uint64_t)a->rtype->size,
                          WF_ALG_ANY) == WF_ALG_CHAIN;
}

int wf_build_scan(struct wf_sched *s, const struct wf_coll_args *a)
{
    int ready = -1, rc = check_args(a);
    void *lower;

    if (rc || a->rcount == 0)
        return rc;
    if (a->sbuf != MPI_IN_PLACE)
        ready = copy_vector(s, a, a->sbuf, a->rbuf);
    if (!is_chain_chosen(s, a)) {
        add_rounds(s, a, a->rbuf, NULL, ready);
        return MPI_SUCCESS;
    }
    lower = wf_coll_alloc_temp(s, a->rcount, a->rtype);
    wf_sched_fence(s);
    if (lower)
        wf_coll_scan_chain(s, a, lower, a->rbuf);
    return MPI_SUCCESS;
}

int wf_build_exscan(struct wf_sched *s, const struct wf_coll_args *a)
{
    int rc = check_args(a), ready = -1, rank = a->comm->rank;
    void *total =
        (void *)(uintptr_t)(a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf);
    bool chain;

    if (rc || a->rcount == 0)
        return rc;
    chain = is_chain_chosen(s, a);
    if (chain || (rank > 0 && rank + 1 < a->comm->size)) {
        const void *own = total;
        total = wf_coll_alloc_temp(s, a->rcount, a->rtype);
        ready = copy_vector(s, a, own, total);
    }
    if (!chain) {
        add_rounds(s, a, total, a->rbuf, ready);
        return MPI_SUCCESS;
    }
    wf_sched_fence(s);
    if (total)
        wf_coll_scan_chain(s, a, a->rbuf, total);
    return MPI_SUCCESS;
}
