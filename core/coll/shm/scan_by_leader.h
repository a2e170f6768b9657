/* Scans in which rank 0 computes the sums of all.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_SCAN_BY_LEADER_H
#define WF_COLL_SHM_SCAN_BY_LEADER_H

#include "coll/coll.h"

/* Scans vectors that fit the block of a member, of a contiguous type and with a
 * predefined operation. */
int wf_shmcoll_scan_by_leader(wf_coll_builder *, const struct wf_coll_args *,
                              bool exclusive);

#endif
