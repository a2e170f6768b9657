/* Rare cases that several collectives share; and parts for the other members in
 * the block of one member. The parts lie one after the other in the order of
 * ranks, beginning with the next rank. Where their lengths differ, and there
 * are several, a table of lengths comes first.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_PARTS_H
#define WF_COLL_SHM_PARTS_H

#include "base.h"
#include "coll/coll.h"
#include "object/handle.h"

struct wf_coll_args;
struct wf_ints;
struct wf_shmcoll;

/* Checks the length of a contribution. As for messages, one that is too long is
 * truncated, one that is too short is an error. */
WF_COLD int wf_shmcoll_length_error(int source, uint64_t got,
                                    uint64_t expected);

/* Returns the error that a builder finds in the arguments of a call that is not
 * plain. No vertex runs. */
WF_COLD int wf_shmcoll_check_args(wf_coll_builder *,
                                  const struct wf_coll_args *);

/* Runs the call as a schedule; this member reads no more lines of it. */
WF_COLD int wf_shmcoll_run_schedule(struct wf_shmcoll *, wf_coll_builder *,
                                    const struct wf_coll_args *);

/* Publishes that this member wants a schedule, and runs it: the others read its
 * line. */
WF_COLD int wf_shmcoll_request_schedule(wf_coll_builder *,
                                        const struct wf_coll_args *,
                                        uint64_t bytes);

/* Packs the parts for all other members. */
int wf_shmcoll_pack_parts(struct wf_shmcoll *, const struct wf_coll_args *,
                          unsigned char *to);
void wf_shmcoll_write_table(struct wf_shmcoll *, const struct wf_coll_args *,
                            unsigned char *at);

/* Returns the part for this member among those of rank r, which has published
 * that it wrote `total` bytes. NULL: it has not the length `bytes`, but
 * *got. */
const unsigned char *wf_shmcoll_find_part(struct wf_shmcoll *, int r,
                                          uint64_t total, uint64_t bytes,
                                          uint64_t *got);

/* Returns the sum of all counts but that of rank `own`, each limited to
 * INT32_MAX; a negative number if one of them is negative. */
int64_t wf_shmcoll_sum_counts(struct wf_ints counts, int n, int own);

#endif
