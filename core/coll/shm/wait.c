/* Waiting for a flag of another member, waking the members that do, and the
 * agreement of all on the way of a call, to which their lines lead.
 *
 *   waiter                               writer (wf_shmcoll_notify_sleepers)
 *   polls the flag a few times           flag, or last_completed_call
 *   poll, spin or yield (progress)       fence, unless waiters use membarrier
 *   wake_request_rank = writer + 1,      its sleepers not 0: which members have
 *   sleepers of the writer + 1             this rank as wake_request_rank?
 *   full barrier, poll once more           reset it, and send that member a
 *   sleep in epoll                         message without content
 *
 * DESIGN  A process may be waited for by peers that are outside the collective,
 * for instance for a rendezvous. So the wait is that of any other call
 * (progress/wait.c), which drives the engine and sleeps in epoll; there a
 * message wakes it. Only one writer wakes a sleeper, whatever the number of
 * members that arrive meanwhile.
 *
 * Where ranks outnumber CPUs a waiter does not poll, it yields at once: another
 * rank on the same CPU runs, arrives, and yields as well. Then a round of the
 * run queue is a round of the collective, without a wake-up.
 *
 * ERRORS  A member is gone, or does not use the segment: MPI_ERR_PROC_ABORTED.
 * A rank that finds this leaves: it says so, and its mapping of the segments
 * becomes private memory. Its later calls wait for no other rank, and their
 * writes cannot change what a member still reads.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coll/shm/wait.h"

#include <sys/mman.h>

#include "coll/lengths.h"
#include "coll/shm/contribution.h"
#include "group/describe_wait.h"
#include "object/error.h"
#include "os/membarrier.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/credit.h"
#include "protocol/death.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/queues.h"
#include "protocol/request.h"

/* A wait for a flag of one member. */
struct member_wait {
    struct wf_flag_wait wait;
    struct wf_event_source *source; /* while the engine is driven */
    struct wf_shmcoll *t;
    int rank;
    const wf_atomic_u64 *word; /* the flag, of that rank */
    uint64_t least;            /* the value to wait for, or a later one */
};

static bool is_reached(const struct member_wait *w)
{
    /* pairs with wf_shmcoll_complete_call, wf_shmcoll_store_flag and those of
     * staging.c */
    return wf_shmcoll_is_reached(wf_load_acquire(w->word), w->least);
}

static bool is_member_lost(const struct member_wait *w)
{
    return w->wait.loc->failed || wf_comm_is_dead(w->t->comm) ||
           wf_load_relaxed(&w->t->shared->members[w->rank].no_shm);
}

static bool is_wait_over(void *arg)
{
    return is_reached(arg) || is_member_lost(arg);
}

/* True if the flag was written since the last poll, and is reached. Any thread
 * of the rank may find that. */
static int poll_flag(wf_source_object *wait, int budget)
{
    struct member_wait *w = (struct member_wait *)wait;
    uint64_t value = wf_load_acquire(w->word);
    bool changed = value != w->source->seen;

    w->source->seen = value;
    return changed && wf_shmcoll_is_reached(value, w->least);
}

/* Asks the awaited member to wake this one when it writes. It resets the
 * request before it does so, and thus is asked again each time. */
static int arm_wakeup(wf_source_object *wait, uint64_t *deadline_ns)
{
    struct member_wait *w = (struct member_wait *)wait;
    struct wf_shmcoll *t = w->t;
    wf_atomic_u32 *request = &t->shared->members[t->rank].wake_request_rank;

    if (w->source->state != WF_SOURCE_ARMED)
        wf_add_acq_rel(&t->shared->members[w->rank].sleepers, 1);
    wf_store_relaxed(request, (uint32_t)w->rank + 1);
    wf_fence_full(); /* pairs with wf_shmcoll_notify_sleepers */
    if (!t->writers_fence)
        (void)wf_membarrier(); /* registered at set-up */
    return is_member_lost(w) ? WEFT_EAGAIN : WEFT_OK;
}

static void disarm_wakeup(wf_source_object *wait)
{
    struct member_wait *w = (struct member_wait *)wait;

    wf_store_relaxed(&w->t->shared->members[w->t->rank].wake_request_rank, 0);
    wf_add_acq_rel(&w->t->shared->members[w->rank].sleepers,
                   UINT32_MAX); /* minus one */
}

