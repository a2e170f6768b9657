/* Intercommunicators are made here from two groups, and merged into one
 * (MPI-5.0 s7.6.2).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COMM_INTER_H
#define WF_COMM_INTER_H

#include "base.h"

struct wf_bridge;
struct wf_comm;
struct wf_group;

/* Makes the intercommunicator of local_comm's group and that of the other
 * leader. *unmet is set in all members of both, and there is none, if one of
 * them does not know another; with NULL that is an error. */
int wf_intercomm_create(struct wf_comm *local_comm, const struct wf_bridge *,
                        bool *unmet, MPI_Comm *newintercomm);

/* Makes the intercommunicator of local_comm's group and one that all members
 * know already, whose leader is behind the bridge; so do they, with the same
 * key in b->key, which matters in all members. rc: what has failed here, so
 * that it fails in all. */
int wf_intercomm_make(struct wf_comm *local_comm, const struct wf_bridge *b,
                      struct wf_group *remote, int rc, MPI_Comm *newintercomm);

#endif
