/* The mapped leg: an origin that has mapped the memory of the target operates
 * on it by itself.
 *
 *   call --> the epoch allows it --> direct.c, atomic.c --> complete
 *
 * An operation is complete, here and there, when its call returns. It may have
 * to wait for MPI_Win_post of the target, or for the lock, if that is not a
 * word in shared memory: where a window has members on several nodes all of its
 * locks are given by messages, so that there is one queue (lock_queue.c).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rma/mapped.h"

#include <stdlib.h>

#include "datatype/op.h"
#include "datatype/type.h"
#include "object/error.h"
#include "process/instance.h"
#include "protocol/queues.h"
#include "rma/atomic.h"
#include "rma/direct.h"
#include "rma/epoch.h"
#include "rma/exposed.h"
#include "rma/finish.h"
#include "rma/map.h"
#include "rma/mates.h"
#include "rma/open.h"
#include "rma/operation.h"
#include "rma/pscw.h"
#include "rma/start.h"
#include "route/location.h"

/* ---- permission ---------------------------------------------------------- */

static bool may_access(void *peer)
{
    const struct wf_win_peer *p = peer;

    return wf_win_peer_is_lost(p) ||
           ((!p->in_start || p->posted) && p->lock_state != WF_LOCK_WANTED &&
            p->lock_state != WF_LOCK_ASKED);
}

/* Waits until the epoch allows access to the target's memory. */
static WF_COLD int await_access(struct wf_win_peer *p)
{
    int rc = MPI_SUCCESS;

    if (!wf_win_reach(p->win, p->rank, &rc)) {
        if (wf_win_access(p->win) == WF_ACCESS_LOCK_ALL)
            p->lock_state = WF_LOCK_OPEN; /* nobody was asked for it */
        wf_open_publish_peer(p);
        return rc;
    }
    if (p->lock_state == WF_LOCK_WANTED) {
        wf_rma_mark_dirty(p); /* its lock is given back */
        rc = wf_rma_ask(p, WF_RMA_FLUSH);
        if (rc)
            return rc;
    }
    if (p->in_start)
        wf_pscw_await_post(p);
    else
        wf_win_wait(p->win, p, may_access, p);
    return wf_win_peer_is_lost(p) ? wf_win_record_loss(p) : MPI_SUCCESS;
}

/* ---- operations ---------------------------------------------------------- */

/* Returns the target's side of an operation. The position of a type without
 * holes is that of its first byte. */
static struct wf_rma_side find_target(const struct wf_win_peer *p,
                                      const struct wf_rma_call *c)
{
    struct wf_rma_side target = c->target;
    uint64_t at = p->domain.base + c->position;

    if (wf_type_is_contiguous(target.type))
        at -= (uint64_t)target.type->true_lb;
    target.buf = (void *)(uintptr_t)at;
    return target;
}

static int accumulate_here(struct wf_win_peer *p, const struct wf_rma_call *c,
                           const struct wf_rma_side *target)
{
    const struct wf_op *op = wf_op_of((MPI_Op)(uintptr_t)c->op);

    if (wf_likely(wf_rma_is_one_element(c)))
        return wf_rma_fetch_and_op(&p->domain, op, target->type, target->buf,
                                   c->origin.buf, c->result.buf);
    if (c->kind == WF_RMA_ACC)
        return wf_rma_accumulate(&p->domain, op, target, &c->origin);
    return wf_rma_get_accumulate(&p->domain, op, target, &c->origin,
                                 &c->result);
}

int wf_rma_perform_mapped(struct wf_win_peer *p, const struct wf_rma_call *c)
{
    struct wf_rma_side target = find_target(p, c);

    switch (c->kind) {
    case WF_RMA_PUT:
        wf_rma_copy(&target, &c->origin);
        return MPI_SUCCESS;
    case WF_RMA_GET:
        wf_rma_copy(&c->result, &target);
        return MPI_SUCCESS;
    case WF_RMA_CAS:
        return wf_rma_compare_and_swap(
            &p->domain, target.type, target.buf,
            &(struct wf_rma_swap){c->origin.buf, c->compare, c->result.buf});
    default:
        return accumulate_here(p, c, &target);
    }
}

static int start_mapped(struct wf_win_peer *p, const struct wf_rma_call *c,
                        struct wf_req **req)
{
    int rc = MPI_SUCCESS;

    if (wf_unlikely(!may_access(p)) || wf_unlikely(wf_win_peer_is_lost(p)))
        rc = await_access(p);
    if (rc == MPI_SUCCESS)
        rc = wf_rma_perform_mapped(p, c);
    if (rc == MPI_SUCCESS && req)
        *req = &p->win->wf->engine->sent;
    return rc;
}

/* Makes what was stored visible before whatever this process does next. Locks
 * that are given by messages are given back by one. */
static int ask_mapped(struct wf_win_peer *p, bool release)
{
    wf_fence_full();
    return wf_leg_message.ask(p, release);
}

const struct wf_leg wf_leg_mapped = {.start = start_mapped, .ask = ask_mapped};

/* ---- the state about a member -------------------------------------------- */

static bool is_dead(void *window, uint32_t mate)
{
    const struct wf_win *win = window;
    const struct wf_win_map *m = win->map;

    return m && mate != m->me &&
           wf_process_mark_has_ended(&wf_map_header(m, mate)->process);
}

/* Makes the stripes of memory that no other process has mapped. */
static struct wf_rma_stripe *make_stripes(struct wf_win *win)
{
    size_t bytes = WF_RMA_STRIPES * sizeof(struct wf_rma_stripe);

    win->stripes = aligned_alloc(WF_CACHE_LINE, bytes);
    if (win->stripes)
        memset(win->stripes, 0, bytes);
    return win->stripes;
}

bool wf_map_init_peer(struct wf_win_peer *p)
{
    struct wf_win *win = p->win;
    struct wf_win_map *m = win->map;
    uint32_t mate = m ? wf_mate_find(m, p->rank) : UINT32_MAX;

    p->leg = &wf_leg_message;
    p->mate = mate;
    p->domain = (struct wf_rma_domain){.is_dead = is_dead, .arg = win};
    if (mate != UINT32_MAX) {
        p->leg = &wf_leg_mapped;
        p->lost = m->gone[mate];
        p->domain.base = (uintptr_t)m->memory[mate];
        p->domain.stripes = wf_map_header(m, mate)->stripes;
        p->domain.me = m->me + 1;
        p->lock = wf_rma_lock_of(wf_map_header(m, mate), m->me, &m->waiting);
        return true;
    }
    if (p->rank != win->comm->rank)
        return true;
    /* Only this process gets at its memory, unless a transport does. An array
     * is a loop under a stripe. */
    p->domain.me = 1;
    p->domain.bulk =
        win->flavor == MPI_WIN_FLAVOR_DYNAMIC || !wf_exposed_offer(win);
    p->domain.stripes = make_stripes(win);
    if (win->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        p->domain.base = (uintptr_t)win->base;
        p->leg = &wf_leg_mapped;
    }
    return p->domain.stripes != NULL;
}
