/* Memory for communication (MPI-5.0 s9.2). Where a transport has memory that
 * its peers can reach (shm), large blocks come from there: a message from such
 * a block needs one copy less. Other blocks come from the heap, aligned so that
 * the payload of a message has cache lines of its own.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INSTANCE_MEMORY_H
#define WF_INSTANCE_MEMORY_H

#include "base.h"

struct wf_instance;

/* Free the memory that MPI_Alloc_mem gave out and the program did not free
 *. */
void wf_memory_fini(struct wf_instance *);

#endif
