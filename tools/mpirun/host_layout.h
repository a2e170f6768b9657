/* Which of the hosts each process of a job is on.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MPIRUN_HOST_LAYOUT_H
#define WF_MPIRUN_HOST_LAYOUT_H

#include "hosts.h"
#include "placement.h"

/* host: of each process, its place in the list. False: no memory. */
bool wf_host_layout_make(const struct placement *, const struct host_list *,
                    int processes, int *host);

#endif
