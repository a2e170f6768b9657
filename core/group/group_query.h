/* Groups are queried here, and those of communicators are returned (MPI-5.0
 * s7.3.1, s7.3.2).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_GROUP_QUERY_H
#define WF_GROUP_GROUP_QUERY_H

#include "base.h"

struct wf_group;

bool wf_group_is_same_order(const struct wf_group *, const struct wf_group *);

/* Compares two groups: *result is MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
 * Returns an MPI error class. */
int wf_group_compare(struct wf_group *, struct wf_group *, int *result);

#endif
