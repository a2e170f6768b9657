/* Shared-memory collectives in which every member reads every line: barrier,
 * allreduce, reduce_scatter, allgather, alltoall.
 *
 *   write own line -- wait for all lines --> one says "schedule": a schedule
 *                                            else: read the contributions
 *
 * A member that wants a schedule only writes its line: no other goes on without
 * having read it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/all_to_all.h"

#include "coll/args.h"
#include "coll/decision.h"
#include "coll/shm/fold.h"
#include "coll/shm/large.h"
#include "coll/shm/large_fold.h"
#include "coll/shm/parts.h"
#include "coll/shm/staging.h"
#include "report/error.h"

enum { BY_SCHEDULE = WF_SHMCOLL_RUN_SCHEDULE, MIXED = WF_SHMCOLL_WAYS_DIFFER };

/* Waits for the lines of all others. *any becomes the OR of their flag words,
 * *all the AND. */
static int wait_all_lines(struct wf_shmcoll *t, uint64_t *any, uint64_t *all)
{
    uint64_t word;
    int rc;

    for (int r = 0; r < t->size; r++) {
        if (r == t->rank)
            continue;
        rc = wf_shmcoll_wait_flag(t, r, &word);
        if (wf_unlikely(rc)) {
            wf_shmcoll_complete_call(t);
            return rc;
        }
        *any |= word;
        *all &= word;
    }
    /* a member of this call has completed the last one */
    t->all_completed_call = t->call - 1;
    return MPI_SUCCESS;
}

/* Waits for all lines. Returns BY_SCHEDULE if all want a schedule, MIXED if
 * only some do, an error, or 0. */
static int collect_ways(struct wf_shmcoll *t, uint64_t own)
{
    uint64_t any = own, all = own;
    int rc = wait_all_lines(t, &any, &all);

    if (wf_unlikely(rc))
        return rc;
    if (wf_likely(!wf_shmcoll_wants_schedule(any)))
        return MPI_SUCCESS;
    return wf_shmcoll_wants_schedule(all) ? BY_SCHEDULE : MIXED;
}

/* Waits for all lines, of which one that wants a schedule is sufficient. */
static int wait_for_all(struct wf_shmcoll *t)
{
    int met = collect_ways(t, 0);

    return wf_unlikely(met == MIXED) ? BY_SCHEDULE : met;
}

/* Returns how many bytes that member has contributed; more than any member can
 * if it goes through the staging ring. */
static uint64_t contributed_bytes(struct wf_shmcoll *t, int rank)
{
    uint64_t word = wf_load_relaxed(&wf_shmcoll_line(t, rank)->flag);

    return (uint32_t)word & ~WF_SHMCOLL_FLAG_SCHEDULE;
}

int wf_shmcoll_barrier(struct wf_shmcoll *t)
{
    int rc;

    wf_shmcoll_begin_call(t, 0);
    wf_shmcoll_publish_flag(t, 0, 0);
    rc = wait_for_all(t);
    if (wf_unlikely(rc))
        return rc;
    wf_shmcoll_complete_call(t);
    return MPI_SUCCESS;
}

/* Finishes a call whose line is written, with the result `rc` so far. `builder`
 * is that of the schedule that any member may ask for; if NULL, `take` finds
 * that wrong. */
static int
finish_call(wf_coll_builder *builder, const struct wf_coll_args *a, int rc,
            int (*take)(struct wf_shmcoll *, const struct wf_coll_args *))
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int met = wait_for_all(t);

    if (wf_unlikely(met == BY_SCHEDULE) && builder)
        return wf_shmcoll_run_schedule(t, builder, a);
    if (wf_likely(met != BY_SCHEDULE))
        wf_shmcoll_keep_first_error(&rc, met);
    if (wf_likely(!rc))
        rc = take(t, a);
    wf_shmcoll_complete_call(t);
    return rc;
}

/* ---- allreduce ----------------------------------------------------------- */

/* Returns the number of ranks that recursive doubling first combines in
 * pairs. */
static int count_paired_ranks(int size)
{
    int members = 1;

    while (2 * members <= size)
        members *= 2;
    return 2 * (size - members);
}

