/* Operations that are left to the progress thread: which they are, and how soon
 * it has to look after them. helper.c is the thread.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/helper_requests.h"

#include "os/tuning.h"
#include "progress/progress.h"
#include "protocol/helper.h"
#include "protocol/helper_thread.h"
#include "protocol/request.h"

/* True for sends that wait for their peer, receives of many bytes, and
 * operations of several messages. */
static bool is_worth_helping(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    switch ((enum wf_req_type)r->type) {
    case WF_REQ_SEND:
        return p->waits & WF_WAITS_ANSWER || p->bytes >= WF_HELP_MIN_BYTES;
    case WF_REQ_RECV:
        return p->bytes >= WF_HELP_MIN_BYTES;
    case WF_REQ_SCHEDULE:
    case WF_REQ_PARTITIONED:
        return true;
    default:
        return false;
    }
}

/* True if the sender of a large message may wait for this thread's poll. The
 * poll still comes after a short pause, since the program may wait at once. */
static bool is_urgent(struct wf_req *r)
{
    return r->type <= WF_REQ_RECV &&
           wf_p2p_of(r)->bytes >= WF_HELPER_URGENT_BYTES;
}

/* True if r is a receive that was matched, and one side moves its payload
 * alone. */
static bool is_moved_by_one_side(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    return r->type == WF_REQ_RECV && !(r->flags & WF_REQ_LIGHT) &&
           p->pull.core && p->pull.core->attr.caps & WEFT_CAP_GET_ALONE;
}

/* True if r is a send whose receiver fetches the payload alone, as long as it
 * can. */
static bool is_quiescent(struct wf_req *r)
{
    struct wf_p2p *p = wf_p2p_of(r);

    return r->type == WF_REQ_SEND && p->waits == WF_WAITS_ANSWER &&
           p->pull.core && p->pull.core->attr.caps & WEFT_CAP_GET_ALONE &&
           !p->loc->approves;
}

/* The pause until the next poll for r. Without a spare CPU a message that one
 * side moves alone is left to the sender, and this side only has to complete
 * it. */
static uint32_t pause_before_poll(struct wf_helper *h, struct wf_req *r)
{
    uint64_t alone;

    if (r->flags & WF_REQ_QUIESCENT)
        return WF_HELPER_PAUSE_QUIESCENT_NS;
    if (h->has_spare_cpu || !is_moved_by_one_side(r))
        return is_urgent(r) ? WF_HELPER_PAUSE_NS
                            : wf_load_relaxed(&h->pause_ns);
    alone = wf_p2p_of(r)->expected / WF_ONE_SIDE_BYTES_PER_NS;
    return alone < WF_HELPER_PAUSE_QUIESCENT_NS ? (uint32_t)alone
                                                : WF_HELPER_PAUSE_QUIESCENT_NS;
}

/* Let the thread poll for r in time, but no sooner than needed. */
static void schedule_poll(struct wf_helper *h, struct wf_req *r)
{
    uint32_t ns = pause_before_poll(h, r);

    if (h->parked || wf_load_relaxed(&h->pausing_ns) >
                         ns + WF_HELPER_PAUSE_EXCESS_NS)
        wf_helper_set_wake_time(h, ns);
}

/* In most programs the sender of a large message calls at about the same time
 * as the receiver. Polling a moment for its announcement pays: the answer lets
 * the sender move the payload while this side computes, without this thread. */
void wf_helper_poll_announcement(struct wf_req *r)
{
    struct wf_instance *wf = r->wf;
    uint64_t until;

    if (!wf->progress->may_help || wf_p2p_of(r)->bytes < WF_ANNOUNCED_BYTES)
        return;
    until = wf_now(wf) + WF_ANNOUNCED_NS;
    while (!wf_req_done(r) && !is_moved_by_one_side(r)) {
        wf_progress_poll(wf, UINT32_MAX); /* at least once */
        if (wf_now(wf) >= until)
            break;
    }
}

bool wf_helper_attend(struct wf_instance *wf)
{
    struct wf_helper *h;

    if (!wf->progress->may_help)
        return false;
    wf_cs_enable_for_helper(&wf->api);
    if (!wf_helper_ensure(wf))
        return false; /* the section is switched off at the end of this call */
    wf_cs_keep_on(&wf->api);
    h = wf->progress->helper;
    wf_store_relaxed(&h->attends, wf_load_relaxed(&h->attends) + 1);
    if (h->parked)
        wf_helper_set_wake_time(h, WF_HELPER_PAUSE_NS);
    return true;
}

void wf_helper_stop_attending(struct wf_instance *wf)
{
    struct wf_helper *h = wf->progress->helper;

    WF_ASSERT(wf->api.kept_on > 0);
    if (h) /* it ends before the files that the program has left open */
        wf_store_relaxed(&h->attends, wf_load_relaxed(&h->attends) - 1);
    wf_cs_stop_keeping_on(&wf->api);
}

void wf_helper_register(struct wf_req *r)
{
    struct wf_instance *wf = r->wf;

    if (r->flags & WF_REQ_WITH_HELPER || !is_worth_helping(r))
        return;
    wf_cs_enable_for_helper(&wf->api);
    if (!wf_helper_ensure(wf))
        return; /* the section is switched off at the end of this call */
    r->flags |= WF_REQ_WITH_HELPER;
    wf->api.helper_ops++;
    if (is_quiescent(r)) {
        r->flags |= WF_REQ_QUIESCENT;
        wf->api.quiescent_ops++;
    }
    schedule_poll(wf->progress->helper, r);
}
