/* Which node this is, and how many CPUs it gives this process.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_NODE_H
#define WF_NODE_H

#include <stddef.h>
#include <stdint.h>

/* Equal in two processes exactly if they can share memory and abstract
 * sockets: boot id, network namespace, and WEFT_NODE (mpirun --nodes). */
uint64_t wf_node_id(void);
/* The name of this node: WEFT_NODE if set, else the host name. */
void wf_node_name(char *name, size_t n);
/* CPUs that the processes of this node may run on: those of the affinity mask,
 * or of all masks where mpirun gave each rank its own (WEFT_BOUND_CPUS). At
 * least 1. */
uint32_t wf_node_cpus(void);

#endif