/* Checks that all members have contributed so many bytes. */
static int check_all_lengths(struct wf_shmcoll *t, uint64_t bytes)
{
    for (int r = 0; r < t->size; r++)
        if (wf_unlikely(contributed_bytes(t, r) != bytes))
            return wf_shmcoll_check_length(r, contributed_bytes(t, r), bytes);
    return MPI_SUCCESS;
}

static int fold_all_operands(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    const void *from[WF_SHMCOLL_RANKS_MAX];
    struct wf_shmcoll_fold f = {.a = a,
                                .count = a->rcount,
                                .operands = from,
                                .out = wf_type_data(a->rtype, a->rbuf),
                                .paired_ranks = count_paired_ranks(t->size)};
    int rc = check_all_lengths(t, bytes);

    if (wf_unlikely(rc))
        return rc;
    wf_shmcoll_find_operands(t, bytes, wf_shmcoll_data_of(t, t->rank, bytes),
                             from);
    return wf_shmcoll_fold(t, &f);
}

/* Contributes the whole operand of this member, `count` elements, and finishes
 * the call. */
static int contribute_operand(wf_coll_builder *builder,
                              const struct wf_coll_args *a, uint64_t count,
                              int (*take)(struct wf_shmcoll *,
                                          const struct wf_coll_args *))
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = count * (uint64_t)a->rtype->size;
    int rc;

    wf_shmcoll_begin_call(t, bytes);
    rc = wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, t->rank, bytes),
                                  a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf,
                                  count, a->rtype);
    wf_shmcoll_publish_flag(t, bytes, 0);
    return finish_call(builder, a, rc, take);
}

int wf_shmcoll_allreduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool plain = wf_shmcoll_is_plain_reduction(a);
    int rc;

    if (wf_unlikely(!plain) && (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    if (plain && bytes > t->block_bytes && t->size > 2 &&
        wf_staging_can_reduce(a, WF_COLL_ALLREDUCE, bytes))
        return wf_staging_allreduce(builder, a);
    if (!plain || bytes > t->block_bytes)
        return wf_shmcoll_request_schedule(builder, a, bytes);
    return contribute_operand(builder, a, a->rcount, fold_all_operands);
}

/* ---- reduce_scatter ------------------------------------------------------ */

/* Returns the number of elements before the block of `rank`, each count limited
 * to INT32_MAX; a negative number if one of them is negative. */
static int64_t count_before(const struct wf_coll_args *a, int rank)
{
    int64_t sum = 0, sign = 0;

    for (int i = 0; i < rank; i++) {
        int64_t count = (int64_t)wf_coll_rcount(a, i);

        sign |= count;
        sum += count > INT32_MAX ? INT32_MAX : count;
    }
    return sign < 0 ? -1 : sum;
}

/* Returns true if the schedule that would run uses a tree. */
static bool schedule_uses_tree(const struct wf_coll_args *a, uint64_t bytes)
{
    return wf_coll_find_rule(a->comm, WF_COLL_REDUCE_SCATTER, bytes, WF_ALG_ANY,
                             NULL)
               ->algorithm == WF_ALG_BINOMIAL;
}

static int fold_own_block(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    uint64_t size = (uint64_t)a->rtype->size;
    uint64_t bytes = (uint64_t)count_before(a, t->size) * size;
    const void *from[WF_SHMCOLL_RANKS_MAX];
    struct wf_shmcoll_fold f = {
        .a = a,
        .offset = (uint64_t)count_before(a, t->rank) * size,
        .count = wf_coll_rcount(a, t->rank),
        .operands = from,
        .out = wf_type_data(a->rtype, a->rbuf),
        .order = WF_SHMCOLL_ORDER_BLOCKS,
        .owner = t->rank,
        .own_first = a->sbuf == MPI_IN_PLACE && t->rank == 0};
    int rc = check_all_lengths(t, bytes);

    if (wf_unlikely(rc) || f.count == 0)
        return rc;
    if (t->size > 2 && schedule_uses_tree(a, bytes))
        f.order = WF_SHMCOLL_ORDER_TREE;
    wf_shmcoll_find_operands(t, bytes, wf_shmcoll_data_of(t, t->rank, bytes),
                             from);
    return wf_shmcoll_fold(t, &f);
}

int wf_shmcoll_agree_on_schedule(wf_coll_builder *builder,
                                 const struct wf_coll_args *a, uint64_t bytes)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int met;

    wf_shmcoll_begin_call(t, 0);
    wf_shmcoll_publish_flag(t, bytes, WF_SHMCOLL_FLAG_SCHEDULE);
    met = collect_ways(t, WF_SHMCOLL_FLAG_SCHEDULE);
    if (wf_likely(met == BY_SCHEDULE))
        return wf_shmcoll_run_schedule(t, builder, a);
    if (met == MIXED) {
        met = check_all_lengths(t, bytes);
        wf_shmcoll_complete_call(t);
    }
    return met ? met
               : wf_error(MPI_ERR_COUNT, "ranks call this collective with "
                                         "different counts or types");
}

