/* Opening and closing the transports of an instance.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROTOCOL_ENDPOINTS_H
#define WF_PROTOCOL_ENDPOINTS_H

#include "base.h"

struct weft_core;
struct wf_instance;
struct wf_rank;
struct wf_traffic;
struct wf_transport_config;

/* An endpoint that could not be opened. The list ends before the first whose
 * transport is NULL. */
struct wf_left_out {
    const struct wf_transport_config *transport;
    int error; /* WEFT_E* */
    char *why; /* or NULL */
};

/* Open every enabled transport of the configuration. A transport with enable =
 * auto that cannot open is skipped with an info line. WEFT_EINVAL: options or
 * plugins named in the configuration are wrong; all of it has been printed. */
int wf_endpoints_open(struct wf_instance *);

/* Open a transport that was not tried yet, as wf_endpoints_open would in a job
 * of several processes; self and thread are never opened late. */
int wf_endpoints_open_one(struct wf_instance *,
                          const struct wf_transport_config *);

/* Whether the endpoints reach processes of this host only: those of a job that
 * was started here and is not to meet jobs of other hosts (core.meet). */
bool wf_endpoints_are_local(const struct wf_rank *);

/* Close all endpoints at once; for an orderly end drain them first. */
void wf_endpoints_close(struct wf_instance *);

/* Whether others can derive the addresses of all endpoints but self. */
bool wf_endpoints_are_derived(const struct wf_instance *);

#endif
