/* Names that the launcher keeps: publish_name, lookup_name and unpublish_name
 * of PMI-1.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_PMI1_NAMES_H
#define WF_BOOT_PMI1_NAMES_H

#include "base.h"

struct wf_boot;
struct wf_name_request;

/* Make a request about a name: wf_boot_ops.call_name. */
int wf_pmi1_call_name(struct wf_boot *, const struct wf_name_request *);

#endif
