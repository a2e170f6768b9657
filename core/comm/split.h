/* A communicator is split by the colors of its members (core/comm/split.c).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SPLIT_H
#define WF_SPLIT_H

#include "group/comm.h"

/* Resource types have names like weft://NUMANode. The node also has the name
 * that the standard gives it: mpi_shared_memory. */
#define WF_RESOURCE_PROVIDER "weft://"
#define WF_RESOURCE_NODE     "Node"

/* The arguments of a split: a color of 64 bits and a key. */
struct wf_split {
    bool member; /* false: this process gets no new communicator */
    bool strict; /* true: none when as large as the parent */
    uint32_t color_high, color_low;
    int key;
};

/* Splits a communicator. All of its members call it. */
int wf_split(struct wf_comm *, const struct wf_split *, MPI_Comm *newcomm);

#endif
