/* The identity of this node, and how many CPUs it gives this process.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_NODE_H
#define WF_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stores an id that is equal in two processes exactly if they can share memory
 * and abstract sockets. It is made of the boot id, the network namespace, and
 * WEFT_NODE (mpirun --nodes). Returns false, with errno set, if memory or
 * descriptors are short. */
bool wf_node_id(uint64_t *id);
/* Stores the name of this node: WEFT_NODE if set, else the host name. */
void wf_node_name(char *name, size_t n);
/* Returns the number of CPUs in the affinity mask, at least 1. */
uint32_t wf_node_own_cpus(void);
/* Returns how many CPUs the processes of this node may use together, at least
 * 1. Each process may be bound to some of them by its launcher, a wrapper or a
 * library; then the mask of its parent has them all. WEFT_BOUND_CPUS, which
 * mpirun or the user sets, comes first. */
uint32_t wf_node_cpus(void);

#endif
