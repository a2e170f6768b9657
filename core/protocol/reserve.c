/* Reserving for a real-time channel: see reserve.h.
 *
 * A lane is there when its transport has room for all messages under way, and
 * has been used: the first messages of a pair may change rings and touch pages.
 * So the transport says how many must go first, and these are messages that
 * return no credit.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/reserve.h"

#include "config/config.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "protocol/eager.h"
#include "protocol/location.h"
#include "protocol/message.h"
#include "protocol/queues.h"
#include "protocol/unexpected.h"
#include "report/error.h"
#include "route/links.h"

uint32_t wf_reserve_depth(uint64_t rate)
{
    uint64_t n = (rate * WF_CHANNEL_PERIOD_MS + 999) / 1000;

    return n < WF_CHANNEL_DEPTH_MIN ? WF_CHANNEL_DEPTH_MIN
           : n < UINT32_MAX         ? (uint32_t)n
                                    : UINT32_MAX;
}

/* The credit that all messages under way take, twice: it comes back when half
 * of the grant is owed. */
static uint64_t credit_needed(const struct wf_reservation *r)
{
    return 2 * (uint64_t)r->messages * (r->bytes + WF_MESSAGE_OVERHEAD);
}

static int refuse_lane(const struct weft_loc *loc, const char *why)
{
    return wf_fail(WEFT_ENOTSUP, "to rank %u, %s", loc->id, why);
}

/* Refuse a lane that does not fit the reservation, whatever its transport. */
static int check_lane(const struct weft_loc *loc,
                      const struct wf_reservation *r)
{
    const struct wf_lane *l = &loc->lane[WF_LANE_ORDER];

    if (loc->order)
        return refuse_lane(loc, "the route has failover or encryption");
    if (r->bytes > l->max_eager)
        return wf_fail(WEFT_ENOTSUP,
                       "to rank %u, weft_channel_bytes is %llu and the eager "
                       "limit %u: raise core.eager",
                       loc->id, (unsigned long long)r->bytes, l->max_eager);
    if (!WEFT_HAS(l->core->ops, weft_ops, reserve))
        return wf_fail(WEFT_ENOTSUP,
                       "to rank %u, transport '%s' cannot "
                       "reserve",
                       loc->id, l->core->config->name);
    return 0;
}

static int connect_lane(struct weft_loc *loc, const struct wf_reservation *r)
{
    int rc = 0;

    wf_error_forget();
    if (!loc->lanes && !loc->failed)
        rc = wf_location_connect(loc);
    if (loc->failed)
        return wf_fail(WEFT_EPEER, "rank %u is gone: %s", loc->id,
                       wf_location_down_text(loc));
    if (rc != 0)
        return wf_error_last()->text[0]
                   ? rc
                   : wf_fail(rc, "no connection to rank %u", loc->id);
    return check_lane(loc, r);
}

/* Send up to n messages that return no credit, as far as there is room. */
static void use_lane(struct weft_loc *loc, int n)
{
    struct wf_lane *l = &loc->lane[WF_LANE_ORDER];
    struct wf_wire w;

    for (; n > 0 && wf_lane_is_clear(l) && !loc->failed; n--) {
        wf_wire_init(&w, WF_CREDIT, 0);
        wf_message_send_control(loc, &w, true);
    }
}

/* Ask the transport. If it refuses, the text that it logs meanwhile is the
 * reason. */
static int ask_transport(struct weft_loc *loc, const struct wf_reservation *r)
{
    struct weft_core *core = loc->lane[WF_LANE_ORDER].core;
    char why[WF_REFUSAL_MAX] = "";
    int n;

    core->refusal = why;
    n = core->ops->reserve(loc->peers[core->index], r->messages, r->bytes);
    core->refusal = NULL;
    if (n < 0 && n != WEFT_EAGAIN)
        wf_fail(n, "to rank %u, transport '%s' cannot reserve: %s", loc->id,
                core->config->name, why[0] ? why : "no reason given");
    return n;
}

int wf_reserve_lane(struct wf_instance *wf, uint32_t id,
                    const struct wf_reservation *r)
{
    struct weft_loc *loc = wf_location(wf, id);
    int n;

    if (!loc)
        return wf_fail(WEFT_ENOMEM, "no memory for rank %u", id);
    n = connect_lane(loc, r);
    if (n == 0)
        n = ask_transport(loc, r);
    if (n <= 0)
        return n;
    use_lane(loc, n);
    return WEFT_EAGAIN;
}

int wf_reserve_memory(struct wf_instance *wf, const struct wf_reservation *r)
{
    if (credit_needed(r) > wf->engine->credits)
        return wf_fail(WEFT_ENOTSUP,
                       "%u messages of %llu bytes need %llu bytes of credit: "
                       "raise core.credits, or core.unexpected_max",
                       r->messages, (unsigned long long)r->bytes,
                       (unsigned long long)credit_needed(r));
    if (wf_unexpected_reserve(wf->engine, r->bytes,
                              (uint64_t)r->members * r->messages))
        return 0;
    return wf_fail(WEFT_ENOMEM,
                   "no memory for %u messages of %llu bytes of each of %u "
                   "members",
                   r->messages, (unsigned long long)r->bytes, r->members);
}

void wf_unreserve_memory(struct wf_instance *wf, const struct wf_reservation *r)
{
    wf_unexpected_unreserve(wf->engine, r->bytes,
                            (uint64_t)r->members * r->messages);
}
