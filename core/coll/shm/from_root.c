/* Shared-memory collectives from a root: bcast and scatter.
 *
 * The root's line decides on the way; the others wait for it in any case.
 *
 * A rank that is to receive 0 bytes of a scatterv does not wait; it only counts
 * the call.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/args.h"
#include "coll/shm/large.h"
#include "coll/shm/parts.h"
#include "coll/shm/staging.h"

/* Where more than four members share each CPU, one copy of a message by each
 * reader costs less than the two copies of the staging ring from so many bytes
 * for all of them on. */
enum { SCHEDULE_MIN_BYTES = 8 << 20 };
enum {
    BY_SCHEDULE = WF_SHMCOLL_RUN_SCHEDULE,
    BY_STAGE = WF_SHMCOLL_RUN_STAGED
};

static WF_COLD int announce_schedule(struct wf_shmcoll *t,
                                     wf_coll_builder *builder,
                                     const struct wf_coll_args *a)
{
    wf_shmcoll_begin_call(t, 0);
    wf_shmcoll_store_flag(t, 0, WF_SHMCOLL_FLAG_SCHEDULE);
    return wf_shmcoll_run_schedule(t, builder, a);
}

/* Begins a large call at the root: through the ring, unless a message is as
 * good, between two ranks or because it is one copy. */
static WF_COLD int announce_large(struct wf_shmcoll *t,
                                  wf_coll_builder *builder,
                                  const struct wf_coll_args *a,
                                  wf_shmcoll_collective *large)
{
    if (t->size == 2 || t->one_copy || t->staging_failed)
        return announce_schedule(t, builder, a);
    wf_shmcoll_begin_call(t, 0);
    return large(builder, a);
}

/* Waits for the root's line, in another member. Returns BY_SCHEDULE, BY_STAGE,
 * an error or 0. */

static int wait_root_line(struct wf_shmcoll *t, int root, uint64_t *bytes)
{
    uint64_t word;
    int rc;

    wf_shmcoll_begin_without_line(t);
    rc = wf_shmcoll_wait_flag(t, root, &word);
    *bytes = wf_shmcoll_bytes_of(word);
    if (wf_unlikely(rc))
        wf_shmcoll_complete_call(t);
    if (wf_likely(rc || !(word &
                          (WF_SHMCOLL_FLAG_SCHEDULE | WF_SHMCOLL_FLAG_STAGED))))
        return rc;
    return wf_shmcoll_wants_schedule(word) ? BY_SCHEDULE : BY_STAGE;
}

int wf_shmcoll_bcast(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size, got;
    int rc;

    if (wf_unlikely(!wf_shmcoll_is_root_valid(a) || a->rbuf == MPI_IN_PLACE) &&
        (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    if (!wf_shmcoll_is_root(a)) {
        rc = wait_root_line(t, a->root, &got);
        if (rc == BY_SCHEDULE)
            return wf_shmcoll_run_schedule(t, builder, a);
        if (rc == BY_STAGE)
            return wf_staging_bcast(builder, a);
        if (wf_likely(!rc))
            rc = wf_shmcoll_check_length(a->root, got, bytes);
        if (wf_likely(!rc))
            rc = wf_shmcoll_unpack_elements(
                wf_shmcoll_data_of(t, a->root, bytes), a->rbuf, a->rcount,
                a->rtype);
        wf_shmcoll_complete_call(t);
        return rc;
    }
    if (bytes > t->block_bytes)
        return announce_large(t, builder, a, wf_staging_bcast);
    wf_shmcoll_begin_call(t, bytes);
    rc = wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, t->rank, bytes),
                                  a->rbuf, a->rcount, a->rtype);
    return wf_shmcoll_finish_contribution(t, bytes, rc);
}

/* ---- scatter ------------------------------------------------------------- */

static struct wf_coll_block receive_block(const struct wf_coll_args *a)
{
    return (struct wf_coll_block){a->rbuf, a->rcount, a->rtype};
}

static int contribute_parts(const struct wf_coll_args *a, uint64_t total,
                            bool table)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    unsigned char *to;
    int rc;

    wf_shmcoll_begin_call(t, total);
    to = wf_shmcoll_data_of(t, t->rank, total);
    if (table)
        wf_shmcoll_write_table(t, a, to);
    rc = wf_shmcoll_pack_parts(t, a,
                               to + (table ? wf_shmcoll_table_bytes(t) : 0));
    rc = wf_shmcoll_finish_contribution(t, total, rc);
    if (a->rbuf != MPI_IN_PLACE)
        wf_shmcoll_keep_first_error(
            &rc, wf_shmcoll_copy_own_block(wf_coll_send_block(a, a->root),
                                           receive_block(a)));
    return rc;
}

