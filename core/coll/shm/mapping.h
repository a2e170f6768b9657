/* A second mapping of memory that a transport shares: see mapping.c.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SHMCOLL_MAPPING_H
#define WF_SHMCOLL_MAPPING_H

#include "process/endpoint.h"

/* Returns the transport's descriptor of memory that its mem_alloc or rkey_map
 * gave; -1: it has none. */
int wf_mapping_fd(const struct weft_core *, const weft_mem *);
/* Maps the memory at `base` once more, from its descriptor if fd >= 0. Returns
 * the new address, or NULL with errno set. */
void *wf_mapping_repeat(int fd, void *base, size_t bytes);

#endif
