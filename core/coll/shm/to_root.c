/* Shared-memory collectives to a root: reduce and gather.
 *
 * A short contribution is written, and its member goes on. A member that wants
 * a schedule says so and waits for the root's line. The root waits for all
 * lines:
 *
 *     none wants one     it reads the contributions
 *     all do, as it does its line says so, too
 *     else               its line does not; these members fail
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"
#include "coll/shm/fold.h"
#include "coll/shm/large.h"
#include "coll/shm/large_fold.h"
#include "coll/shm/parts.h"
#include "coll/shm/staging.h"
#include "report/error.h"

enum {
    BY_SCHEDULE = WF_SHMCOLL_RUN_SCHEDULE,
    MIXED = WF_SHMCOLL_WAYS_DIFFER,
    BY_STAGE = WF_SHMCOLL_RUN_STAGED
};

/* Returns what the ways of all members lead to: MIXED if one wants none, or if
 * chunks would not fit; a schedule if one wants that. */
static WF_COLD int agree_on_way(struct wf_shmcoll *t, uint32_t way,
                                uint64_t bytes)
{
    uint64_t all = WF_SHMCOLL_FLAG_STAGED & way;
    bool fit = true;

    if (!way)
        return MIXED;
    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        uint64_t word = wf_load_relaxed(&wf_shmcoll_line(t, r)->flag);

        if (!(word & (WF_SHMCOLL_FLAG_SCHEDULE | WF_SHMCOLL_FLAG_STAGED)))
            return MIXED;
        all &= word;
        fit &= wf_staging_bytes_of(t, r, word) == bytes;
    }
    if (!all)
        return BY_SCHEDULE;
    return fit ? BY_STAGE : MIXED;
}

/* Waits for the lines of all, at the root, which wants this way itself. Returns
 * 0 if no member wants a way, BY_SCHEDULE or BY_STAGE if all do, MIXED, or an
 * error. */
static int wait_all_lines(struct wf_shmcoll *t, uint32_t way, uint64_t bytes)
{
    uint64_t any = way, word;
    int rc = MPI_SUCCESS;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank && !rc;
         r = wf_shmcoll_next_rank(t, r)) {
        rc = wf_shmcoll_wait_flag(t, r, &word);
        any |= word;
    }
    if (wf_likely(!rc)) {
        t->all_completed_call = t->call - 1;
        if (wf_likely(
                !(any & (WF_SHMCOLL_FLAG_SCHEDULE | WF_SHMCOLL_FLAG_STAGED))))
            return MPI_SUCCESS;
        rc = agree_on_way(t, way, bytes);
    }
    wf_shmcoll_publish_flag(t, 0,
                            rc == BY_SCHEDULE ? WF_SHMCOLL_FLAG_SCHEDULE
                            : rc == BY_STAGE  ? WF_SHMCOLL_FLAG_STAGED
                                              : 0);
    return rc;
}

static uint64_t contributed_bytes(struct wf_shmcoll *t, int rank)
{
    return wf_staging_bytes_of(
        t, rank, wf_load_relaxed(&wf_shmcoll_line(t, rank)->flag));
}

/* Returns the error of members that want different ways. */
static WF_COLD int report_mismatch(struct wf_shmcoll *t, uint64_t bytes)
{
    int rc = MPI_SUCCESS;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank && !rc;
         r = wf_shmcoll_next_rank(t, r))
        rc = wf_shmcoll_check_length(r, contributed_bytes(t, r), bytes);
    return rc ? rc
              : wf_error(MPI_ERR_COUNT, "ranks call this collective with "
                                        "different counts or types");
}

/* Asks the root, in another member that wants this way, whether all do. */
static WF_COLD int ask_root(wf_coll_builder *builder,
                            const struct wf_coll_args *a, uint64_t bytes,
                            uint32_t way, wf_shmcoll_collective *large)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t word;
    int rc;

    wf_shmcoll_begin_call(t, 0);
    wf_staging_publish_call(t, bytes, way);
    rc = wf_shmcoll_wait_flag(t, a->root, &word);
    if (!rc && wf_shmcoll_wants_schedule(word))
        return wf_shmcoll_run_schedule(t, builder, a);
    if (!rc && word & WF_SHMCOLL_FLAG_STAGED)
        return large(builder, a);
    wf_shmcoll_complete_call(t);
    return rc ? rc
              : wf_error(MPI_ERR_TRUNCATE,
                         "this rank contributes %llu bytes, "
                         "another rank a different number",
                         (unsigned long long)bytes);
}

/* ---- reduce -------------------------------------------------------------- */

static bool is_plain_reduce(const struct wf_coll_args *a)
{
    return wf_shmcoll_is_root_valid(a) && a->op->predefined &&
           wf_type_is_contiguous(a->rtype) && !wf_op_check(a->op, a->rtype) &&
           (wf_shmcoll_is_root(a)
                ? a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf
                : a->sbuf != MPI_IN_PLACE);
}

/* Finds the root's operand. In place it is a copy, because the result goes to
 * its place. */
static int find_own_operand(struct wf_shmcoll *t, const struct wf_coll_args *a,
                            uint64_t bytes, const void **own)
{
    *own = wf_type_data(a->rtype, a->sbuf);
    if (a->sbuf != MPI_IN_PLACE)
        return MPI_SUCCESS;
    *own = wf_shmcoll_data_of(t, t->rank, bytes);
    return wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, t->rank, bytes),
                                    a->rbuf, a->rcount, a->rtype);
}

