/* The end of a rank's job: what was sent goes, and the others are waited for.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "instance/leave.h"

#include "boot/boot.h"
#include "config/config.h"
#include "instance/instance.h"
#include "process/rank.h"
#include "progress/engines.h"
#include "progress/wait.h"
#include "protocol/carrier.h"
#include "protocol/order.h"
#include "protocol/unfinished.h"
#include "report/error.h"
#include "route/links.h"

bool wf_leave_each_engine(struct wf_instance *home, bool (*holds)(void *))
{
    bool yes = true;

    for (struct wf_instance *e = home; e; e = wf_engine_after(e))
        yes &= holds(e);
    return yes;
}

bool wf_are_lanes_empty(void *arg)
{
    struct wf_instance *wf = arg;
    struct weft_loc *loc;

    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));) {
        for (unsigned k = 0; !loc->failed && k < loc->lanes; k++)
            if (loc->lane[k].fifo_head)
                return false;
        if (loc->order && loc->order->first)
            return false;
    }
    return true;
}

static bool is_drained(void *arg)
{
    const struct wf_instance *wf = arg;
    struct wf_links *links = wf->links;
    bool all = true;

    for (int i = 0; i < links->ep_count; i++)
        if (links->eps[i].ops->drain(links->eps[i].ep) == WEFT_EAGAIN)
            all = false;
    return all;
}

static bool are_all_lanes_empty(void *home)
{
    return wf_leave_each_engine(home, wf_are_lanes_empty);
}

static bool are_all_drained(void *home)
{
    return wf_leave_each_engine(home, is_drained);
}

static bool end_ordered_pairs(void *wf)
{
    wf_orders_finish(wf);
    return true;
}

static void wake_waiter(void *arg)
{
    wf_progress_wake_leader(arg);
}

static bool has_fence_passed(void *arg)
{
    struct wf_boot *boot = ((struct wf_instance *)arg)->rank->boot;

    return boot->ops->fence_passed ? boot->ops->fence_passed(boot)
                                   : boot->fence_passed;
}

/* Warn that the launcher cannot tell whether the other processes have reached
 * the end. */
static void log_lone_end(struct wf_instance *wf)
{
    wf_log(wf, WF_LOG_WARN, "ending without waiting for the others: %s",
           wf_error_last()->text);
}

/* Serve the other processes until all have reached the fence. The launcher may
 * send other messages before it says so, and answers to other ranks of this
 * process. */
static void await_fence(struct wf_instance *wf, int fd)
{
    struct wf_boot *boot = wf->rank->boot;
    int heard = 0;

    do {
        wf_progress_poll_until(wf, fd, has_fence_passed, wf, 0);
        if (boot->ops->hear)
            heard = boot->ops->hear(boot);
    } while (heard == 0 && !has_fence_passed(wf));
}

/* Let everything go that was sent, at the end of the job. */
static void drain_all(struct wf_instance *wf)
{
    if (!wf_progress_poll_at_end(wf, are_all_drained, wf))
        wf_log(wf, WF_LOG_INFO, "closing with data that was not acknowledged");
}

/* Wait until the other processes have all that was sent to them. Those of
 * another job need not come to their end, so that they are not waited for
 * without limit. */
static void empty_lanes(struct wf_instance *wf)
{
    if (wf->rank->job.next)
        wf_progress_poll_at_end(wf, are_all_lanes_empty, wf);
    else
        wf_progress_poll_until(wf, -1, are_all_lanes_empty, wf, 0);
}

void wf_leave_job(struct wf_instance *wf)
{
    struct wf_boot *boot = wf->rank->boot;
    int fd = -1;

    if (wf->rank->job.size == 1 && !wf->rank->job.next) {
        wf_leave_each_engine(wf, wf_report_unfinished);
        return;
    }
    empty_lanes(wf);
    if (wf->rank->job.size > 1) {
        boot->wake = wake_waiter;
        boot->wake_arg = wf;
        if (boot->ops->fence_start(boot, &fd) < 0) {
            log_lone_end(wf);
            return;
        }
        if (fd >= 0 || boot->ops->fence_passed)
            await_fence(wf, fd);
    }
    wf_leave_each_engine(wf, wf_report_unfinished);
    wf_leave_each_engine(wf, end_ordered_pairs);
    if (wf->rank->job.size > 1 && boot->ops->fence_end(boot) < 0)
        log_lone_end(wf);
    drain_all(wf);
}
