/* Arguments of collectives: the checks that only a collective can make, and the
 * three ways to run a builder.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"

#include "coll/coll.h"
#include "coll/run.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/helper.h"
#include "protocol/helper_requests.h"

/* ---- running ------------------------------------------------------------- */

int wf_coll_build(wf_coll_builder *builder, const struct wf_coll_args *a,
                  bool direct, struct wf_sched **out)
{
    struct wf_sched *s = wf_sched_create(a->comm);
    int rc;

    if (!s)
        return wf_error(MPI_ERR_NO_MEM,
                        "out of memory for a collective operation");
    if (direct)
        wf_sched_begin_direct(s);
    rc = builder(s, a);
    if (wf_unlikely(rc)) {
        wf_sched_abandon(s);
        return rc;
    }
    *out = s;
    return MPI_SUCCESS;
}

int wf_coll_run_blocking(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_sched *s;
    int rc = wf_coll_build(builder, a, true, &s);

    return rc ? rc : wf_sched_run(s);
}

int wf_coll_start_nonblocking(wf_coll_builder *builder,
                              const struct wf_coll_args *a,
                              MPI_Request *request)
{
    struct wf_sched *s;
    struct wf_req *r;
    /* Where ranks outnumber CPUs a poll for an awaited message is useless. */
    bool direct = !wf_progress_is_oversubscribed(a->comm->wf);
    int rc = wf_coll_build(builder, a, direct, &s);

    if (rc)
        return rc;
    rc = wf_sched_start(s, &r);
    if (!rc) {
        *request = (MPI_Request)r;
        wf_register_with_helper(r);
    }
    return rc;
}

int wf_coll_make_persistent(wf_coll_builder *builder,
                            const struct wf_coll_args *a, MPI_Request *request)
{
    struct wf_sched *s;
    struct wf_req *r;
    int rc = wf_coll_build(builder, a, false, &s);

    if (rc)
        return rc;
    rc = wf_sched_make_persistent(s, &r);
    if (!rc)
        *request = (MPI_Request)r;
    return rc;
}

/* ---- checks -------------------------------------------------------------- */

int wf_coll_check_root(const struct wf_coll_args *a)
{
    int n = a->comm->peers->size;

    if (a->comm->inter && (a->root == MPI_ROOT || a->root == MPI_PROC_NULL))
        return MPI_SUCCESS;
    if (a->root >= 0 && a->root < n)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ROOT, "root %d is not a rank of the %s (0..%d)",
                    a->root, a->comm->inter ? "remote group" : "communicator",
                    n - 1);
}

static int check_count_and_type(uint64_t count, const struct wf_type *type,
                                const char *what)
{
    if (!type)
        return wf_error(MPI_ERR_TYPE, "the %s type is not a datatype", what);
    if ((int64_t)count < 0)
        return wf_error(MPI_ERR_COUNT, "the %s count %lld is negative", what,
                        (long long)count);
    return MPI_SUCCESS;
}

int wf_coll_check_send(const struct wf_coll_args *a)
{
    return check_count_and_type(a->scount, a->stype, "send");
}

int wf_coll_check_recv(const struct wf_coll_args *a)
{
    return check_count_and_type(a->rcount, a->rtype, "receive");
}

int wf_coll_check_counts(struct wf_ints counts, int n, const char *what)
{
    if (!counts.base)
        return wf_error(MPI_ERR_ARG, "the array of %s counts is NULL", what);
    for (int i = 0; i < n; i++)
        if (wf_int_at(counts, (size_t)i) < 0)
            return wf_error(MPI_ERR_COUNT,
                            "%s count %lld of rank %d is "
                            "negative",
                            what, (long long)wf_int_at(counts, (size_t)i), i);
    return MPI_SUCCESS;
}

int wf_coll_check_in_place(const struct wf_coll_args *a, bool allowed)
{
    if (a->rbuf == MPI_IN_PLACE)
        return wf_error(MPI_ERR_BUFFER,
                        "MPI_IN_PLACE cannot be the receive buffer here");
    if (a->sbuf != MPI_IN_PLACE)
        return MPI_SUCCESS;
    if (a->comm->inter)
        return wf_error(MPI_ERR_BUFFER,
                        "MPI_IN_PLACE is not for intercommunicators");
    if (!allowed)
        return wf_error(MPI_ERR_BUFFER,
                        "MPI_IN_PLACE cannot be the send buffer here");
    return MPI_SUCCESS;
}

