/* Large shared-memory reductions, through the staging ring (staging.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_LARGE_FOLD_H
#define WF_COLL_SHM_LARGE_FOLD_H

#include "coll/shm/staging.h"

int wf_staging_allreduce(wf_coll_builder *, const struct wf_coll_args *);
int wf_staging_reduce_scatter(wf_coll_builder *, const struct wf_coll_args *);
int wf_staging_reduce(wf_coll_builder *, const struct wf_coll_args *);
int wf_staging_scan(wf_coll_builder *, const struct wf_coll_args *,
                    bool exclusive);

/* Returns true if a reduction runs through the ring: then it has an order that
 * can be computed there. */
bool wf_staging_can_reduce(const struct wf_coll_args *, enum wf_coll_kind,
                           uint64_t bytes);

#endif