static int fold_at_root(struct wf_shmcoll *t, const struct wf_coll_args *a,
                        uint64_t bytes)
{
    const void *own, *from[WF_SHMCOLL_RANKS_MAX];
    struct wf_shmcoll_fold f = {.a = a,
                                .count = a->rcount,
                                .operands = from,
                                .out = wf_type_data(a->rtype, a->rbuf),
                                .first_rank = a->root};
    int rc = find_own_operand(t, a, bytes, &own);

    wf_shmcoll_find_operands(t, bytes, own, from);
    return rc ? rc : wf_shmcoll_fold(t, &f);
}

static int reduce_at_root(struct wf_shmcoll *t, wf_coll_builder *builder,
                          const struct wf_coll_args *a, uint32_t way)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool in_place = a->sbuf == MPI_IN_PLACE;
    int rc;

    wf_shmcoll_begin_call(t, in_place && !way ? bytes : 0);
    rc = wait_all_lines(t, way, bytes);
    if (rc == BY_SCHEDULE)
        return wf_shmcoll_run_schedule(t, builder, a);
    if (rc == BY_STAGE)
        return wf_staging_reduce(builder, a);
    if (rc == MIXED)
        rc = report_mismatch(t, bytes);
    for (int r = 0; r < t->size && !rc; r++)
        if (r != t->rank)
            rc = wf_shmcoll_check_length(r, contributed_bytes(t, r), bytes);
    if (wf_likely(!rc))
        rc = fold_at_root(t, a, bytes);
    wf_shmcoll_complete_call(t);
    return rc;
}

static uint32_t choose_reduce_way(const struct wf_shmcoll *t,
                                  const struct wf_coll_args *a, uint64_t bytes)
{
    if (!a->op->predefined || !wf_type_is_contiguous(a->rtype))
        return WF_SHMCOLL_FLAG_SCHEDULE;
    if (bytes <= t->block_bytes)
        return 0;
    return t->size > 2 && wf_staging_can_reduce(a, WF_COLL_REDUCE, bytes)
               ? wf_staging_choose_way(t)
               : WF_SHMCOLL_FLAG_SCHEDULE;
}

int wf_shmcoll_reduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool plain = is_plain_reduce(a);
    uint32_t way;
    int rc;

    if (wf_unlikely(!plain) && (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    way = choose_reduce_way(t, a, bytes);
    if (wf_shmcoll_is_root(a))
        return reduce_at_root(t, builder, a, way);
    if (way)
        return ask_root(builder, a, bytes, way, wf_staging_reduce);
    return wf_shmcoll_contribute_elements(a, a->sbuf, a->rcount, a->rtype);
}

/* ---- gather -------------------------------------------------------------- */

static bool is_plain_gather(const struct wf_coll_args *a)
{
    if (!wf_shmcoll_is_root_valid(a))
        return false;
    if (!wf_shmcoll_is_root(a))
        return a->stype && a->sbuf != MPI_IN_PLACE;
    return a->rtype && a->rbuf != MPI_IN_PLACE && !a->rcounts.base &&
           (a->sbuf == MPI_IN_PLACE || (a->stype && a->sbuf != a->rbuf &&
                                        a->sbuf != wf_coll_rblock(a, a->root)));
}

/* Unpacks that member's contribution to its block of the receive buffer. */
static int unpack_from(struct wf_shmcoll *t, const struct wf_coll_args *a,
                       int r)
{
    uint64_t bytes = wf_coll_rbytes(a, r);
    int rc = wf_shmcoll_check_length(r, contributed_bytes(t, r), bytes);

    return rc ? rc
              : wf_shmcoll_unpack_elements(wf_shmcoll_data_of(t, r, bytes),
                                           wf_coll_rblock(a, r),
                                           wf_coll_rcount(a, r), a->rtype);
}

static int gather_at_root(struct wf_shmcoll *t, wf_coll_builder *builder,
                          const struct wf_coll_args *a, uint64_t bytes,
                          uint32_t way)
{
    int rc, met;

    wf_shmcoll_begin_call(t, 0);
    met = wait_all_lines(t, way, bytes);
    if (met == BY_SCHEDULE)
        return wf_shmcoll_run_schedule(t, builder, a);
    if (met == BY_STAGE) {
        if (a->sbuf == MPI_IN_PLACE)
            return wf_staging_gather(builder, a);
        rc = wf_shmcoll_copy_own_block(wf_shmcoll_sent_block(a),
                                       wf_coll_recv_block(a, a->root));
        met = wf_staging_gather(builder, a);
        return rc ? rc : met;
    }
    rc = met == MIXED ? report_mismatch(t, bytes) : met;
    if (wf_likely(!rc) && a->sbuf != MPI_IN_PLACE)
        rc = wf_shmcoll_copy_own_block(wf_shmcoll_sent_block(a),
                                       wf_coll_recv_block(a, a->root));
    for (int r = 0; r < t->size && !met; r++)
        if (r != t->rank)
            wf_shmcoll_keep_first_error(&rc, unpack_from(t, a, r));
    wf_shmcoll_complete_call(t);
    return rc;
}

int wf_shmcoll_gather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes;
    uint32_t way = 0;
    int rc;

    if (wf_unlikely(!is_plain_gather(a)) &&
        (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    bytes = wf_shmcoll_is_root(a) ? a->rcount * (uint64_t)a->rtype->size
                                  : a->scount * (uint64_t)a->stype->size;
    if (bytes > t->block_bytes)
        way = t->size > 2 && !t->one_copy ? wf_staging_choose_way(t)
                                          : WF_SHMCOLL_FLAG_SCHEDULE;
    if (wf_shmcoll_is_root(a))
        return gather_at_root(t, builder, a, bytes, way);
    if (way)
        return ask_root(builder, a, bytes, way, wf_staging_gather);
    return wf_shmcoll_contribute_elements(a, a->sbuf, a->scount, a->stype);
}
