/* Shared-memory collectives in which every member reads every line: barrier,
 * allreduce, reduce_scatter, allgather, alltoall.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_ALL_TO_ALL_H
#define WF_COLL_SHM_ALL_TO_ALL_H

#include "coll/args.h"

struct wf_shmcoll;

int wf_shmcoll_barrier(struct wf_shmcoll *);

/* ---- parts for each other member (contribution.h) ------------------------ */

/* Begins a call and writes the parts for all other members, `total` bytes in
 * all. */
int wf_shmcoll_write_parts(struct wf_shmcoll *, const struct wf_coll_args *,
                           uint64_t total, bool varied);

/* Returns the part for this member among those of rank r, whose lengths vary.
 * NULL: it has not the length `bytes`, but *got. */
const unsigned char *wf_shmcoll_find_part(struct wf_shmcoll *, int r,
                                          uint64_t bytes, uint64_t *got);
int wf_shmcoll_read_varied_part(struct wf_shmcoll *, int r,
                                struct wf_coll_block to);

/* Returns the sum of all counts but that of rank `own`, each limited to
 * INT32_MAX; a negative number if one of them is negative. */
int64_t wf_shmcoll_sum_counts(struct wf_ints counts, int n, int own);

#endif
