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

/* The locations of the processes of one job, by index. */
struct wf_locations {
    struct wf_locations *next; /* of another job that is known, or NULL */
    uint32_t first, size;      /* the numbers of its processes: process/job.h */
    struct weft_loc **of;
    /* Frees all that is kept of another job. It is reached in this way, because
     * most programs meet none and need not contain it. */
    void (*free)(struct wf_locations *);
};

struct wf_links {
    struct weft_core eps[WF_EPS_MAX];
    int ep_count;
    struct wf_left_out *left_out; /* NULL: none */
    struct wf_locations own;      /* of the own job; others follow it */
    uint32_t used;     /* endpoints that some process is reached through */
    uint32_t attached; /* how often a process was attached to an endpoint */
    struct wf_ordered *orders; /* pairs whose route has failover */
    uint64_t damaged; /* containers whose checksum was wrong: checked.h */
    bool parting;     /* everything is acknowledged; connections may close */
};

/* Returns the place of a process in its table, or NULL: no process has this
 * number. */
static inline struct weft_loc **wf_links_place(const struct wf_links *l,
                                               uint32_t number)
{
    const struct wf_locations *t = &l->own;

    while (t && wf_unlikely(number - t->first >= t->size))
        t = t->next;
    return t ? &t->of[number - t->first] : NULL;
}

/* Returns the location of a process, or NULL: it has none yet. */
static inline struct weft_loc *wf_links_find(const struct wf_links *l,
                                             uint32_t number)
{
    struct weft_loc **place = wf_links_place(l, number);

    return place ? *place : NULL;
}

/* Returns the location with the lowest number that is not below *number, which
 * it sets to the number after it; NULL: there is none. */
struct weft_loc *wf_links_next(const struct wf_links *, uint32_t *number);

/* Make the links of an engine, without any endpoint. 0 or WEFT_ENOMEM. */
int wf_links_init(struct wf_instance *);
/* The endpoints are closed, and the locations freed. The first engine forgets
 * the other jobs. */
void wf_links_fini(struct wf_instance *);

/* The endpoints that can complete an operation which any process may complete.
 * An endpoint by which no process is reached yet can only announce an unknown
 * caller; it is polled rarely, like those outside of a mask. */
static inline uint32_t wf_links_any_source_mask(const struct wf_instance *wf)
{
    return wf->links->used ? wf->links->used : WF_SOURCES_ENDPOINTS;
}

#endif
