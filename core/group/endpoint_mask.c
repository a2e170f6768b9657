/* A communicator knows the endpoints that its messages can come through: a
 * waiting thread polls them in every poll round of a receive from
 * MPI_ANY_SOURCE, a probe, or a collective
 * (docs/internals/progress-and-wakeups.md).
 *
 * DESIGN  The set changes only when some process gets reached through another
 * endpoint, which is rare and counted (wf_links.attached); until then it is
 * kept. A member that is not reached yet may send first through any endpoint
 * that is in use, so all of those are polled then. So they are for large
 * communicators, of which no member is examined.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/endpoint_mask.h"

#include "group/comm.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "route/links.h"
#include "route/location.h"

enum { MEMBERS_MAX = 64 /* more are not examined */ };

static uint32_t endpoints_of(const struct weft_loc *loc)
{
    uint32_t mask = 0;

    for (int i = 0; loc && i < loc->wf->links->ep_count; i++)
        if (loc->peers[i])
            mask |= 1u << i;
    return mask;
}

/* Adds the endpoints of the members. False: a member is not reached yet. */
static bool add_endpoints(const struct wf_comm *c, const struct wf_group *g,
                          uint32_t *mask)
{
    const struct wf_instance *wf = c->wf;

    for (int i = 0; i < g->size; i++) {
        uint32_t proc = wf_group_proc(g, i);
        uint32_t m = endpoints_of(wf_links_find(wf->links, proc));
        if (!m && proc != wf->rank->id)
            return false;
        *mask |= m;
    }
    return true;
}

static uint32_t find_endpoints(const struct wf_comm *c)
{
    uint32_t mask = 0;

    if (c->peers->size > MEMBERS_MAX || c->local->size > MEMBERS_MAX ||
        !add_endpoints(c, c->peers, &mask) ||
        (c->inter && !add_endpoints(c, c->local, &mask)))
        mask = 0;
    return mask ? mask : wf_links_any_source_mask(c->wf);
}

uint32_t wf_comm_endpoint_mask(struct wf_comm *c)
{
    uint32_t at = c->wf->links->attached + 1;

    if (c->endpoint_mask_at != at) {
        c->endpoint_mask = find_endpoints(c);
        c->endpoint_mask_at = at;
    }
    return c->endpoint_mask;
}
