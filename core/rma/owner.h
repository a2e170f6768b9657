/* Windows as owners of errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_RMA_OWNER_H
#define WF_RMA_OWNER_H

#include "object/owner.h"

extern const struct wf_owner_kind wf_win_owner_kind;

#endif
