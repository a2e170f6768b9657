/* [rank]: the table of ranks, and their distribution over hosts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_RANKS_H
#define WF_CONFIG_RANKS_H

#include "base.h"

struct wf_config;

/* Allocate the table of ranks, up to the highest rank of any section. */
void wf_ranks_reserve(struct wf_config *);

/* Fill the table of ranks: the section and the host of each. */
void wf_ranks_build(struct wf_config *);

#endif
