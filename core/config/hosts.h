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

/* Allocate the table of ranks, up to the highest rank of any section. */
void wf_ranks_reserve(struct wf_config *);
/* Fill the table of ranks: the section and the host of each. */
void wf_ranks_build(struct wf_config *);
/* Give each rank its address text for each transport. */
void wf_addresses_build(struct wf_config *);

#endif