static const struct wf_event_source flag_of_member = {.name =
                                                          "flag of a member",
                                                      .poll = poll_flag,
                                                      .arm = arm_wakeup,
                                                      .disarm = disarm_wakeup,
                                                      .fd = -1};

static int report_lost_member(const struct member_wait *w)
{
    const struct weft_loc *loc = w->wait.loc;

    if (wf_comm_is_dead(w->t->comm))
        return wf_error_class(wf_comm_record_dead(w->t->comm));
    if (!loc)
        return wf_error(MPI_ERR_PROC_ABORTED, "a member of the communicator "
                                              "is gone");
    return wf_error(loc->failed ? wf_error_class(wf_location_status(loc))
                                : MPI_ERR_PROC_ABORTED,
                    "rank %d (process %u on %s): %s", w->rank, loc->id,
                    loc->host ? loc->host : "unknown host",
                    loc->failed ? wf_location_down_text(loc)
                                : "it lost a member of the communicator");
}

static void describe_wait(const void *arg, struct wf_wait *to)
{
    const struct member_wait *w = arg;

    to->operation = WF_STATE_COLLECTIVE;
    wf_wait_set_comm(to, w->t->comm);
    wf_wait_set_peer(to, w->t->comm, false, w->rank);
    to->number = w->t->call;
}

/* Drives the engine until the flag is reached. */
static int wait_with_progress(struct member_wait *w)
{
    struct wf_wait_cause cause = {describe_wait, w};
    struct wf_comm *comm = w->t->comm;
    struct wf_instance *wf = comm->wf;
    struct wf_event_source source = flag_of_member;

    source.object = (wf_source_object *)w;
    source.word = w->word;
    source.seen = wf_load_acquire(w->word);
    w->source = &source;
    w->wait.loc = wf_location(wf, wf_group_proc(comm->peers, w->rank));
    if (!w->wait.loc)
        return wf_error(MPI_ERR_NO_MEM, "out of memory for rank %d", w->rank);
    wf_flag_wait_begin(wf, &w->wait);
    (void)wf_source_add(wf, &source, WF_SOURCE_BIT_ANY); /* no descriptor */
    wf_progress_wait(wf, w->t->endpoint_mask, is_wait_over, w, &cause);
    wf_source_remove(wf, &source);
    wf_flag_wait_end(wf, &w->wait);
    return is_reached(w) ? MPI_SUCCESS : report_lost_member(w);
}

static int wait_for_word(struct member_wait *w)
{
    for (int i = w->t->oversubscribed ? 0 : WF_SHMCOLL_POLLS; i > 0; i--) {
        if (is_reached(w))
            return MPI_SUCCESS;
        wf_cpu_relax();
    }
    return is_reached(w) ? MPI_SUCCESS : wait_with_progress(w);
}

