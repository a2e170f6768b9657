/* The permission to access memory beside the API section: see open.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/open.h"

#include "rma/epoch.h"
#include "rma/map.h"

enum { OPERATIONS = WF_OPEN_ACTIVE | WF_OPEN_PASSIVE };

void wf_open_add_target(struct wf_win_peer *p)
{
    const struct wf_win_member *m = &p->win->members[p->rank];
    struct wf_open_target *t = &p->win->open_targets[p->rank];

    p->target = t;
    if (p->leg != &wf_leg_mapped || p->lost)
        return;
    t->base = p->domain.base;
    t->size = m->size;
    t->unit = (uint32_t)m->unit;
    wf_store_release(&t->mapped, /* wf_open_find_target */
                     p->domain.bulk ? WF_MAPPED_BYTES : WF_MAPPED_WORDS);
}

void wf_open_lose_target(struct wf_win_peer *p)
{
    wf_store_relaxed(&p->target->mapped, WF_MAPPED_NOT);
}

void wf_open_publish_peer(struct wf_win_peer *p)
{
    uint32_t open = 0;

    if (p->in_start && p->posted)
        open |= WF_OPEN_ACTIVE;
    if (p->lock_state == WF_LOCK_HELD)
        open |= OPERATIONS;
    if (p->lock_state == WF_LOCK_HELD && wf_map_has_lock_words(p->win))
        open |= WF_OPEN_FLUSH;
    wf_store_release(&p->target->open, open); /* wf_open_find_target */
}

void wf_open_publish_win(struct wf_win *win)
{
    uint32_t open = 0;

    if (wf_win_access(win) == WF_ACCESS_FENCE && win->fence_used)
        open = WF_OPEN_ACTIVE;
    if (wf_win_access(win) == WF_ACCESS_LOCK_ALL && wf_map_has_lock_words(win))
        open = OPERATIONS | WF_OPEN_FLUSH;
    else if (wf_win_access(win) == WF_ACCESS_LOCK_ALL && win->all_nocheck)
        open = OPERATIONS;              /* nothing has to be asked for */
    wf_store_release(&win->open, open); /* wf_open_find_target */
}

void wf_open_set_access(struct wf_win *win, enum wf_win_epoch access)
{
    wf_store_relaxed(&win->access, (uint32_t)access);
    wf_open_publish_win(win);
}
