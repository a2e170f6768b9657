/* What hosts.c, ranks.c and addresses.c share.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HOSTS_H
#define WF_HOSTS_H

#include "route/model.h"
#include "route/value.h"

enum { WF_HOSTS_MAX = 65536, WF_RANKS_MAX = 65536, WF_HOST_NAME_MAX = 255 };

struct wf_host_entry *wf_host_find(const struct wf_config *, const char *name);
/* NULL: no room. */
struct wf_host_entry *wf_host_add(struct wf_config *, const char *name);

/* ranks.c: the table of ranks; then who is where. */
void wf_ranks_reserve(struct wf_config *);
void wf_ranks_build(struct wf_config *);
/* addresses.c: one text per rank and transport. */
void wf_addresses_build(struct wf_config *);

#endif
