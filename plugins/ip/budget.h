/* A limit on the time that unknown callers cost the job. Up to
 * IP_UNKNOWN_CALLERS calls in a row are answered at once, which lets the ranks
 * of a job that begins through; then calls are answered IP_BUNDLE at a time,
 * with a pause in between.
 *
 * A caller without the job key can make a process accept a call, check an
 * authentication code and answer, which takes 10 to 30 us each time. Calls that
 * are answered together delay one message of the job; calls that are answered
 * one by one delay a message each. At 83000 round trips per second the bundles
 * of two ranks delay one message in 160, however many unknown callers there
 * are.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_BUDGET_H
#define WF_IP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "tuning.h"

/* An unknown caller is left in peace for so long when the pool is full. */
#define IP_FAIR_CHANCE_NS 50000000u
enum { IP_PENDING_MAX = 64 }; /* callers not yet authenticated */
enum { IP_UNKNOWN_CALLERS_NS = IP_UNKNOWN_CALLERS * IP_UNKNOWN_CALLER_NS };

struct wf_ip_budget {
    uint64_t spent; /* ns: the time up to which the budget is used up */
    uint64_t pause; /* ns: no call is answered before; 0: all are at once */
};

/* Charges n more calls. Returns true, and sets the pause, if the budget is used
 * up. */
static inline bool wf_ip_budget_spend(struct wf_ip_budget *b, uint64_t now,
                                      unsigned n)
{
    if (b->spent < now)
        b->spent = now;
    b->spent += (uint64_t)n * IP_UNKNOWN_CALLER_NS;
    if (b->spent < now + IP_UNKNOWN_CALLERS_NS)
        return false;
    b->spent = now + IP_UNKNOWN_CALLERS_NS;
    b->pause = now + IP_PAUSE_NS;
    return true;
}

#endif
