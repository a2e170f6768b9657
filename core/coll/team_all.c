/* Collectives of a team in which everybody hears from everybody: barrier,
 * allreduce, allgather, alltoall.
 *
 *   write own line -- wait for all lines --> one says "schedule": a schedule
 *                                            else: take what is there
 *
 * A member that wants a schedule itself only writes its line: the others cannot
 * have gone without it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/team_data.h"

enum { BY_SCHEDULE = -1 };

/* Wait for the lines of all. BY_SCHEDULE, an error, or 0. */
static int meet(struct wf_team *t)
{
    uint64_t any = 0, word;
    int rc;

    for (int r = 0; r < t->size; r++) {
        if (r == t->rank)
            continue;
        rc = wf_team_hear(t, r, &word);
        if (wf_unlikely(rc)) {
            wf_team_done(t);
            return rc;
        }
        any |= word;
    }
    t->freed = t->call - 1; /* whoever is in this call has done the last */
    return wf_unlikely(wf_team_schedules(any)) ? BY_SCHEDULE : MPI_SUCCESS;
}

/* How many bytes that member has contributed. */
static uint64_t said(struct wf_team *t, int rank)
{
    return wf_team_bytes(wf_load_relaxed(&wf_team_line(t, rank)->word));
}

/* This member wants a schedule, and says so. */
static int want_schedule(struct wf_team *t, wf_coll_builder *builder,
                         const struct wf_coll_args *a, uint64_t bytes)
{
    wf_team_begin(t, 0);
    wf_team_say(t, bytes, WF_TEAM_SCHEDULE);
    return wf_team_schedule(t, builder, a);
}

int wf_team_barrier(struct wf_team *t)
{
    int rc;

    wf_team_begin(t, 0);
    wf_team_publish(t, 0, 0);
    rc = meet(t);
    if (wf_unlikely(rc))
        return rc;
    wf_team_done(t);
    return MPI_SUCCESS;
}

/* The own line is written; so far there was `rc`. */
static int finish(wf_coll_builder *builder, const struct wf_coll_args *a,
                  int rc,
                  int (*take)(struct wf_team *, const struct wf_coll_args *))
{
    struct wf_team *t = a->comm->team;
    int met = meet(t);

    if (wf_unlikely(met == BY_SCHEDULE))
        return wf_team_schedule(t, builder, a);
    wf_team_first(&rc, met);
    if (wf_likely(!rc))
        rc = take(t, a);
    wf_team_done(t);
    return rc;
}

/* ---- allreduce ------------------------------------------------------------- */

/* Nothing that a builder would find wrong. */
static bool usual_reduction(const struct wf_coll_args *a)
{
    return a->op->predefined && wf_type_contiguous(a->rtype) &&
           a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf &&
           !wf_op_check(a->op, a->rtype);
}

/* The ranks that recursive doubling takes in pairs first. */
static int paired(int size)
{
    int members = 1;

    while (2 * members <= size)
        members *= 2;
    return 2 * (size - members);
}

static int take_reduced(struct wf_team *t, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    struct wf_team_fold f = {.t = t,
                             .a = a,
                             .bytes = bytes,
                             .own = wf_team_data(t, t->rank, bytes),
                             .pairs = paired(t->size)};

    for (int r = 0; r < t->size; r++)
        if (wf_unlikely(said(t, r) != bytes))
            return wf_team_length(r, said(t, r), bytes);
    return wf_team_fold(&f);
}

int wf_team_allreduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_team *t = a->comm->team;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool usual = usual_reduction(a);
    int rc;

    if (wf_unlikely(!usual) && (rc = wf_team_check(builder, a)))
        return rc;
    if (bytes == 0)
        return MPI_SUCCESS;
    if (!usual || bytes > t->block)
        return want_schedule(t, builder, a, bytes);
    wf_team_begin(t, bytes);
    rc = wf_team_put(wf_team_data(t, t->rank, bytes),
                     a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf, a->rcount,
                     a->rtype);
    wf_team_publish(t, bytes, 0);
    return finish(builder, a, rc, take_reduced);
}

/* ---- allgather ------------------------------------------------------------- */

static int take_blocks(struct wf_team *t, const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS, error;

    for (int r = 0; r < t->size; r++) {
        uint64_t bytes = wf_coll_rbytes(a, r);

        if (r == t->rank && a->sbuf == MPI_IN_PLACE)
            continue;
        error = wf_team_length(r, said(t, r), bytes);
        if (!error)
            error = wf_team_get(wf_team_data(t, r, bytes), wf_coll_rblock(a, r),
                                wf_coll_rcount(a, r), a->rtype);
        wf_team_first(&rc, error);
    }
    return rc;
}

static int allgather(wf_coll_builder *builder, const struct wf_coll_args *a,
                     struct wf_coll_block own)
{
    struct wf_team *t = a->comm->team;
    uint64_t bytes = wf_coll_block_bytes(own);
    int rc;

    if (bytes > t->block)
        return want_schedule(t, builder, a, bytes);
    wf_team_begin(t, bytes);
    rc = wf_team_put(wf_team_data(t, t->rank, bytes), own.buf, own.count,
                     own.type);
    wf_team_publish(t, bytes, 0);
    return finish(builder, a, rc, take_blocks);
}

static struct wf_coll_block own_block(const struct wf_coll_args *a)
{
    int me = a->comm->rank;

