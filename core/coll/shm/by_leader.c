/* Shared-memory collectives of many members: rank 0 reads the lines of all, and
 * its own line says that the results are there.
 *
 *   a member   writes its line --------------------> waits for that of rank 0,
 *                                                    and reads the result
 *   rank 0     waits for all lines, computes, writes its line, goes on
 *
 * DESIGN  Where every member reads every line (all_to_all.c), n members read n
 * times n of them; here it is 2 n. A line costs a processor that many ranks
 * share more than the line: the address of each is on a page of its own, and
 * the rank that ran before had other pages.
 *
 * All members find an irregular call alike: if a line names a way, or rank 0
 * cannot compute the result because lengths differ, it answers "schedule", and
 * the schedule finds what is wrong. A member that wants a schedule says so and
 * does not wait for the answer.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/shm/by_leader.h"

#include "coll/shm/fold.h"

enum { LEADER = 0 };

/* Answers, in rank 0, when all lines are there. */
static int answer_all(wf_coll_builder *builder, const struct wf_coll_args *a,
                      uint64_t bytes, wf_shmcoll_reader *answer)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int agreed = wf_shmcoll_agree_on_way(t, 0), rc = MPI_SUCCESS;

    if (agreed > 0) { /* it has left, and the others will find that */
        wf_shmcoll_complete_call(t);
        return agreed;
    }
    if (!agreed)
        rc = answer(t, a);
    if (agreed || rc) {
        wf_shmcoll_publish_flag(t, bytes, WF_SHMCOLL_FLAG_SCHEDULE);
        return wf_shmcoll_run_schedule(t, builder, a);
    }
    wf_shmcoll_publish_flag(t, bytes, 0);
    wf_shmcoll_complete_call(t);
    return MPI_SUCCESS;
}

/* Waits for the answer, in another member, whose line is written. */
static int take_answer(wf_coll_builder *builder, const struct wf_coll_args *a,
                       wf_shmcoll_reader *take)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t word;
    int rc = wf_shmcoll_wait_flag(t, LEADER, &word);

    if (!rc && wf_shmcoll_wants_schedule(word))
        return wf_shmcoll_run_schedule(t, builder, a);
    if (!rc && word & WF_SHMCOLL_FLAG_STAGED)
        rc = wf_shmcoll_report_other_count(LEADER);
    if (!rc) {
        /* a member of this call has completed the last one */
        t->all_completed_call = t->call - 1;
        rc = take(t, a);
    }
    wf_shmcoll_complete_call(t);
    return rc;
}

int wf_shmcoll_run_by_leader(wf_coll_builder *builder,
                             const struct wf_coll_args *a,
                             struct wf_coll_block own,
                             const struct wf_shmcoll_led *call)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    uint64_t bytes;
    int rc = wf_shmcoll_write_contribution(t, own, &bytes);

    if (rc) {
        wf_shmcoll_publish_flag(t, bytes, WF_SHMCOLL_FLAG_SCHEDULE);
        return wf_shmcoll_run_schedule(t, builder, a);
    }
    if (t->rank == LEADER)
        return answer_all(builder, a, bytes, call->answer);
    wf_shmcoll_publish_flag(t, bytes, 0);
    return take_answer(builder, a, call->take);
}

/* ---- one result for all: the line of rank 0 ------------------------------ */

static int take_result(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    return wf_shmcoll_read_whole(t, LEADER, wf_shmcoll_received_vector(a));
}

static int answer_sum(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    uint64_t bytes = wf_coll_block_bytes(wf_shmcoll_received_vector(a));
    int rc = wf_shmcoll_fold_all(t, a);

    return rc ? rc
              : wf_shmcoll_pack_elements(wf_shmcoll_data_of(t, LEADER, bytes),
                                         a->rbuf, a->rcount, a->rtype);
}

int wf_shmcoll_allreduce_by_leader(wf_coll_builder *builder,
                                   const struct wf_coll_args *a,
                                   struct wf_coll_block own)
{
    static const struct wf_shmcoll_led sum = {answer_sum, take_result};

    return wf_shmcoll_run_by_leader(builder, a, own, &sum);
}

/* Checks that all have called a barrier: their lines have no bytes. */
static int answer_nothing(struct wf_shmcoll *t, const struct wf_coll_args *a)
{
    (void)a;
    return wf_shmcoll_check_all_lengths(t, 0);
}

int wf_shmcoll_barrier_by_leader(struct wf_shmcoll *t)
{
    static const struct wf_shmcoll_led barrier = {answer_nothing, take_result};
    struct wf_coll_block none = {.type = wf_coll_byte()};
    struct wf_coll_args a = {.comm = t->comm, .rtype = none.type};

    return wf_shmcoll_run_by_leader(wf_build_barrier, &a, none, &barrier);
}
