/* Which endpoints messages of a communicator can come through: what a waiter
 * polls at every turn for a receive from anybody, a probe, or a collective
 * (docs/design.md, "Waiting").
 *
 * DESIGN  The answer changes only when some process gets reached through another
 * endpoint, which is rare and counted (wf->links); until then it is kept. A
 * member that is not reached yet may begin by whatever is in use. Of large
 * communicators nobody asks, for the same reason.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "instance.h"
#include "progress/progress.h"

enum { LOOK_MOST = 64 /* members */ };

static uint32_t attached(const struct weft_loc *loc)
{
    uint32_t mask = 0;

    for (int i = 0; loc && i < loc->wf->ep_count; i++)
        if (loc->peers[i])
            mask |= 1u << i;
    return mask;
}

/* False: somebody is not reached yet. */
static bool add_members(const struct wf_comm *c, const struct wf_group *g,
                        uint32_t *mask)
{
    const struct wf_instance *wf = c->wf;

    for (int i = 0; i < g->size; i++) {
        uint32_t proc = wf_group_proc(g, i), m = attached(wf->locs[proc]);
        if (!m && proc != wf->rank)
            return false;
        *mask |= m;
    }
    return true;
}

static uint32_t look(const struct wf_comm *c)
{
    uint32_t mask = 0;

    if (c->peers->size > LOOK_MOST || c->local->size > LOOK_MOST ||
        !add_members(c, c->peers, &mask) ||
        (c->inter && !add_members(c, c->local, &mask)))
        mask = 0;
    return mask ? mask : wf_progress_any_source_mask(c->wf);
}

uint32_t wf_comm_need(struct wf_comm *c)
{
    uint32_t now = c->wf->links + 1;

    if (c->need_at != now) {
        c->need = look(c);
        c->need_at = now;
    }
    return c->need;
}
