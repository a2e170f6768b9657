/* Which node this is, and how many CPUs it gives this process.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_NODE_H
#define WF_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Equal in two processes exactly if they can share memory and abstract
 * sockets: boot id, network namespace, and WEFT_NODE (mpirun --nodes). */
bool wf_node_id(uint64_t *id);
/* The name of this node: WEFT_NODE if set, else the host name. */
void wf_node_name(char *name, size_t n);
/* CPUs in the affinity mask. At least 1. */
uint32_t wf_node_own_cpus(void);
/* CPUs that the processes of this node may use together. Each may be bound to
 * some of them, by its launcher, a wrapper or a library: then it is the mask of the
 * process that has started this one which has them all. WEFT_BOUND_CPUS, of mpirun
 * or of who knows better, comes first. At least 1. */
uint32_t wf_node_cpus(void);

#endif