    if (a->sbuf != MPI_IN_PLACE)
        return wf_team_sent(a);
    return (struct wf_coll_block){wf_coll_rblock(a, me), wf_coll_rcount(a, me),
                                  a->rtype};
}

static bool usual_gather(const struct wf_coll_args *a)
{
    return a->rtype && a->rbuf != MPI_IN_PLACE &&
           (a->sbuf == MPI_IN_PLACE ||
            (a->stype && a->sbuf != a->rbuf &&
             a->sbuf != wf_coll_rblock(a, a->comm->rank)));
}

int wf_team_allgather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    int rc;

    if (wf_unlikely(!usual_gather(a)) && (rc = wf_team_check(builder, a)))
        return rc;
    if (a->rcount * (uint64_t)a->rtype->size == 0)
        return MPI_SUCCESS;
    return allgather(builder, a, own_block(a));
}

int wf_team_allgatherv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    int n = a->comm->size;
    int64_t any = 0;
    int rc;

    for (int i = 0; a->rcounts.base && i < n; i++)
        any |= wf_at(a->rcounts, (size_t)i);
    if ((wf_unlikely(!a->rcounts.base || any < 0 || !usual_gather(a))) &&
        (rc = wf_team_check(builder, a)))
        return rc;
    if (any == 0 || a->rtype->size == 0)
        return MPI_SUCCESS;
    return allgather(builder, a, own_block(a));
}

/* ---- alltoall -------------------------------------------------------------- */

/* All of one size. */
static int take_pieces(struct wf_team *t, const struct wf_coll_args *a)
{
    uint64_t others = (uint64_t)(t->size - 1);
    uint64_t piece = a->rcount * (uint64_t)a->rtype->size;
    int rc = MPI_SUCCESS, error;

    for (int r = wf_team_after(t, t->rank); r != t->rank;
         r = wf_team_after(t, r)) {
        error = wf_team_length(r, said(t, r) / others, piece);
        if (!error)
            error = wf_team_get(wf_team_data(t, r, piece * others) +
                                    wf_team_place_of(t, r, t->rank) * piece,
                                wf_coll_rblock(a, r), a->rcount, a->rtype);
        wf_team_first(&rc, error);
    }
    return rc;
}

static int put_all(struct wf_team *t, const struct wf_coll_args *a,
                   unsigned char *to)
{
    int rc = wf_team_put_pieces(t, a, to);

    wf_team_first(&rc, wf_team_own(wf_coll_send_block(a, t->rank),
                                   wf_coll_recv_block(a, t->rank)));
    return rc;
}

static bool usual_exchange(const struct wf_coll_args *a)
{
    return a->rtype && a->stype && a->sbuf != MPI_IN_PLACE &&
           a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf;
}

static int unusual_exchange(wf_coll_builder *builder,
                            const struct wf_coll_args *a)
{
    int rc = wf_team_check(builder, a);

    return rc ? rc : want_schedule(a->comm->team, builder, a, 0);
}

int wf_team_alltoall(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_team *t = a->comm->team;
    uint64_t piece, total;
    int rc;

    if (wf_unlikely(!usual_exchange(a)))
        return unusual_exchange(builder, a);
    piece = a->scount * (uint64_t)a->stype->size;
    total = piece * (uint64_t)(t->size - 1);
    if ((piece | a->rcount * (uint64_t)a->rtype->size) == 0)
        return MPI_SUCCESS;
    if (piece > t->block || total > t->block)
        return want_schedule(t, builder, a, total);
    wf_team_begin(t, total);
    rc = put_all(t, a, wf_team_data(t, t->rank, total));
    wf_team_publish(t, total, 0);
    return finish(builder, a, rc, take_pieces);
}

/* ---- alltoallv ------------------------------------------------------------- */

static int take_varied(struct wf_team *t, const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS, error;
    uint64_t got;

    for (int r = wf_team_after(t, t->rank); r != t->rank;
         r = wf_team_after(t, r)) {
        struct wf_coll_block b = wf_coll_recv_block(a, r);
        uint64_t bytes = wf_coll_block_bytes(b);
        const unsigned char *from =
            wf_team_find_piece(t, r, said(t, r), bytes, &got);

        if (wf_likely(from != NULL))
            error = wf_team_get(from, b.buf, b.count, b.type);
        else
            error = wf_team_length(r, got, bytes);
        wf_team_first(&rc, error);
    }
    return rc;
}

int wf_team_alltoallv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_team *t = a->comm->team;
    unsigned char *to;
    uint64_t total;
    int64_t sum;
    int rc;

    if (wf_unlikely(!usual_exchange(a) || !a->scounts.base ||
                    !a->rcounts.base ||
                    (sum = wf_team_sum(a->scounts, t->size, t->rank)) < 0 ||
                    wf_team_sum(a->rcounts, t->size, t->rank) < 0))
        return unusual_exchange(builder, a);
    total = (uint64_t)sum * (uint64_t)a->stype->size + wf_team_table_bytes(t);
    if ((uint64_t)sum > t->block || total > t->block)
        return want_schedule(t, builder, a, total);
    wf_team_begin(t, total);
    to = wf_team_data(t, t->rank, total);
    wf_team_put_table(t, a, to);
    rc = put_all(t, a, to + wf_team_table_bytes(t));
    wf_team_publish(t, total, 0);
    return finish(builder, a, rc, take_varied);
}
