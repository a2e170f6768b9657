/* Names that the launcher keeps: publish_name, lookup_name and unpublish_name
 * of PMI-1.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PMI1_NAMES_H
#define WF_BOOT_PMI1_NAMES_H

#include "base.h"

struct wf_boot;
struct wf_name_request;

/* Publish, find or unpublish a name in the job's launcher. WEFT_EAGAIN: it is
 * published already. WEFT_EUNREACH: it is not published. WEFT_ENOTSUP: the
 * launcher keeps no names, or there is none. With a server the launcher passes
 * the request on; other errors are then recorded. */
int wf_boot_call_name(struct wf_boot *, const struct wf_name_request *);

#endif
