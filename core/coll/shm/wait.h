/* Waiting for a flag of another member, waking the members that do, and the
 * agreement of all on the way of a call.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_WAIT_H
#define WF_COLL_SHM_WAIT_H

#include "coll/coll.h"
#include "os/atomic.h"

struct wf_shmcoll;

/* Waits until a word of that member has reached `least`. Sets *seen to the
 * word; returns MPI_SUCCESS or an error. */
int wf_shmcoll_wait_word(struct wf_shmcoll *, int rank,
                         const wf_atomic_u64 *word, uint64_t least,
                         uint64_t *seen);

/* Waits until all members have completed their calls up to `call`. */
void wf_shmcoll_wait_all_completed(struct wf_shmcoll *, uint32_t call);

/* Wakes the members that sleep and wait for this process. */
void wf_shmcoll_wake_sleepers(struct wf_shmcoll *);

/* ---- agreement on the way ------------------------------------------------ */

/* The ways that the lines of all members lead to. These are negative; errors
 * are positive, and 0 means that no line names a way. */
enum {
    WF_SHMCOLL_ALL_SCHEDULE = -1, /* all want a schedule */
    WF_SHMCOLL_SOME_SCHEDULE = -2,
    WF_SHMCOLL_ALL_STAGED = -3,
    WF_SHMCOLL_SOME_STAGED = -4 /* the other lines name no way */
};

/* Waits for the lines of all others; this member's names the way `own`. */
int wf_shmcoll_agree_on_way(struct wf_shmcoll *, uint32_t own);

/* Returns true if a schedule runs where one line that wants it suffices. */
static inline bool wf_shmcoll_is_schedule(int agreed)
{
    return agreed == WF_SHMCOLL_ALL_SCHEDULE ||
           agreed == WF_SHMCOLL_SOME_SCHEDULE;
}

/* Checks that all others have contributed so many bytes. */
int wf_shmcoll_check_all_lengths(struct wf_shmcoll *, uint64_t bytes);

/* Record and return the error that members call with different counts; that
 * one of them does. */
WF_COLD int wf_shmcoll_report_mismatch(void);
WF_COLD int wf_shmcoll_report_other_count(int rank);

/* Runs the call as a schedule; this member reads no more lines of it. */
WF_COLD int wf_shmcoll_run_schedule(struct wf_shmcoll *, wf_coll_builder *,
                                    const struct wf_coll_args *);

/* Publishes that this member wants a schedule, and runs it: the others read its
 * line. */
WF_COLD int wf_shmcoll_request_schedule(wf_coll_builder *,
                                        const struct wf_coll_args *,
                                        uint64_t bytes);

/* Runs a collective in which some member may not read all lines as a schedule
 * if all members want one; it fails if some do not. */
WF_COLD int wf_shmcoll_agree_on_schedule(wf_coll_builder *,
                                         const struct wf_coll_args *,
                                         uint64_t bytes);

/* Returns the error of a contribution of another length. As for messages, one
 * that is too long is truncated, one that is too short is an error. */
WF_COLD int wf_shmcoll_length_error(int source, uint64_t got,
                                    uint64_t expected);

/* Returns the error that a builder finds in the arguments. No vertex runs. */
WF_COLD int wf_shmcoll_find_bad_args(wf_coll_builder *,
                                     const struct wf_coll_args *);

#endif
