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
#include "coll/team_stage.h"

enum {
    BY_SCHEDULE = WF_TEAM_BY_SCHEDULE,
    MIXED = WF_TEAM_MIXED,
    BY_STAGE = WF_TEAM_BY_STAGE
};

/* Returns what the ways of all members lead to: MIXED if one wants none, or if
 * chunks would not fit; a schedule if one wants that. */
static WF_COLD int agree_on_way(struct wf_team *t, uint32_t way, uint64_t bytes)
{
    uint64_t all = WF_TEAM_STAGED & way;
    bool fit = true;

    if (!way)
        return MIXED;
    for (int r = wf_team_after(t, t->rank); r != t->rank;
         r = wf_team_after(t, r)) {
        uint64_t word = wf_load_relaxed(&wf_team_line(t, r)->flag);

        if (!(word & (WF_TEAM_SCHEDULE | WF_TEAM_STAGED)))
            return MIXED;
        all &= word;
        fit &= wf_team_long_bytes(t, r, word) == bytes;
    }
    if (!all)
        return BY_SCHEDULE;
    return fit ? BY_STAGE : MIXED;
}

/* Waits for the lines of all, at the root, which wants this way itself. Returns
 * 0 if no member wants a way, BY_SCHEDULE or BY_STAGE if all do, MIXED, or an
 * error. */
static int wait_all_lines(struct wf_team *t, uint32_t way, uint64_t bytes)
{
    uint64_t any = way, word;
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r)) {
        rc = wf_team_hear(t, r, &word);
        any |= word;
    }
    if (wf_likely(!rc)) {
        t->all_completed_call = t->call - 1;
        if (wf_likely(!(any & (WF_TEAM_SCHEDULE | WF_TEAM_STAGED))))
            return MPI_SUCCESS;
        rc = agree_on_way(t, way, bytes);
    }
    wf_team_publish(t, 0,
                    rc == BY_SCHEDULE ? WF_TEAM_SCHEDULE
                    : rc == BY_STAGE  ? WF_TEAM_STAGED
                                      : 0);
    return rc;
}

static uint64_t contributed_bytes(struct wf_team *t, int rank)
{
    return wf_team_long_bytes(t, rank,
                              wf_load_relaxed(&wf_team_line(t, rank)->flag));
}

/* Returns the error of members that want different ways. */
static WF_COLD int report_mismatch(struct wf_team *t, uint64_t bytes)
{
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r))
        rc = wf_team_length(r, contributed_bytes(t, r), bytes);
    return rc ? rc
              : wf_error(MPI_ERR_COUNT, "ranks call this collective with "
                                        "different counts or types");
}

/* Asks the root, in another member that wants this way, whether all do. */
static WF_COLD int ask_root(wf_coll_builder *builder,
                            const struct wf_coll_args *a, uint64_t bytes,
                            uint32_t way, wf_coll_team *large)
{
    struct wf_team *t = a->comm->team;
    uint64_t word;
    int rc;

    wf_team_begin(t, 0);
    wf_team_say_long(t, bytes, way);
    rc = wf_team_hear(t, a->root, &word);
    if (!rc && wf_team_schedules(word))
        return wf_team_schedule(t, builder, a);
    if (!rc && word & WF_TEAM_STAGED)
        return large(builder, a);
    wf_team_done(t);
    return rc ? rc
              : wf_error(MPI_ERR_TRUNCATE,
                         "this rank contributes %llu bytes, "
                         "another rank a different number",
                         (unsigned long long)bytes);
}

/* ---- reduce -------------------------------------------------------------- */

static bool is_plain_reduce(const struct wf_coll_args *a)
{
    return wf_team_root_ok(a) && a->op->predefined &&
           wf_type_contiguous(a->rtype) && !wf_op_check(a->op, a->rtype) &&
           (wf_team_at_root(a) ? a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf
                               : a->sbuf != MPI_IN_PLACE);
}

/* Finds the root's operand. In place it is a copy, because the result goes to
 * its place. */
static int find_own_operand(struct wf_team *t, const struct wf_coll_args *a,
                            uint64_t bytes, const void **own)
{
    *own = wf_type_data(a->rtype, a->sbuf);
    if (a->sbuf != MPI_IN_PLACE)
        return MPI_SUCCESS;
    *own = wf_team_data(t, t->rank, bytes);
    return wf_team_put(wf_team_data(t, t->rank, bytes), a->rbuf, a->rcount,
                       a->rtype);
}

static int fold_at_root(struct wf_team *t, const struct wf_coll_args *a,
                        uint64_t bytes)
{
    const void *own, *from[WF_TEAM_MOST];
    struct wf_team_fold f = {.a = a,
                             .count = a->rcount,
                             .operands = from,
                             .out = wf_type_data(a->rtype, a->rbuf),
                             .first_rank = a->root};
    int rc = find_own_operand(t, a, bytes, &own);

    wf_team_sources(t, bytes, own, from);
    return rc ? rc : wf_team_fold(t, &f);
}

