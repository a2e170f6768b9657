/* The numeric addresses of a process, for `net:` selectors. They are taken from
 * the printed form of its endpoints' addresses, without ports.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_NETS_H
#define WF_CONFIG_NETS_H

#include "base.h"

struct weft_core;

/* Append the numeric addresses in an endpoint's address, without ports, to the
 * comma separated list in out. */
void wf_nets_add(const struct weft_core *, const void *address, size_t len,
                 char *out, size_t n);

#endif
