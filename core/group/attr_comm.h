/* Attributes of communicators, and the predefined ones (MPI-5.0 s7.7.2,
 * s9.1.2).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_ATTR_COMM_H
#define WF_GROUP_ATTR_COMM_H

#include "base.h"

struct wf_instance;

/* Set the values of the predefined attributes. */
void wf_attr_predefine(struct wf_instance *);

#endif