static int reduce_at_root(struct wf_team *t, wf_coll_builder *builder,
                          const struct wf_coll_args *a, uint32_t way)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool in_place = a->sbuf == MPI_IN_PLACE;
    int rc;

    wf_team_begin(t, in_place && !way ? bytes : 0);
    rc = wait_all_lines(t, way, bytes);
    if (rc == BY_SCHEDULE)
        return wf_team_schedule(t, builder, a);
    if (rc == BY_STAGE)
        return wf_team_large_reduce(builder, a);
    if (rc == MIXED)
        rc = report_mismatch(t, bytes);
    for (int r = 0; r < t->size && !rc; r++)
        if (r != t->rank)
            rc = wf_team_length(r, contributed_bytes(t, r), bytes);
    if (wf_likely(!rc))
        rc = fold_at_root(t, a, bytes);
    wf_team_done(t);
    return rc;
}

static uint32_t choose_reduce_way(const struct wf_team *t,
                                  const struct wf_coll_args *a, uint64_t bytes)
{
    if (!a->op->predefined || !wf_type_contiguous(a->rtype))
        return WF_TEAM_SCHEDULE;
    if (bytes <= t->block_bytes)
        return 0;
    return t->size > 2 && wf_team_large_reduces(a, WF_COLL_REDUCE, bytes)
               ? wf_team_large_way(t)
               : WF_TEAM_SCHEDULE;
}

int wf_team_reduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_team *t = a->comm->team;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool plain = is_plain_reduce(a);
    uint32_t way;
    int rc;

    if (wf_unlikely(!plain) && (rc = wf_team_check(builder, a)))
        return rc;
    way = choose_reduce_way(t, a, bytes);
    if (wf_team_at_root(a))
        return reduce_at_root(t, builder, a, way);
    if (way)
        return ask_root(builder, a, bytes, way, wf_team_large_reduce);
    return wf_team_give(a, a->sbuf, a->rcount, a->rtype);
}

/* ---- gather -------------------------------------------------------------- */

static bool is_plain_gather(const struct wf_coll_args *a)
{
    if (!wf_team_root_ok(a))
        return false;
    if (!wf_team_at_root(a))
        return a->stype && a->sbuf != MPI_IN_PLACE;
    return a->rtype && a->rbuf != MPI_IN_PLACE && !a->rcounts.base &&
           (a->sbuf == MPI_IN_PLACE || (a->stype && a->sbuf != a->rbuf &&
                                        a->sbuf != wf_coll_rblock(a, a->root)));
}

/* Unpacks that member's contribution to its block of the receive buffer. */
static int unpack_from(struct wf_team *t, const struct wf_coll_args *a, int r)
{
    uint64_t bytes = wf_coll_rbytes(a, r);
    int rc = wf_team_length(r, contributed_bytes(t, r), bytes);

    return rc ? rc
              : wf_team_get(wf_team_data(t, r, bytes), wf_coll_rblock(a, r),
                            wf_coll_rcount(a, r), a->rtype);
}

static int gather_at_root(struct wf_team *t, wf_coll_builder *builder,
                          const struct wf_coll_args *a, uint64_t bytes,
                          uint32_t way)
{
    int rc, met;

    wf_team_begin(t, 0);
    met = wait_all_lines(t, way, bytes);
    if (met == BY_SCHEDULE)
        return wf_team_schedule(t, builder, a);
    if (met == BY_STAGE) {
        if (a->sbuf == MPI_IN_PLACE)
            return wf_team_large_gather(builder, a);
        rc = wf_team_own(wf_team_sent(a), wf_coll_recv_block(a, a->root));
        met = wf_team_large_gather(builder, a);
        return rc ? rc : met;
    }
    rc = met == MIXED ? report_mismatch(t, bytes) : met;
    if (wf_likely(!rc) && a->sbuf != MPI_IN_PLACE)
        rc = wf_team_own(wf_team_sent(a), wf_coll_recv_block(a, a->root));
    for (int r = 0; r < t->size && !met; r++)
        if (r != t->rank)
            wf_team_first(&rc, unpack_from(t, a, r));
    wf_team_done(t);
    return rc;
}

int wf_team_gather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_team *t = a->comm->team;
    uint64_t bytes;
    uint32_t way = 0;
    int rc;

    if (wf_unlikely(!is_plain_gather(a)) && (rc = wf_team_check(builder, a)))
        return rc;
    bytes = wf_team_at_root(a) ? a->rcount * (uint64_t)a->rtype->size
                               : a->scount * (uint64_t)a->stype->size;
    if (bytes > t->block_bytes)
        way = t->size > 2 && !t->one_copy ? wf_team_large_way(t)
                                          : WF_TEAM_SCHEDULE;
    if (wf_team_at_root(a))
        return gather_at_root(t, builder, a, bytes, way);
    if (way)
        return ask_root(builder, a, bytes, way, wf_team_large_gather);
    return wf_team_give(a, a->sbuf, a->scount, a->stype);
}
