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
#include "coll/shm/by_leader.h"
#include "coll/shm/fold.h"
#include "coll/shm/large.h"
#include "coll/shm/large_fold.h"
#include "object/error.h"

int wf_shmcoll_barrier(struct wf_shmcoll *t)
{
    int agreed;

    if (wf_shmcoll_has_leader(t))
        return wf_shmcoll_barrier_by_leader(t);
    wf_shmcoll_begin_call(t, 0);
    wf_shmcoll_publish_flag(t, 0, 0);
    agreed = wf_shmcoll_agree_on_way(t, 0);
    wf_shmcoll_complete_call(t);
    return wf_likely(agreed >= 0) ? agreed : wf_shmcoll_report_mismatch();
}

/* Finishes a call whose line is written, with the result `rc` so far: `take`
 * reads the contributions. `builder` is that of the schedule that any member
 * may ask for; NULL: none may. */
static int finish_call(wf_coll_builder *builder, const struct wf_coll_args *a,
                       int rc, wf_shmcoll_reader *take)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int agreed = wf_shmcoll_agree_on_way(t, 0);

    if (wf_unlikely(wf_shmcoll_is_schedule(agreed)) && builder)
        return wf_shmcoll_run_schedule(t, builder, a);
    if (wf_unlikely(agreed > 0))
        wf_shmcoll_keep_first_error(&rc, agreed);
    if (wf_likely(!rc))
        rc = take(t, a);
    wf_shmcoll_complete_call(t);
    return wf_unlikely(agreed < 0 && !rc) ? wf_shmcoll_report_mismatch() : rc;
}

/* Contributes `count` elements and finishes the call. */
static int contribute_and_finish(wf_coll_builder *builder,
                                 const struct wf_coll_args *a,
                                 struct wf_coll_block own,
                                 wf_shmcoll_reader *take)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes;
    int rc = wf_shmcoll_write_contribution(t, own, &bytes);

    wf_shmcoll_publish_flag(t, bytes, 0);
    return finish_call(builder, a, rc, take);
}

/* ---- allreduce ----------------------------------------------------------- */

int wf_shmcoll_allreduce(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    bool plain = wf_shmcoll_is_plain_reduction(a);
    struct wf_coll_block own;
    int rc;

    if ((rc = wf_shmcoll_check_args(builder, a, plain)))
        return rc;
    if (plain && bytes > t->block_bytes && t->size > 2 &&
        wf_staging_can_reduce(a, WF_COLL_ALLREDUCE, bytes))
        return wf_staging_allreduce(builder, a);
    if (!plain || bytes > t->block_bytes)
        return wf_shmcoll_request_schedule(builder, a, bytes);
    own = wf_shmcoll_own_block(a, a->rcount);
    return wf_shmcoll_has_leader(t)
               ? wf_shmcoll_allreduce_by_leader(builder, a, own)
               : contribute_and_finish(builder, a, own, wf_shmcoll_fold_all);
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
    int rc = wf_shmcoll_find_operands(
        t, bytes, wf_shmcoll_data_of(t, t->rank, bytes), from);

    if (t->size > 2 && schedule_uses_tree(a, bytes))
        f.order = WF_SHMCOLL_ORDER_TREE;
    return rc ? rc : wf_shmcoll_fold(t, &f);
}

int wf_shmcoll_reduce_scatter_block(wf_coll_builder *builder,
                                    const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int64_t total = count_before(a, t->size);
    uint64_t bytes = (uint64_t)total * (uint64_t)a->rtype->size;
    bool plain = total >= 0 && wf_shmcoll_is_plain_reduction(a);
    struct wf_coll_block own;
    int rc;

    if ((rc = wf_shmcoll_check_args(builder, a, plain)))
        return rc;
    if (plain && bytes > t->block_bytes && t->size > 2 &&
        a->sbuf != MPI_IN_PLACE &&
        wf_staging_can_reduce(a, WF_COLL_REDUCE_SCATTER, bytes))
        return wf_staging_reduce_scatter(builder, a);
    if (!a->op->commutes || bytes > t->block_bytes)
        return wf_shmcoll_agree_on_schedule(builder, a, bytes);
    own = wf_shmcoll_own_block(a, (uint64_t)total);
    if (wf_coll_rcount(a, t->rank) == 0) /* it needs nothing, and goes on */
        return wf_shmcoll_contribute_elements(t, own);
    return contribute_and_finish(NULL, a, own, fold_own_block);
}