/* Replaces shared memory by private memory at the same address. */
static void replace_by_private(void *at, size_t bytes)
{
    (void)mmap(at, bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

static void leave_segments(struct wf_shmcoll *t)
{
    if (!t->comm->shmcoll_usable)
        return;
    t->comm->shmcoll_usable = false;
    wf_store_release(&t->shared->members[t->rank].no_shm, 1);
    wf_fence_full(); /* as in wf_shmcoll_notify_sleepers */
    if (wf_load_relaxed(&t->shared->members[t->rank].sleepers))
        wf_shmcoll_wake_sleepers(t);
    replace_by_private(t->shared, t->segment_bytes);
    if (t->staging)
        replace_by_private(t->staging, t->staging_bytes);
}

int wf_shmcoll_wait_word(struct wf_shmcoll *t, int rank,
                         const wf_atomic_u64 *word, uint64_t least,
                         uint64_t *seen)
{
    struct member_wait w = {.t = t, .rank = rank, .word = word, .least = least};
    WF_ASSERT(rank >= 0 && rank < t->size && rank != t->rank);
    int rc =
        t->comm->shmcoll_usable ? wait_for_word(&w) : report_lost_member(&w);

    if (wf_unlikely(rc))
        leave_segments(t);
    *seen = wf_shmcoll_load_word(t, word);
    return rc;
}

void wf_shmcoll_wait_all_completed(struct wf_shmcoll *t, uint32_t call)
{
    uint32_t least = t->call - 1, done;
    uint64_t seen;

    for (int r = 0; r < t->size; r++) {
        if (r == t->rank ||
            wf_shmcoll_wait_word(t, r,
                                 &t->shared->members[r].last_completed_call,
                                 (uint64_t)call << 32, &seen))
            continue; /* a member that is gone reads nothing any more */
        done = (uint32_t)(seen >> 32);
        if ((int32_t)(done - least) < 0)
            least = done;
    }
    WF_ASSERT((int32_t)(least - t->all_completed_call) >= 0);
    t->all_completed_call = least;
}

void wf_shmcoll_wake_sleepers(struct wf_shmcoll *t)
{
    struct wf_comm *comm = t->comm;

    for (int r = 0; r < t->size; r++) {
        wf_atomic_u32 *waits = &t->shared->members[r].wake_request_rank;
        struct weft_loc *loc;

        if (wf_load_relaxed(waits) != (uint32_t)t->rank + 1)
            continue;
        wf_store_relaxed(waits, 0);
        loc = wf_location(comm->wf, wf_group_proc(comm->peers, r));
        if (loc)
            wf_credit_return(loc); /* perhaps no credit: the message wakes it */
    }
}

/* ---- agreement on the way ------------------------------------------------ */

int wf_shmcoll_agree_on_way(struct wf_shmcoll *t, uint32_t own)
{
    uint64_t any = own, all = own, word;
    int rc;

    for (int r = 0; r < t->size; r++) {
        if (r == t->rank)
            continue;
        rc = wf_shmcoll_wait_flag(t, r, &word);
        if (wf_unlikely(rc))
            return rc;
        any |= word;
        all &= word;
    }
    /* a member of this call has completed the last one */
    t->all_completed_call = t->call - 1;
    if (wf_likely(!wf_shmcoll_names_way(any)))
        return MPI_SUCCESS;
    if (any & WF_SHMCOLL_FLAG_SCHEDULE)
        return all & WF_SHMCOLL_FLAG_SCHEDULE ? WF_SHMCOLL_ALL_SCHEDULE
                                              : WF_SHMCOLL_SOME_SCHEDULE;
    return all & WF_SHMCOLL_FLAG_STAGED ? WF_SHMCOLL_ALL_STAGED
                                        : WF_SHMCOLL_SOME_STAGED;
}

int wf_shmcoll_check_all_lengths(struct wf_shmcoll *t, uint64_t bytes)
{
    uint64_t got;

    for (int r = 0; r < t->size; r++) {
        got = r == t->rank ? bytes : wf_shmcoll_bytes_of_line(t, r);
        if (wf_unlikely(got != bytes))
            return wf_shmcoll_length_error(r, got, bytes);
    }
    return MPI_SUCCESS;
}

int wf_shmcoll_report_mismatch(void)
{
    return wf_error(MPI_ERR_COUNT, "ranks call this collective with different "
                                   "counts or types");
}

int wf_shmcoll_report_other_count(int rank)
{
    return wf_error(MPI_ERR_COUNT,
                    "rank %d calls this collective with other counts", rank);
}

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

int wf_shmcoll_find_bad_args(wf_coll_builder *builder,
                             const struct wf_coll_args *a)
{
    struct wf_sched *s;
    int rc = wf_coll_build(builder, a, false, &s);

    if (!rc)
        wf_sched_abandon(s);
    return rc;
}

/* ---- as a schedule ------------------------------------------------------- */

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

int wf_shmcoll_agree_on_schedule(wf_coll_builder *builder,
                                 const struct wf_coll_args *a, uint64_t bytes)
{
    struct wf_shmcoll *t = a->comm->shmcoll;
    int agreed;

    wf_shmcoll_begin_call(t, 0);
    wf_shmcoll_publish_flag(t, bytes, WF_SHMCOLL_FLAG_SCHEDULE);
    agreed = wf_shmcoll_agree_on_way(t, WF_SHMCOLL_FLAG_SCHEDULE);
    if (wf_likely(agreed == WF_SHMCOLL_ALL_SCHEDULE))
        return wf_shmcoll_run_schedule(t, builder, a);
    if (agreed < 0)
        agreed = wf_shmcoll_check_all_lengths(t, bytes);
    wf_shmcoll_complete_call(t);
    return agreed ? agreed : wf_shmcoll_report_mismatch();
}
