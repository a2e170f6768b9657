/* Shared-memory collectives from a root: bcast, scatter, scatterv.
 *
 * The root's line decides on the way. A rank that is to receive 0 bytes of a
 * scatterv only counts the call.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/all_to_all.h"
#include "coll/shm/contribution.h"
#include "coll/shm/large.h"

/* Each collective has a copy of these, for the functions that it names. */
#define SKELETON inline __attribute__((always_inline))

/* Begins a large call at the root: through the ring, unless a message is as
 * good, between two ranks or because it is one copy. */
static WF_COLD int announce_large(wf_coll_builder *builder,
                                  const struct wf_coll_args *a,
                                  wf_shmcoll_collective *large)
{
    struct wf_shmcoll *t = a->comm->shmcoll;

    if (t->size == 2 || t->one_copy || t->staging_failed)
        return wf_shmcoll_request_schedule(builder, a, 0);
    wf_shmcoll_begin_call(t, 0);
    return large(builder, a);
}

/* Runs the call in a member that is not the root: `take` reads what the root
 * has contributed, `large` runs it through the ring, if there is such a way. */
static SKELETON int run_after_root(wf_coll_builder *builder,
                                   const struct wf_coll_args *a,
                                   wf_shmcoll_collective *large,
                                   wf_shmcoll_reader *take)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t word;
    int rc;

    wf_shmcoll_begin_without_line(t);
    rc = wf_shmcoll_wait_flag(t, a->root, &word);
    if (wf_likely(!rc) && wf_unlikely(wf_shmcoll_wants_schedule(word)))
        return wf_shmcoll_run_schedule(t, builder, a);
    if (wf_likely(!rc) && wf_unlikely(word & WF_SHMCOLL_FLAG_STAGED)) {
        if (large)
            return large(builder, a);
        rc = wf_shmcoll_report_other_count(a->root);
    }
    if (wf_likely(!rc))
        rc = take(t, a);
    wf_shmcoll_complete_call(t);
    return rc;
}

static int read_vector(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    return wf_shmcoll_read_whole(t, a->root, wf_shmcoll_received_vector(a));
}

int wf_shmcoll_bcast(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_coll_block vector = wf_shmcoll_received_vector(a);
    int rc = wf_shmcoll_check_args(
        builder, a, wf_shmcoll_is_root_valid(a) && a->rbuf != MPI_IN_PLACE);

    if (wf_unlikely(rc))
        return rc;
    if (!wf_shmcoll_is_root(a))
        return run_after_root(builder, a, wf_staging_bcast, read_vector);
    return wf_coll_block_bytes(vector) > a->comm->shmcoll->block_bytes
               ? announce_large(builder, a, wf_staging_bcast)
               : wf_shmcoll_contribute_elements(a->comm->shmcoll, vector);
}

/* ---- scatter ------------------------------------------------------------- */

static int scatter_own_block(const struct wf_coll_args *a)
{
    return a->rbuf == MPI_IN_PLACE
               ? MPI_SUCCESS
               : wf_shmcoll_copy_own_block(wf_coll_send_block(a, a->root),
                                           wf_shmcoll_received_vector(a));
}

static int contribute_parts(const struct wf_coll_args *a, uint64_t total,
                            bool varied)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int rc = wf_shmcoll_finish_contribution(
        t, total, wf_shmcoll_write_parts(t, a, total, varied));

    wf_shmcoll_keep_first_error(&rc, scatter_own_block(a));
    return rc;
}

static int read_equal_part(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    return wf_shmcoll_read_equal_part(t, a->root,
                                      wf_shmcoll_received_vector(a));
}

static int read_varied_part(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    return wf_shmcoll_read_varied_part(t, a->root,
                                       wf_shmcoll_received_vector(a));
}

static bool is_plain_scatter(const struct wf_coll_args *a)
{
    if (!wf_shmcoll_is_root_valid(a))
        return false;
    if (!wf_shmcoll_is_root(a))
        return a->rtype && a->rbuf != MPI_IN_PLACE;
    return a->stype && a->sbuf != MPI_IN_PLACE &&
           (a->rbuf == MPI_IN_PLACE ||
            (a->rtype && a->rbuf != wf_coll_sblock(a, a->root) &&
             (a->sdispls.base || a->sbuf != a->rbuf)));
}

int wf_shmcoll_scatter(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int rc = wf_shmcoll_check_args(builder, a, is_plain_scatter(a));
    uint64_t part, total;

    if (wf_unlikely(rc))
        return rc;
    if (!wf_shmcoll_is_root(a))
        return run_after_root(builder, a, wf_staging_scatter, read_equal_part);
    part = a->scount * (uint64_t)a->stype->size;
    total = part * (uint64_t)(t->size - 1);
    if (part <= t->block_bytes && total <= t->block_bytes)
        return contribute_parts(a, total, false);
    return t->heavily_oversubscribed && total >= WF_SHMCOLL_SCATTER_RING_MOST
               ? wf_shmcoll_request_schedule(builder, a, 0)
               : announce_large(builder, a, wf_staging_scatter);
}

/* Contributes the parts of the root, `sum` elements for others. */
static int contribute_varied_parts(wf_coll_builder *builder,
                                   const struct wf_coll_args *a, int64_t sum)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t total = (uint64_t)sum * (uint64_t)a->stype->size;

    if (total == 0)
        return wf_shmcoll_skip_call(t, scatter_own_block(a));
    total += wf_shmcoll_table_bytes(t, true);
    if ((uint64_t)sum > t->block_bytes || total > t->block_bytes)
        return wf_shmcoll_request_schedule(builder, a, 0);
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
    if ((rc = wf_shmcoll_check_args(
             builder, a,
             is_plain_scatter(a) &&
                 (!root || (sum >= 0 && a->sdispls.base && a->sbuf)))))
        return rc;
    if (root)
        rc = contribute_varied_parts(builder, a, sum);
    else if (a->rcount * (uint64_t)a->rtype->size == 0)
        rc = wf_shmcoll_skip_call(t, MPI_SUCCESS);
    else
        rc = run_after_root(builder, a, NULL, read_varied_part);
    a->comm->coll_tag = tag + 1; /* whether or not this member ran a schedule */
    return rc;
}
