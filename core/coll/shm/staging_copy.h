/* Copying large pieces into the staging ring: by memcpy, or by non-temporal
 * stores.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_SHM_STAGING_COPY_H
#define WF_COLL_SHM_STAGING_COPY_H

#include "base.h"

struct wf_shmcoll;

/* Copies n bytes into the ring, past the caches where that pays. */
void wf_staging_copy_in(struct wf_shmcoll *, void *to, const void *from,
                        uint64_t n);

#endif
