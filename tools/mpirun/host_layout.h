/* A host layout says on which host each process of a job runs.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_HOST_LAYOUT_H
#define WF_MPIRUN_HOST_LAYOUT_H

#include "hosts.h"
#include "placement.h"

/* Make the layout. host: of each process, its index in the list. Returns false
 * without memory. */
bool wf_host_layout_make(const struct placement *, const struct host_list *,
                    int processes, int *host);

#endif