/* Contributes the operand of a member that receives nothing, and does not
 * wait. */
static int contribute_only(const struct wf_coll_args *a, uint64_t count)
{
    return wf_shmcoll_contribute_elements(
        a, a->sbuf == MPI_IN_PLACE ? a->rbuf : a->sbuf, count, a->rtype);
}

int wf_shmcoll_reduce_scatter_block(wf_coll_builder *builder,
                                    const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int64_t total = count_before(a, t->size);
    uint64_t bytes = (uint64_t)total * (uint64_t)a->rtype->size;
    bool plain = total >= 0 && wf_shmcoll_is_plain_reduction(a);
    int rc;

    if (wf_unlikely(!plain) && (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    if (plain && bytes > t->block_bytes && t->size > 2 &&
        a->sbuf != MPI_IN_PLACE &&
        wf_staging_can_reduce(a, WF_COLL_REDUCE_SCATTER, bytes))
        return wf_staging_reduce_scatter(builder, a);
    if (!a->op->predefined || !wf_type_is_contiguous(a->rtype) ||
        bytes > t->block_bytes)
        return wf_shmcoll_agree_on_schedule(builder, a, bytes);
    if (wf_coll_rcount(a, t->rank) == 0)
        return contribute_only(a, (uint64_t)total);
    return contribute_operand(NULL, a, (uint64_t)total, fold_own_block);
}

int wf_shmcoll_reduce_scatter(wf_coll_builder *builder,
                              const struct wf_coll_args *a)
{
    int rc;

    if (wf_unlikely(!a->rcounts.base) &&
        (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    return wf_shmcoll_reduce_scatter_block(builder, a);
}

/* ---- allgather ----------------------------------------------------------- */

static int unpack_blocks(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS, error;

    for (int r = 0; r < t->size; r++) {
        uint64_t bytes = wf_coll_rbytes(a, r);

        if (r == t->rank && a->sbuf == MPI_IN_PLACE)
            continue;
        error = wf_shmcoll_check_length(r, contributed_bytes(t, r), bytes);
        if (!error)
            error = wf_shmcoll_unpack_elements(wf_shmcoll_data_of(t, r, bytes),
                                               wf_coll_rblock(a, r),
                                               wf_coll_rcount(a, r), a->rtype);
        wf_shmcoll_keep_first_error(&rc, error);
    }
    return rc;
}

/* `most` is the number of elements of the largest block. */
static int allgather_blocks(wf_coll_builder *builder,
                            const struct wf_coll_args *a,
                            struct wf_coll_block own, uint64_t most)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = wf_coll_block_bytes(own);
    int rc;

    if (most * (uint64_t)a->rtype->size > t->block_bytes &&
        !(t->one_copy && t->size == 2))
        return wf_staging_allgather(builder, a);
    /* or its length is not the one that the others expect */
    if (wf_unlikely(bytes > t->block_bytes))
        return wf_shmcoll_request_schedule(builder, a, bytes);
    wf_shmcoll_begin_call(t, bytes);
    rc = wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, t->rank, bytes),
                                  own.buf, own.count, own.type);
    wf_shmcoll_publish_flag(t, bytes, 0);
    return finish_call(builder, a, rc, unpack_blocks);
}

static struct wf_coll_block own_send_block(const struct wf_coll_args *a)
{
    int me = a->comm->rank;

    if (a->sbuf != MPI_IN_PLACE)
        return wf_shmcoll_sent_block(a);
    return (struct wf_coll_block){wf_coll_rblock(a, me), wf_coll_rcount(a, me),
                                  a->rtype};
}

static bool is_plain_allgather(const struct wf_coll_args *a)
{
    return a->rtype && a->rbuf != MPI_IN_PLACE &&
           (a->sbuf == MPI_IN_PLACE ||
            (a->stype && a->sbuf != a->rbuf &&
             a->sbuf != wf_coll_rblock(a, a->comm->rank)));
}

int wf_shmcoll_allgather(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    int rc;

    if (wf_unlikely(!is_plain_allgather(a)) &&
        (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    return allgather_blocks(builder, a, own_send_block(a), a->rcount);
}

int wf_shmcoll_allgatherv(wf_coll_builder *builder,
                          const struct wf_coll_args *a)
{
    int n = a->comm->size;
    int64_t any = 0, most = 0;
    int rc;

    for (int i = 0; a->rcounts.base && i < n; i++) {
        int64_t count = wf_int_at(a->rcounts, (size_t)i);

        any |= count;
        most = count > most ? count : most;
    }
    if ((wf_unlikely(!a->rcounts.base || any < 0 || !is_plain_allgather(a))) &&
        (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    return allgather_blocks(builder, a, own_send_block(a), (uint64_t)most);
}

/* ---- alltoall ------------------------------------------------------------ */

/* Unpacks the parts of all other members, which have one size. */
static int unpack_equal_parts(struct wf_shmcoll *t,
                              const struct wf_coll_args *a)
{
    uint64_t others = (uint64_t)(t->size - 1);
    uint64_t part = a->rcount * (uint64_t)a->rtype->size;
    int rc = MPI_SUCCESS, error;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        error =
            wf_shmcoll_check_length(r, contributed_bytes(t, r) / others, part);
        if (!error)
            error = wf_shmcoll_unpack_elements(
                wf_shmcoll_data_of(t, r, part * others) +
                    wf_shmcoll_part_index(t, r, t->rank) * part,
                wf_coll_rblock(a, r), a->rcount, a->rtype);
        wf_shmcoll_keep_first_error(&rc, error);
    }
    return rc;
}

static int pack_all_parts(struct wf_shmcoll *t, const struct wf_coll_args *a,
                          unsigned char *to)
{
    int rc = wf_shmcoll_pack_parts(t, a, to);

    wf_shmcoll_keep_first_error(
        &rc, wf_shmcoll_copy_own_block(wf_coll_send_block(a, t->rank),
                                       wf_coll_recv_block(a, t->rank)));
    return rc;
}

static bool is_plain_alltoall(const struct wf_coll_args *a)
{
    return a->rtype && a->stype && a->sbuf != MPI_IN_PLACE &&
           a->rbuf != MPI_IN_PLACE && a->sbuf != a->rbuf;
}

static WF_COLD int check_and_schedule(wf_coll_builder *builder,
                                      const struct wf_coll_args *a)
{
    int rc = wf_shmcoll_check_args(builder, a);

    return rc ? rc : wf_shmcoll_request_schedule(builder, a, 0);
}

int wf_shmcoll_alltoall(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t part, total;
    int rc;

    if (wf_unlikely(!is_plain_alltoall(a)))
        return check_and_schedule(builder, a);
    part = a->scount * (uint64_t)a->stype->size;
    total = part * (uint64_t)(t->size - 1);
    if (part > t->block_bytes || total > t->block_bytes)
        return t->one_copy && part > t->block_bytes
                   ? wf_shmcoll_request_schedule(builder, a, total)
                   : wf_staging_alltoall(builder, a);
    wf_shmcoll_begin_call(t, total);
    rc = pack_all_parts(t, a, wf_shmcoll_data_of(t, t->rank, total));
    wf_shmcoll_publish_flag(t, total, 0);
    return finish_call(builder, a, rc, unpack_equal_parts);
}

/* ---- alltoallv ----------------------------------------------------------- */

static int unpack_varied_parts(struct wf_shmcoll *t,
                               const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS, error;
    uint64_t got;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        struct wf_coll_block b = wf_coll_recv_block(a, r);
        uint64_t bytes = wf_coll_block_bytes(b);
        const unsigned char *from;

        if (bytes == 0 && contributed_bytes(t, r) == 0)
            continue;
        from = wf_shmcoll_find_part(t, r, contributed_bytes(t, r), bytes, &got);
        if (wf_likely(from != NULL))
            error = wf_shmcoll_unpack_elements(from, b.buf, b.count, b.type);
        else
            error = wf_shmcoll_check_length(r, got, bytes);
        wf_shmcoll_keep_first_error(&rc, error);
    }
    return rc;
}

/* Contributes parts of different lengths, `total` bytes with their table, which
 * fit the block. */
static int pack_varied_parts(struct wf_shmcoll *t, const struct wf_coll_args *a,
                             uint64_t total)
{
    unsigned char *to;
    int rc;

    wf_shmcoll_begin_call(t, total);
    to = wf_shmcoll_data_of(t, t->rank, total);
    wf_shmcoll_write_table(t, a, to);
    rc = pack_all_parts(t, a, to + wf_shmcoll_table_bytes(t));
    wf_shmcoll_publish_flag(t, total, 0);
    return rc;
}

/* Exchanges parts: `sum` elements for others, which have `got` bytes for this
 * member. A member with more than a block holds publishes the length of each
 * part, and then all parts go through the staging ring, whatever the others
 * have; of two members, both know this. */
static int exchange_varied_parts(wf_coll_builder *builder,
                                 const struct wf_coll_args *a, uint64_t sum,
                                 uint64_t got)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t total = sum * (uint64_t)a->stype->size + wf_shmcoll_table_bytes(t);
    bool fits = sum <= t->block_bytes && total <= t->block_bytes &&
                (t->size > 2 || got <= t->block_bytes);
    uint64_t any = fits ? 0 : WF_SHMCOLL_FLAG_STAGED, all = any;
    int rc = MPI_SUCCESS, error;

    if (t->staging_failed || (!fits && t->one_copy))
        return wf_shmcoll_request_schedule(builder, a, total);
    if (fits)
        rc = pack_varied_parts(t, a, total);
    else
        wf_staging_publish_lengths(t, a);
    error = wait_all_lines(t, &any, &all);
    if (wf_unlikely(error))
        return error;
    if (wf_unlikely(wf_shmcoll_wants_schedule(any)))
        return wf_shmcoll_run_schedule(t, builder, a);
    if (wf_unlikely(any & WF_SHMCOLL_FLAG_STAGED))
        return wf_staging_alltoallv(builder, a);
    if (wf_likely(!rc))
        rc = unpack_varied_parts(t, a);
    wf_shmcoll_complete_call(t);
    return rc;
}

/* Copies the own block and contributes nothing: this member exchanges nothing
 * with any other, and takes no part in what they do after reading its line. */
static WF_COLD int exchange_nothing(const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int rc = wf_shmcoll_copy_own_block(wf_coll_send_block(a, t->rank),
                                       wf_coll_recv_block(a, t->rank));

    wf_shmcoll_begin_call(t, 0);
    return wf_shmcoll_finish_contribution(t, 0, rc);
}

int wf_shmcoll_alltoallv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint32_t tag = a->comm->coll_tag;
    uint64_t got;
    int64_t out, in;
    int rc;

    if (wf_unlikely(
            !is_plain_alltoall(a) || !a->scounts.base || !a->rcounts.base ||
            (out = wf_shmcoll_sum_counts(a->scounts, t->size, t->rank)) < 0 ||
            (in = wf_shmcoll_sum_counts(a->rcounts, t->size, t->rank)) < 0))
        return check_and_schedule(builder, a);
    got = (uint64_t)in * (uint64_t)a->rtype->size;
    rc = got || (out && a->stype->size)
             ? exchange_varied_parts(builder, a, (uint64_t)out, got)
             : exchange_nothing(a);
    a->comm->coll_tag = tag + 1; /* whether or not this member ran a schedule */
    return rc;
}
