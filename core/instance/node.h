/* The node of this rank: its name, its CPUs, and the ranks that share it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INSTANCE_NODE_H
#define WF_INSTANCE_NODE_H

struct wf_rank;

/* Fills node, host, local_index, local_count, cpus and own_cpus of a rank that
 * has its boot and configuration. 0 or WEFT_E*, recorded. */
int wf_find_node_and_cpus(struct wf_rank *);

#endif
