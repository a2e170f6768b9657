/* Functions that the creation of every topology shares.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TOPO_CREATE_H
#define WF_TOPO_CREATE_H

#include "base.h"

struct wf_comm;
struct wf_group;
struct wf_topo;

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
