/* Collectives of a team that go to a root: reduce and gather.
 *
 * A short contribution is written, and its writer goes on. Who wants a schedule
 * says so and waits for the root's line. The root waits for all lines:
 *
 *     none wants one     it takes what is there
 *     all do, as it does its line says so, too
 *     else               its line does not; they fail
 *
 * Of nothing there is nothing to wait for: a call of 0 bytes returns at once.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/team_data.h"

enum { BY_SCHEDULE = -1, MIXED = -2 };

/* The root: the lines of all. 0: nobody wants a schedule. BY_SCHEDULE: all do.
 * MIXED, or an error. */
static int hear_all(struct wf_team *t, bool schedule)
{
    bool any = schedule, all = schedule;
    uint64_t word;
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r)) {
        rc = wf_team_hear(t, r, &word);
        any |= wf_team_schedules(word);
        all &= wf_team_schedules(word);
    }
    if (wf_likely(!rc)) {
        t->freed = t->call - 1;
        if (wf_likely(!any))
            return MPI_SUCCESS;
        rc = all ? BY_SCHEDULE : MIXED;
    }
    wf_team_publish(t, 0, rc == BY_SCHEDULE ? WF_TEAM_SCHEDULE : 0);
    return rc;
}

static uint64_t said(struct wf_team *t, int rank)
{
    return wf_team_bytes(wf_load_relaxed(&wf_team_line(t, rank)->word));
}

/* Some want a schedule, some do not. */
static int bad_mix(struct wf_team *t, uint64_t bytes)
{
    int rc = MPI_SUCCESS;

    for (int r = wf_team_after(t, t->rank); r != t->rank && !rc;
         r = wf_team_after(t, r))
        rc = wf_team_length(r, said(t, r), bytes);
    return rc ? rc
              : wf_error(MPI_ERR_COUNT, "ranks call this collective with "
                                        "different counts or types");
}

/* Another member, which wants a schedule: do all? */
static int ask_schedule(struct wf_team *t, wf_coll_builder *builder,
                        const struct wf_coll_args *a, uint64_t bytes)
{
    uint64_t word;
    int rc;

    wf_team_begin(t, 0);
    wf_team_publish(t, bytes, WF_TEAM_SCHEDULE);
    rc = wf_team_hear(t, a->root, &word);
    if (wf_likely(!rc && wf_team_schedules(word)))
        return wf_team_schedule(t, builder, a);
    wf_team_done(t);
    return rc ? rc
              : wf_error(MPI_ERR_TRUNCATE,
                         "this rank contributes %llu bytes, "
                         "and some rank other than so many",
                         (unsigned long long)bytes);
}

/* ---- reduce ----------------------------------------------------------------- */

static bool usual_reduce(const struct wf_coll_args *a)
{
    return wf_team_root_ok(a) && a->op->predefined &&
           wf_type_contiguous(a->rtype) && !wf_op_check(a->op, a->rtype) &&
           (wf_team_at_root(a) ? a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf
                               : a->sbuf != MPI_IN_PLACE);
}

/* Ranks in the order of the schedules: from the root on, or by blocks. */
static int first_of(const struct wf_coll_args *a)
{
    return a->comm->size == 3 && a->rcount >= 3 ? 0 : a->root;
}

static int reduce_at_root(struct wf_team *t, wf_coll_builder *builder,
                          const struct wf_coll_args *a, bool schedule)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    struct wf_team_fold f = {
        .t = t, .a = a, .bytes = bytes, .first = first_of(a)};
    bool in_place = a->sbuf == MPI_IN_PLACE;
    int rc;

    wf_team_begin(t, in_place && !schedule ? bytes : 0);
    rc = hear_all(t, schedule);
    if (rc == BY_SCHEDULE)
        return wf_team_schedule(t, builder, a);
    if (rc == MIXED)
        rc = bad_mix(t, bytes);
    for (int r = 0; r < t->size && !rc; r++)
        if (r != t->rank)
            rc = wf_team_length(r, said(t, r), bytes);
    if (wf_likely(!rc)) {
        f.own = (const char *)a->sbuf + a->rtype->true_lb;
        if (in_place) { /* the result comes where it is */
            f.own = wf_team_data(t, t->rank, bytes);
            rc = wf_team_put(wf_team_data(t, t->rank, bytes), a->rbuf,
                             a->rcount, a->rtype);
        }
        rc = rc ? rc : wf_team_fold(&f);
    }
    wf_team_done(t);
    return rc;
}

int wf_team_reduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_team *t = a->comm->team;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool usual = usual_reduce(a), schedule;
    int rc;

    if (wf_unlikely(!usual) && (rc = wf_team_check(builder, a)))
        return rc;
    if (bytes == 0)
        return MPI_SUCCESS;
    schedule =
        bytes > t->block || !a->op->predefined || !wf_type_contiguous(a->rtype);
    if (wf_team_at_root(a))
        return reduce_at_root(t, builder, a, schedule);
    if (schedule)
        return ask_schedule(t, builder, a, bytes);
    return wf_team_give(a, a->sbuf, a->rcount, a->rtype);
}

/* ---- gather ----------------------------------------------------------------- */

static bool usual_gather(const struct wf_coll_args *a)
{
    if (!wf_team_root_ok(a))
        return false;
    if (!wf_team_at_root(a))
        return a->stype && a->sbuf != MPI_IN_PLACE;
    return a->rtype && a->rbuf != MPI_IN_PLACE && !a->rcounts.base &&
           (a->sbuf == MPI_IN_PLACE || (a->stype && a->sbuf != a->rbuf &&
                                        a->sbuf != wf_coll_rblock(a, a->root)));
}

/* What that member has written to its block of the receive buffer. */
static int take_from(struct wf_team *t, const struct wf_coll_args *a, int r)
{
    uint64_t bytes = wf_coll_rbytes(a, r);
    int rc = wf_team_length(r, said(t, r), bytes);

    return rc ? rc
              : wf_team_get(wf_team_data(t, r, bytes), wf_coll_rblock(a, r),
                            wf_coll_rcount(a, r), a->rtype);
}

static int gather_at_root(struct wf_team *t, wf_coll_builder *builder,
                          const struct wf_coll_args *a, uint64_t bytes)
{
    int rc, met;

    wf_team_begin(t, 0);
    met = hear_all(t, bytes > t->block);
    if (met == BY_SCHEDULE)
        return wf_team_schedule(t, builder, a);
    rc = met == MIXED ? bad_mix(t, bytes) : met;
    if (wf_likely(!rc) && a->sbuf != MPI_IN_PLACE)
        rc = wf_team_own(wf_team_sent(a), wf_coll_recv_block(a, a->root));
    for (int r = 0; r < t->size && !met; r++)
        if (r != t->rank)
            wf_team_first(&rc, take_from(t, a, r));
    wf_team_done(t);
    return rc;
}

int wf_team_gather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_team *t = a->comm->team;
    uint64_t bytes;
    int rc;

    if (wf_unlikely(!usual_gather(a)) && (rc = wf_team_check(builder, a)))
        return rc;
    bytes = wf_team_at_root(a) ? a->rcount * (uint64_t)a->rtype->size
                               : a->scount * (uint64_t)a->stype->size;
    if (bytes == 0)
        return MPI_SUCCESS;
    if (wf_team_at_root(a))
        return gather_at_root(t, builder, a, bytes);
    if (bytes > t->block)
        return ask_schedule(t, builder, a, bytes);
    return wf_team_give(a, a->sbuf, a->scount, a->stype);
}