static int receive_part(struct wf_shmcoll *t, wf_coll_builder *builder,
                        const struct wf_coll_args *a)
{
    uint64_t others = (uint64_t)(t->size - 1), got;
    uint64_t part = a->rcount * (uint64_t)a->rtype->size;
    int rc = wait_root_line(t, a->root, &got);

    if (rc == BY_SCHEDULE)
        return wf_shmcoll_run_schedule(t, builder, a);
    if (rc == BY_STAGE)
        return wf_staging_scatter(builder, a);
    if (wf_likely(!rc))
        rc = wf_shmcoll_check_length(a->root, got / others, part);
    if (wf_likely(!rc))
        rc = wf_shmcoll_unpack_elements(
            wf_shmcoll_data_of(t, a->root, part * others) +
                wf_shmcoll_part_index(t, a->root, t->rank) * part,
            a->rbuf, a->rcount, a->rtype);
    wf_shmcoll_complete_call(t);
    return rc;
}

static bool is_plain_scatter(const struct wf_coll_args *a)
{
    if (!wf_shmcoll_is_root_valid(a))
        return false;
    if (!wf_shmcoll_is_root(a))
        return a->rtype && a->rbuf != MPI_IN_PLACE;
    return a->stype && a->sbuf != MPI_IN_PLACE &&
           (a->rbuf == MPI_IN_PLACE || (a->rtype && a->sbuf != a->rbuf)) &&
           !a->sdispls.base;
}

int wf_shmcoll_scatter(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t part, total;
    int rc;

    if (wf_unlikely(!is_plain_scatter(a)) &&
        (rc = wf_shmcoll_check_args(builder, a)))
        return rc;
    part = wf_shmcoll_is_root(a) ? a->scount * (uint64_t)a->stype->size
                                 : a->rcount * (uint64_t)a->rtype->size;
    if (!wf_shmcoll_is_root(a))
        return receive_part(t, builder, a);
    total = part * (uint64_t)(t->size - 1);
    if (part > t->block_bytes || total > t->block_bytes)
        return t->heavily_oversubscribed && total >= SCHEDULE_MIN_BYTES
                   ? announce_schedule(t, builder, a)
                   : announce_large(t, builder, a, wf_staging_scatter);
    return contribute_parts(a, total, false);
}

static int receive_varied_part(struct wf_shmcoll *t, wf_coll_builder *builder,
                               const struct wf_coll_args *a)
{
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size, total, got;
    const unsigned char *from;
    int rc = wait_root_line(t, a->root, &total);

    if (rc == BY_SCHEDULE)
        return wf_shmcoll_run_schedule(t, builder, a);
    if (rc == BY_STAGE) /* no root writes that */
        rc = wf_shmcoll_check_length(a->root, total, bytes);
    if (wf_likely(!rc)) {
        from = wf_shmcoll_find_part(t, a->root, total, bytes, &got);
        rc = from ? wf_shmcoll_unpack_elements(from, a->rbuf, a->rcount,
                                               a->rtype)
                  : wf_shmcoll_check_length(a->root, got, bytes);
    }
    wf_shmcoll_complete_call(t);
    return rc;
}

/* Returns true if the builder would accept the root's arguments. */
static bool has_plain_counts(const struct wf_coll_args *a, int64_t sum)
{
    return sum >= 0 && a->sdispls.base && a->stype && a->sbuf &&
           a->sbuf != MPI_IN_PLACE &&
           (a->rbuf == MPI_IN_PLACE ||
            (a->rtype && a->rbuf != wf_coll_sblock(a, a->root)));
}

/* Contributes the parts of the root, `sum` elements for others. */
static int contribute_varied_parts(wf_coll_builder *builder,
                                   const struct wf_coll_args *a, int64_t sum)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t total = (uint64_t)sum * (uint64_t)a->stype->size;

    if (total == 0)
        return wf_shmcoll_skip_call(
            t, a->rbuf == MPI_IN_PLACE
                   ? MPI_SUCCESS
                   : wf_shmcoll_copy_own_block(wf_coll_send_block(a, a->root),
                                               receive_block(a)));
    total += wf_shmcoll_table_bytes(t);
    if ((uint64_t)sum > t->block_bytes || total > t->block_bytes)
        return announce_schedule(t, builder, a);
    return contribute_parts(a, total, true);
}

int wf_shmcoll_scatterv(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    bool root = wf_shmcoll_is_root_valid(a) && wf_shmcoll_is_root(a);
    uint32_t tag = a->comm->coll_tag;
    int64_t sum = 0;
    int rc;

    if (root)
        sum = a->scounts.base
                  ? wf_shmcoll_sum_counts(a->scounts, t->size, t->rank)
                  : -1;
    if ((rc = wf_shmcoll_check_unless_plain(builder, a,
                                            root ? has_plain_counts(a, sum)
                                                 : is_plain_scatter(a))))
        return rc;
    if (root)
        rc = contribute_varied_parts(builder, a, sum);
    else if (a->rcount * (uint64_t)a->rtype->size == 0)
        rc = wf_shmcoll_skip_call(t, MPI_SUCCESS);
    else
        rc = receive_varied_part(t, builder, a);
    a->comm->coll_tag = tag + 1; /* whether or not this member ran a schedule */
    return rc;
}
