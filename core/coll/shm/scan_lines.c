/* Scans on the lines of all members, in the order and with the brackets of the
 * schedules: the same bits, whichever way a call goes.
 *
 *   rank 0 --line--> rank 1 --line--> rank 2 ...
 *
 * A member writes the sum up to its own operand: its reader adds one vector,
 * whatever its rank. The sum goes from rank to rank as in the schedule, so
 * brackets are the same. Long vectors go through the staging ring
 * (large_fold.c).
 *
 * A rank waits for a higher one only to use a line again, and, as long as one
 * scan follows the other, only for the next rank, which reads it: otherwise all
 * would wait for the last rank's first call, and only one window of calls would
 * be under way at a time. A rank that must wait does so until half of the
 * window is free. All ways of a scan use more lines and blocks than other
 * collectives, where those have few.
 *
 * A member reads only the line of the rank below it. So one that wants a
 * schedule waits for all; and one that finds the line below wrong writes a line
 * of no bytes, at which the next one fails as well.
 *
 * Of many members, where the schedule has other brackets than a chain, rank 0
 * computes the sums (scan_by_leader.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/decision.h"
#include "coll/shm/by_leader.h"
#include "coll/shm/fold.h"
#include "coll/shm/large_fold.h"
#include "coll/shm/scan_by_leader.h"
#include "coll/shm/tuning.h"
#include "object/error.h"

/* One scan, in this member. */
struct scanning {
    struct wf_shmcoll *t;
    const struct wf_coll_args *a;
    uint64_t bytes;
    bool exclusive;
    /* of other collectives, which have used the line or block of this call so
     * many calls ago at the latest, and before all scans that follow each
     * other */
    struct wf_shmcoll_places others;
};

/* Waits until the next rank has read the lines of calls up to `again`, and then
 * of `more` calls after it. */
static void wait_for_reader(struct wf_shmcoll *t, uint32_t again, uint32_t more)
{
    int reader = t->rank + 1;
    uint64_t seen;

    if (reader == t->size || (int32_t)(again - t->scan_read_call) <= 0)
        return;
    if (wf_shmcoll_wait_word(t, reader,
                             &t->shared->members[reader].last_completed_call,
                             (uint64_t)(again + more) << 32, &seen))
        return; /* a member that is gone reads nothing any more */
    t->scan_read_call = (uint32_t)(seen >> 32);
}

/* Begins a scan, as wf_shmcoll_begin_call; as many calls as there are places
 * may be under way between two members. */
static void begin_scan(const struct scanning *s)
{
    struct wf_shmcoll *t = s->t;
    uint32_t calls = wf_shmcoll_count_places(t, s->bytes), again;

    if (t->scan_last_call != t->call || t->scan_window != calls) {
        t->scan_first_call = t->call + 1;
        t->scan_read_call = t->call;
        t->scan_window = calls;
    }
    t->scan_last_call = ++t->call;
    (void)wf_shmcoll_take_place(t, s->bytes); /* waits for it follow here */
    again = t->call - calls;
    if ((int32_t)(again - t->scan_first_call) >= 0) {
        wait_for_reader(t, again, calls / 2);
        return;
    }
    again = t->call - (s->bytes > WF_SHMCOLL_INLINE_BYTES ? s->others.blocks
                                                          : s->others.lines);
    if ((int32_t)(again - t->scan_first_call) >= 0)
        again = t->scan_first_call - 1;
    if ((int32_t)(again - t->all_completed_call) > 0)
        wf_shmcoll_wait_all_completed(t, again);
}

/* ---- one scan ------------------------------------------------------------ */

static char *result_of(const struct scanning *s)
{
    return wf_type_data(s->a->rtype, s->a->rbuf);
}

/* Copies the own operand to where the lower sum is to be added. */
static void copy_operand(const struct scanning *s, void *to)
{
    const char *own = wf_type_data(s->a->rtype, wf_shmcoll_own_operand(s->a));

    if (own != to)
        wf_shmcoll_copy_bytes(to, own, s->bytes);
}

/* Waits for the sum of the lower ranks. */
static int wait_lower_sum(const struct scanning *s, const void **lower)
{
    int from = s->t->rank - 1, rc;
    uint64_t word;

    rc = wf_shmcoll_wait_flag(s->t, from, &word);
    if (wf_unlikely(rc))
        return rc;
    *lower = wf_shmcoll_data_of(s->t, from, s->bytes);
    if (wf_unlikely(wf_shmcoll_names_way(word)))
        return wf_shmcoll_report_other_count(from);
    return wf_shmcoll_check_length(from, wf_shmcoll_bytes_of(word), s->bytes);
}

