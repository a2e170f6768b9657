/* The addresses of a static start: the text that each transport gets for each
 * rank.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_ADDRESSES_H
#define WF_CONFIG_ADDRESSES_H

#include "base.h"

struct wf_config;
struct wf_problems;

/* The static address of a rank: the text given for `transport` in the [rank] or
 * [host] section that covers the rank, or NULL. *where names the line. The text
 * has the port of this very rank: the n-th rank of a host listens n above the
 * first. */
const char *wf_config_address(const struct wf_config *, uint32_t rank,
                              const char *transport, const char **where);

/* The value of a key of the [host] section that covers a host, or NULL. */
const char *wf_config_host_value(struct wf_config *, const char *host,
                                 const char *key);

/* The host name of a rank from [rank] or [host], or NULL. */
const char *wf_config_host(const struct wf_config *, uint32_t rank);

/* The number of ranks that the [rank] sections describe: the highest rank plus
 * 1. */
uint32_t wf_config_ranks(const struct wf_config *);

/* Report each [host] and [rank] that sets an address for a transport that takes
 * none. derives: it has derived ones. */
void wf_addresses_refuse(const struct wf_config *, const char *transport,
                         bool derives, struct wf_problems *);

/* Give each rank its address text for each transport. */
void wf_addresses_build(struct wf_config *);

#endif