/* MPI-5.0 s6.2.2: buffers of one collective call must not overlap. The case
 * that users write by mistake is the same address; with displacements only the
 * place of the own block says something. One address with two types may be
 * disjoint memory: every other element, or MPI_BOTTOM. */
int wf_coll_check_alias(const struct wf_coll_args *a, const void *own)
{
    const char *from;

    if (!a->sbuf || a->sbuf == MPI_IN_PLACE || !a->scount || !a->stype ||
        !a->stype->size || !a->rtype)
        return MPI_SUCCESS;
    from = wf_type_data(a->stype, a->sbuf);
    if ((own && from == wf_type_data(a->rtype, own)) ||
        (!a->rdispls.base && from == wf_type_data(a->rtype, a->rbuf)))
        return wf_error(MPI_ERR_BUFFER,
                        "send and receive buffer are the same memory (%p); "
                        "use MPI_IN_PLACE",
                        a->sbuf);
    return MPI_SUCCESS;
}

int wf_coll_check_reduce(const struct wf_coll_args *a, bool in_place_allowed)
{
    struct wf_coll_args as_sent = *a;
    int rc;

    as_sent.scount = a->rcount;
    as_sent.stype = a->rtype;
    if ((rc = wf_coll_check_recv(a)))
        return rc;
    if ((rc = wf_op_check(a->op, a->rtype, a->comm->wf)))
        return rc;
    if ((rc = wf_coll_check_in_place(a, in_place_allowed)))
        return rc;
    return wf_coll_check_alias(&as_sent, a->rbuf);
}

/* ---- blocks -------------------------------------------------------------- */

static void *address_at(const void *buf, struct wf_ints displs, int i)
{
    return (void *)((uintptr_t)buf + (uintptr_t)wf_int_at(displs, (size_t)i));
}

struct wf_coll_block wf_coll_recv_block(const struct wf_coll_args *a, int i)
{
    if (!a->rtypes)
        return (struct wf_coll_block){wf_coll_rblock(a, i),
                                      wf_coll_rcount(a, i), a->rtype};
    return (struct wf_coll_block){address_at(a->rbuf, a->rdispls, i),
                                  wf_coll_rcount(a, i),
                                  wf_type_of(a->rtypes[i])};
}

struct wf_coll_block wf_coll_send_block(const struct wf_coll_args *a, int i)
{
    if (!a->stypes)
        return (struct wf_coll_block){wf_coll_sblock(a, i),
                                      wf_coll_scount(a, i), a->stype};
    return (struct wf_coll_block){address_at(a->sbuf, a->sdispls, i),
                                  wf_coll_scount(a, i),
                                  wf_type_of(a->stypes[i])};
}

/* ---- memory -------------------------------------------------------------- */

struct wf_type *wf_coll_byte(void)
{
    return wf_type_of(MPI_BYTE);
}

void *wf_coll_alloc_temp(struct wf_sched *s, uint64_t count,
                         const struct wf_type *t)
{
    int64_t stride = count ? (int64_t)(count - 1) * t->extent : 0;
    int64_t low = t->true_lb + (stride < 0 ? stride : 0);
    int64_t span = t->true_extent + (stride < 0 ? -stride : stride);
    char *p = wf_sched_alloc_temp(s, (size_t)span);

    return p ? (char *)((uintptr_t)p - (uintptr_t)low) : NULL;
}

bool wf_coll_split_vector(struct wf_sched *s, const struct wf_comm *g,
                          struct wf_coll_args *a)
{
    int64_t *counts =
        wf_sched_alloc_temp(s, 2 * sizeof *counts * (size_t)g->size);
    int64_t *displs = counts + g->size;
    int64_t size = (int64_t)a->rcount / g->size;
    int64_t larger = (int64_t)a->rcount % g->size, at = 0;

    if (!counts)
        return false;
    for (int i = 0; i < g->size; i++) {
        counts[i] = size + (i < larger);
        displs[i] = at;
        at += counts[i];
    }
    a->rcounts = (struct wf_ints){counts, sizeof *counts};
    a->rdispls = (struct wf_ints){displs, sizeof *displs};
    return true;
}
