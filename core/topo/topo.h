/* The calls that make and ask for process topologies share these: see
 * group/topology.h for the object.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOPO_H
#define WF_TOPO_H

#include "group/comm.h"
#include "group/topology.h"

/* Returns the topology of comm if it is of this kind; else NULL, recorded as
 * MPI_ERR_TOPOLOGY. */
struct wf_topo *wf_topo_of(const struct wf_comm *comm, int kind);

/* Refuse an intercommunicator, which cannot have a topology. */
int wf_topo_check_parent(const struct wf_comm *);

/* Create a group of `size` members of parent: member order[i] becomes rank i,
 * or member i if order is NULL. NULL: out of memory, recorded. */
struct wf_group *wf_topo_create_group(struct wf_comm *parent, int size,
                               const int *order);

/* The collective end of every creation: makes a communicator of group and topo,
 * and takes over both. topo NULL: this process gets none, or failed with rc. */
int wf_topo_create_comm(struct wf_comm *parent, struct wf_group *group,
                 struct wf_topo *topo, int rc, MPI_Comm *newcomm);

#endif
