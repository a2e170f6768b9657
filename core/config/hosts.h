/* The tables of hosts and ranks: hosts.c, ranks.c and addresses.c build them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_HOSTS_H
#define WF_HOSTS_H

#include "config/model.h"
#include "config/value.h"

enum { WF_HOSTS_MAX = 65536, WF_RANKS_MAX = 65536, WF_HOST_NAME_MAX = 255 };

/* Find a host by its full name; NULL: there is none. */
struct wf_host_entry *wf_host_find(const struct wf_config *, const char *name);
/* Add a host that is not in the table; NULL: the table is full. */
struct wf_host_entry *wf_host_add(struct wf_config *, const char *name);

/* Read [host] and [rank]. */
void wf_hosts_build(struct wf_config *);

#endif
