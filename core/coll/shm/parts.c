/* Rare cases that several collectives share; and parts for the other members in
 * the block of one member. The parts lie one after the other in the order of
 * ranks, beginning with the next rank. Where their lengths differ, and there
 * are several, a table of lengths comes first.
 *
 * The contents of a table are not trusted: lengths are compared, and positions
 * checked.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/parts.h"

#include "coll/args.h"
#include "coll/run.h"
#include "coll/shm/contribution.h"
#include "report/error.h"

int wf_shmcoll_length_error(int source, uint64_t got, uint64_t expected)
{
    if (got < expected)
        return wf_sched_bad_length(source, got, expected);
    return wf_error(MPI_ERR_TRUNCATE,
                    "rank %d gives %llu bytes where this process expects "
                    "%llu: their counts or datatypes differ",
                    source, (unsigned long long)got,
                    (unsigned long long)expected);
}

int wf_shmcoll_check_args(wf_coll_builder *builder,
                          const struct wf_coll_args *a)
{
    struct wf_sched *s;
    int rc = wf_coll_build(builder, a, false, &s);

    if (!rc)
        wf_sched_abandon(s);
    return rc;
}

int wf_shmcoll_run_schedule(struct wf_shmcoll *t, wf_coll_builder *builder,
                            const struct wf_coll_args *a)
{
    wf_shmcoll_complete_call(t);
    return wf_coll_run_blocking(builder, a);
}

int wf_shmcoll_request_schedule(wf_coll_builder *builder,
                                const struct wf_coll_args *a, uint64_t bytes)
{
    struct wf_shmcoll *t = a->comm->shmcoll;

    wf_shmcoll_begin_call(t, 0);
    wf_shmcoll_store_flag(t, bytes, WF_SHMCOLL_FLAG_SCHEDULE);
    return wf_shmcoll_run_schedule(t, builder, a);
}

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

int wf_shmcoll_pack_parts(struct wf_shmcoll *t, const struct wf_coll_args *a,
                          unsigned char *to)
{
    int rc = MPI_SUCCESS;

    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r)) {
        struct wf_coll_block b = wf_coll_send_block(a, r);

        wf_shmcoll_keep_first_error(
            &rc, wf_shmcoll_pack_elements(to, b.buf, b.count, b.type));
        to += wf_coll_block_bytes(b);
    }
    return rc;
}

void wf_shmcoll_write_table(struct wf_shmcoll *t, const struct wf_coll_args *a,
                            unsigned char *at)
{
    uint32_t *lengths = (uint32_t *)(void *)at;

    if (!wf_shmcoll_table_bytes(t))
        return;
    for (int r = wf_shmcoll_next_rank(t, t->rank); r != t->rank;
         r = wf_shmcoll_next_rank(t, r))
        *lengths++ = (uint32_t)wf_coll_block_bytes(wf_coll_send_block(a, r));
}

const unsigned char *wf_shmcoll_find_part(struct wf_shmcoll *t, int r,
                                          uint64_t total, uint64_t bytes,
                                          uint64_t *got)
{
    const unsigned char *data = wf_shmcoll_data_of(t, r, total);
    const uint32_t *lengths = (const void *)data;
    uint64_t at = wf_shmcoll_table_bytes(t),
             place = wf_shmcoll_part_index(t, r, t->rank);

    *got = total;
    if (total > t->block_bytes || total < at)
        return NULL;
    if (at) {
        for (uint64_t i = 0; i < place; i++)
            at += lengths[i];
        *got = lengths[place];
    }
    return *got == bytes && at <= total && bytes <= total - at ? data + at
                                                               : NULL;
}
