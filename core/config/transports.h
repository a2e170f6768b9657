/* [transport] sections: the transport instances, also those that are not
 * written in the file.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_TRANSPORTS_H
#define WF_CONFIG_TRANSPORTS_H

#include "base.h"

struct wf_config;
struct wf_place;
struct wf_transport_config;

/* Add the sections that need not be written: self always, and usual ones if the
 * file has no [transport] section. */
void wf_transports_imply(struct wf_config *);

/* Whether this is the name of a plugin of Weft itself. */
bool wf_transport_in_tree(const char *name);

/* Read the [transport] sections into c->transports. */
void wf_transports_build(struct wf_config *);

/* Find the transport that a route names; a plugin of Weft itself gets a section
 * if it has none. NULL: it is unknown, which is reported; `who` is the start
 * of that message. */
const struct wf_transport_config *wf_transport_named(struct wf_config *,
                                                     const char *name,
                                                     const struct wf_place *,
                                                     const char *who);

#endif
