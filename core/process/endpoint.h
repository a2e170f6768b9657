/* Endpoints: the core's side of one opened transport instance.
 *
 * Plugins see struct weft_core as an opaque pointer.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_ENDPOINT_H
#define WF_PROCESS_ENDPOINT_H

#include "base.h"
#include "process/event_source.h"

struct wf_instance;
struct wf_transport_config;

enum { WF_REFUSAL_MAX = 200 };

struct weft_core {
    struct wf_instance *wf;
    const weft_ops *ops;
    weft_ep *ep;
    int index; /* number of its bit in masks of endpoints */
    uint32_t rma_count; /* operations on windows that it took, for reports */
    weft_attr attr;
    struct wf_event_source source; /* protocol/endpoint_source.h */
    const weft_plugin *plugin;
    const struct wf_transport_config *config;
    void *cfg;     /* the plugin's configuration struct */
    char *refusal; /* receives what the plugin logs in open() or reach() */
    void *address;
    size_t address_len;
    /* Containers and bytes received, for reports; lanes count those sent. */
    uint64_t rx_count, rx_bytes;
    uint64_t parted_count,
        parted_bytes; /* sent to processes that have parted */
};

/* Whether it is a network rather than memory of this machine. It is also on one
 * host, where it listens on loopback only. */
static inline bool wf_endpoint_is_network(const struct weft_core *c)
{
    return c->attr.caps & WEFT_CAP_REMOTE ||
           WEFT_HAS(c->ops, weft_ops, addr_parse);
}

/* Counts of containers and of their payload. */
struct wf_traffic {
    unsigned long long sent, sent_bytes, received, received_bytes;
};
/* The table of services given to every plugin (core/protocol/host.c). */
extern const weft_host wf_host;

#endif
