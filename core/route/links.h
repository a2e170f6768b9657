/* Links: all that connects an engine to other processes.
 *
 * Few files see this record, as tests/layers.py checks; the others ask those by
 * a function.
 *
 * LOCK  all fields: the API section.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ROUTE_LINKS_H
#define WF_ROUTE_LINKS_H

#include "process/endpoint.h"
#include "process/instance.h"
#include "progress/source.h"

struct weft_loc;    /* route/location.h */
struct wf_left_out; /* protocol/endpoints.h */
struct wf_ordered;  /* protocol/order.h */

struct wf_links {
    struct weft_core eps[WF_EPS_MAX];
    int ep_count;
    struct wf_left_out *left_out; /* NULL: none */
    struct weft_loc **locs;       /* one for each process */
    uint32_t used;     /* endpoints that some process is reached through */
    uint32_t attached; /* how often a process was attached to an endpoint */
    struct wf_ordered *orders; /* pairs whose route has failover */
    uint64_t damaged; /* containers whose checksum was wrong: checked.h */
    bool parting;     /* everything is acknowledged; connections may close */
};

/* Make the links of an engine, without any endpoint. 0 or WEFT_ENOMEM. */
int wf_links_init(struct wf_instance *);
/* The endpoints are closed, and the locations freed. */
void wf_links_fini(struct wf_instance *);

/* The endpoints that can complete an operation which any process may complete.
 * An endpoint by which no process is reached yet can only announce an unknown
 * caller; it is polled rarely, like those outside of a mask. */
static inline uint32_t wf_links_any_source_mask(const struct wf_instance *wf)
{
    return wf->links->used ? wf->links->used : WF_SOURCES_ENDPOINTS;
}

#endif
