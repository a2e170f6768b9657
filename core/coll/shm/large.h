/* Large shared-memory collectives that move data, through the staging ring
 * (staging.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_LARGE_H
#define WF_COLL_SHM_LARGE_H

#include "coll/shm/staging.h"

int wf_staging_allgather(wf_coll_builder *, const struct wf_coll_args *);
int wf_staging_alltoall(wf_coll_builder *, const struct wf_coll_args *);
int wf_staging_bcast(wf_coll_builder *, const struct wf_coll_args *);
int wf_staging_scatter(wf_coll_builder *, const struct wf_coll_args *);
int wf_staging_gather(wf_coll_builder *, const struct wf_coll_args *);

/* Before alltoallv, members with more than a block of parts have published
 * their lengths, and all members have read all lines. */
int wf_staging_alltoallv(wf_coll_builder *, const struct wf_coll_args *);
void wf_staging_publish_lengths(struct wf_shmcoll *,
                                const struct wf_coll_args *);

#endif
