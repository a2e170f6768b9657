/* Communicators and groups as owners of errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_GROUP_OWNER_H
#define WF_GROUP_OWNER_H

#include "object/owner.h"

extern const struct wf_owner_kind wf_comm_owner_kind WF_HIDDEN;
extern const struct wf_owner_kind wf_group_owner_kind WF_HIDDEN;

#endif