int wf_shmcoll_reduce_scatter(wf_coll_builder *builder,
                              const struct wf_coll_args *a)
{
    int rc = wf_shmcoll_check_args(builder, a, a->rcounts.base != NULL);

    return rc ? rc : wf_shmcoll_reduce_scatter_block(builder, a);
}

/* ---- allgather ----------------------------------------------------------- */

static int unpack_blocks(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS;

    for (int r = 0; r < t->size; r++)
        if (r != t->rank || a->sbuf != MPI_IN_PLACE)
            wf_shmcoll_keep_first_error(
                &rc,
                wf_shmcoll_read_whole(t, r, wf_shmcoll_received_block(a, r)));
    return rc;
}

/* `most` is the number of elements of the largest block. */
static int allgather_blocks(wf_coll_builder *builder,
                            const struct wf_coll_args *a,
                            struct wf_coll_block own, uint64_t most)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = wf_coll_block_bytes(own);

    if (most * (uint64_t)a->rtype->size > t->block_bytes &&
        !(t->one_copy && t->size == 2))
        return wf_staging_allgather(builder, a);
    /* or its length is not the one that the others expect */
    if (wf_unlikely(bytes > t->block_bytes))
        return wf_shmcoll_request_schedule(builder, a, bytes);
    return contribute_and_finish(builder, a, own, unpack_blocks);
}

static struct wf_coll_block own_send_block(const struct wf_coll_args *a)
{
    return a->sbuf == MPI_IN_PLACE ? wf_shmcoll_received_block(a, a->comm->rank)
                                   : wf_shmcoll_sent_block(a);
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
    int rc = wf_shmcoll_check_args(builder, a, is_plain_allgather(a));

    return rc ? rc : allgather_blocks(builder, a, own_send_block(a), a->rcount);
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
    if ((rc = wf_shmcoll_check_args(
             builder, a, a->rcounts.base && any >= 0 && is_plain_allgather(a))))
        return rc;
    return allgather_blocks(builder, a, own_send_block(a), (uint64_t)most);
}

/* ---- parts for each other member ----------------------------------------- */

/* The contents of a table of lengths are not trusted: lengths are compared, and
 * positions checked. */

int64_t wf_shmcoll_sum_counts(struct wf_ints counts, int n, int own)
{
    int64_t sum = 0, sign = 0;

    for (int i = 0; i < n; i++) {
        int64_t count = wf_int_at(counts, (size_t)i);

        sign |= count;
        if (i != own)
            sum += count > INT32_MAX ? INT32_MAX : count;
    }
    return sign < 0 ? -1 : sum;
}

static void write_table(struct wf_shmcoll *t, const struct wf_coll_args *a,
                        unsigned char *at)
{
    uint32_t *lengths = (uint32_t *)(void *)at;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r))
        *lengths++ = (uint32_t)wf_coll_block_bytes(wf_coll_send_block(a, r));
}

int wf_shmcoll_write_parts(struct wf_shmcoll *t, const struct wf_coll_args *a,
                           uint64_t total, bool varied)
{
    unsigned char *to;
    int rc = MPI_SUCCESS;

    wf_shmcoll_begin_call(t, total);
    to = wf_shmcoll_data_of(t, t->rank, total);
    if (wf_shmcoll_table_bytes(t, varied))
        write_table(t, a, to);
    to += wf_shmcoll_table_bytes(t, varied);
    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        struct wf_coll_block b = wf_coll_send_block(a, r);

        wf_shmcoll_keep_first_error(
            &rc, wf_shmcoll_pack_elements(to, b.buf, b.count, b.type));
        to += wf_coll_block_bytes(b);
    }
    return rc;
}

