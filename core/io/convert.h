/* Accesses that convert their data.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_CONVERT_H
#define WF_IO_CONVERT_H

#include "io/access.h"

/* Performs an access that converts its data (convert.c). */
int wf_access_convert(struct wf_access *);

#endif