/* Scans in the highest rank, whose line only a rank that fails reads. */
static int finish_chain(const struct scanning *s)
{
    const void *lower;
    int rc;

    wf_shmcoll_store_flag(s->t, s->bytes, 0);
    if (!s->exclusive)
        copy_operand(s, result_of(s));
    rc = wait_lower_sum(s, &lower);
    if (wf_likely(!rc) && s->exclusive)
        wf_shmcoll_copy_bytes(result_of(s), lower, s->bytes);
    else if (wf_likely(!rc))
        rc = wf_shmcoll_apply_op(s->a, lower, result_of(s), s->a->rcount);
    return rc;
}

/* Scans in the other ranks. The sum is published before it is copied out; a
 * rank that sleeps for it is woken afterwards. */
static int pass_sum_on(const struct scanning *s)
{
    struct wf_shmcoll *t = s->t;
    const void *lower = NULL;
    void *sum;
    int rc = MPI_SUCCESS;

    sum = wf_shmcoll_data_of(t, t->rank, s->bytes);
    copy_operand(s, sum);
    if (t->rank > 0)
        rc = wait_lower_sum(s, &lower);
    if (t->rank > 0 && wf_likely(!rc))
        rc = wf_shmcoll_apply_op(s->a, lower, sum, s->a->rcount);
    wf_shmcoll_store_flag(t, wf_likely(!rc) ? s->bytes : 0, 0);
    if (wf_unlikely(rc))
        return rc;
    if (!s->exclusive)
        wf_shmcoll_copy_bytes(result_of(s), sum, s->bytes);
    else if (lower)
        wf_shmcoll_copy_bytes(result_of(s), lower, s->bytes);
    return MPI_SUCCESS;
}

static bool schedule_uses_chain(const struct wf_coll_args *a, uint64_t bytes)
{
    return a->comm->size == 2 ||
           wf_coll_find_rule(a->comm, WF_COLL_SCAN, bytes, WF_ALG_ANY, NULL)
                   ->algorithm == WF_ALG_CHAIN;
}

static WF_COLD int run_by_schedule(wf_coll_builder *builder,
                                   const struct scanning *s)
{
    if (schedule_uses_chain(s->a, 1)) /* others may be using lines */
        return wf_shmcoll_agree_on_schedule(builder, s->a, s->bytes);
    return wf_shmcoll_request_schedule(builder, s->a, s->bytes);
}

static int run_on_lines(const struct scanning *s)
{
    struct wf_shmcoll *t = s->t;
    int rc;

    begin_scan(s);
    rc = t->rank + 1 == t->size ? finish_chain(s) : pass_sum_on(s);
    wf_shmcoll_complete_call(t);
    return rc;
}

/* Returns true if one message, whose copy does not go through the cache, is
 * faster between two ranks. */
static bool is_long_pair(const struct scanning *s)
{
    return s->t->size == 2 &&
           s->bytes >= (s->exclusive ? WF_SHMCOLL_EXSCAN_PAIR_MOST
                                     : WF_SHMCOLL_SCAN_PAIR_MOST);
}

static int choose_path(wf_coll_builder *builder, const struct scanning *s)
{
    const struct wf_coll_args *a = s->a;
    struct wf_shmcoll *t = s->t;
    bool plain = a->op->predefined && wf_type_is_contiguous(a->rtype),
         chain = schedule_uses_chain(a, s->bytes),
         able = plain && chain && !is_long_pair(s),
         led = plain && !chain && wf_shmcoll_has_leader(t) &&
               s->bytes <= t->block_bytes;
    uint32_t again = t->call + 1 - (led ? s->others.blocks : s->others.lines);

    if (wf_likely(able && s->bytes <= t->block_bytes))
        return run_on_lines(s);
    if ((int32_t)(again - t->all_completed_call) > 0)
        wf_shmcoll_wait_all_completed(t, again);
    if (led)
        return wf_shmcoll_scan_by_leader(builder, a, s->exclusive);
    return able ? wf_staging_scan(builder, a, s->exclusive)
                : run_by_schedule(builder, s);
}

static int run_scan(wf_coll_builder *builder, const struct wf_coll_args *a,
                    bool exclusive)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes = a->rcount * (uint64_t)a->rtype->size;
    struct scanning s = {t, a, bytes, exclusive, t->places};
    bool plain = wf_shmcoll_is_plain_reduction(a);
    int rc;

    if ((rc = wf_shmcoll_check_args(builder, a, plain)))
        return rc;
    if (bytes == 0)
        return MPI_SUCCESS;
    t->places = t->scan_places;
    rc = choose_path(builder, &s);
    t->places = s.others;
    return rc;
}

int wf_shmcoll_scan(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    return run_scan(builder, a, false);
}

int wf_shmcoll_exscan(wf_coll_builder *builder, const struct wf_coll_args *a)
{
    return run_scan(builder, a, true);
}