const unsigned char *wf_shmcoll_find_part(struct wf_shmcoll *t, int r,
                                          uint64_t bytes, uint64_t *got)
{
    uint64_t total = wf_shmcoll_bytes_of_line(t, r), place,
             at = wf_shmcoll_table_bytes(t, true);
    const unsigned char *data;
    const uint32_t *lengths;

    *got = total;
    if (total > t->block_bytes || total < at)
        return NULL;
    data = wf_shmcoll_data_of(t, r, total);
    lengths = (const void *)data;
    place = wf_shmcoll_part_index(t, r, t->rank);
    if (at) {
        for (uint64_t i = 0; i < place; i++)
            at += lengths[i];
        *got = lengths[place];
    }
    return *got == bytes && at <= total && bytes <= total - at ? data + at
                                                               : NULL;
}

int wf_shmcoll_read_varied_part(struct wf_shmcoll *t, int r,
                                struct wf_coll_block to)
{
    uint64_t got;
    const unsigned char *from =
        wf_shmcoll_find_part(t, r, wf_coll_block_bytes(to), &got);

    return wf_likely(from != NULL)
               ? wf_shmcoll_unpack_elements(from, to.buf, to.count, to.type)
               : wf_shmcoll_check_length(r, got, wf_coll_block_bytes(to));
}

/* ---- alltoall ------------------------------------------------------------ */

static int unpack_equal_parts(struct wf_shmcoll *t,
                              const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS;

    for (int r = 0; r < t->size; r++)
        if (r != t->rank)
            wf_shmcoll_keep_first_error(
                &rc, wf_shmcoll_read_equal_part(
                         t, r, wf_shmcoll_received_block(a, r)));
    return rc;
}

static int unpack_varied_parts(struct wf_shmcoll *t,
                               const struct wf_coll_args *a)
{
    int rc = MPI_SUCCESS;

    for (int r = 0; r < t->size; r++)
        if (r != t->rank)
            wf_shmcoll_keep_first_error(
                &rc,
                wf_shmcoll_read_varied_part(t, r, wf_coll_recv_block(a, r)));
    return rc;
}

static int copy_own_block(const struct wf_coll_args *a)
{
    return wf_shmcoll_copy_own_block(wf_coll_send_block(a, a->comm->rank),
                                     wf_coll_recv_block(a, a->comm->rank));
}

/* Contributes the parts for all others, which fit the block. */
static int contribute_parts(const struct wf_coll_args *a, uint64_t total,
                            bool varied)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int rc = wf_shmcoll_write_parts(t, a, total, varied);

    wf_shmcoll_keep_first_error(&rc, copy_own_block(a));
    wf_shmcoll_publish_flag(t, total, 0);
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
    int rc = wf_shmcoll_find_bad_args(builder, a);

    return rc ? rc : wf_shmcoll_request_schedule(builder, a, 0);
}

int wf_shmcoll_alltoall(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t part, total;

    if (wf_unlikely(!is_plain_alltoall(a)))
        return check_and_schedule(builder, a);
    part = a->scount * (uint64_t)a->stype->size;
    total = part * (uint64_t)(t->size - 1);
    if (part > t->block_bytes || total > t->block_bytes)
        return t->one_copy && part > t->block_bytes
                   ? wf_shmcoll_request_schedule(builder, a, total)
                   : wf_staging_alltoall(builder, a);
    return finish_call(builder, a, contribute_parts(a, total, false),
                       unpack_equal_parts);
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
    uint64_t total =
        sum * (uint64_t)a->stype->size + wf_shmcoll_table_bytes(t, true);
    bool fits = sum <= t->block_bytes && total <= t->block_bytes &&
                (t->size > 2 || got <= t->block_bytes);
    int rc = MPI_SUCCESS, agreed;

    if (t->staging_failed || (!fits && t->one_copy))
        return wf_shmcoll_request_schedule(builder, a, total);
    if (fits)
        rc = contribute_parts(a, total, true);
    else
        wf_staging_publish_lengths(t, a);
    agreed = wf_shmcoll_agree_on_way(t, fits ? 0 : WF_SHMCOLL_FLAG_STAGED);
    if (wf_unlikely(wf_shmcoll_is_schedule(agreed)))
        return wf_shmcoll_run_schedule(t, builder, a);
    if (wf_unlikely(agreed < 0))
        return wf_staging_alltoallv(builder, a);
    wf_shmcoll_keep_first_error(&rc, agreed);
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

    wf_shmcoll_begin_call(t, 0);
    return wf_shmcoll_finish_contribution(t, 0, copy_own_block(a));
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
