/* Jobs that this process meets beside its own: process/job.h has the record.
 *
 * A job that is met gets the lowest free range of numbers that fits its size, a
 * table of locations in the first engine, and a card source that has the cards
 * which came when it was met. Nobody is asked for others.
 *
 * LOCK  the API section of the first engine, in which all locations of other
 *       jobs are.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ROUTE_JOBS_H
#define WF_ROUTE_JOBS_H

#include "base.h"

struct wf_auth_key;
struct wf_instance;
struct wf_job;
struct wf_rank;

/* Make a job known, unless it is, and take over a key by which its processes
 * may be called (or NULL), also on failure. 0 or WEFT_E*, with the cause
 * recorded: WEFT_EINVAL if its tag is that of a job of another size, or of the
 * own one. */
int wf_jobs_meet(struct wf_instance *, uint32_t tag, uint32_t size,
                 struct wf_auth_key *, struct wf_job **);

/* Note the business card of a process of another job, and the key by which it
 * is called, unless it has one: the processes of a pair are connected then, and
 * use that. 0 or WEFT_ENOMEM. */
int wf_jobs_note_card(struct wf_instance *, uint32_t number,
                      struct wf_auth_key *, const void *card, size_t n);

/* Forget key and card of a process, which has no location any more. */
void wf_jobs_part(struct wf_instance *, uint32_t number);
/* Whether the last process that was called by this key has been parted from,
 * not long ago: news about those that had it are old. */
bool wf_jobs_has_retired(const struct wf_rank *, uint64_t key_id);
/* Forget the jobs that no group and no location names. */
void wf_jobs_prune(struct wf_instance *);

#endif
