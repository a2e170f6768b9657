/* Splitting a communicator by colors (core/comm/split.c).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SPLIT_H
#define WF_SPLIT_H

#include "comm/comm.h"

/* Types of resources are named weft://NUMANode; the node is what the standard
 * calls mpi_shared_memory, too. */
#define WF_RESOURCE_PROVIDER "weft://"
#define WF_RESOURCE_NODE "Node"

struct wf_split {
    bool member;    /* false: no new communicator for this process */
    bool strict;    /* none either when it would be as large as the parent */
    uint32_t color_high, color_low;
    int key;
};

int wf_split(struct wf_comm *, const struct wf_split *, MPI_Comm *newcomm);

#endif
