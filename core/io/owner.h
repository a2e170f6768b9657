/* Files as owners of errors.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_OWNER_H
#define WF_IO_OWNER_H

#include "object/owner.h"

extern const struct wf_owner_kind wf_file_owner_kind;

#endif
