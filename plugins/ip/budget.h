/* What strangers may cost the job: so many in a row, which are the ranks of a
 * job that begins; then so many together, and a pause.
 *
 * Whoever holds no key can make us accept, check a code and answer, 10 to 30 us
 * each. Together they delay one message of the job, one by one each a message of
 * its own: at 83000 round trips in a second the bundles of two ranks are beside
 * one in 160 of them, however many strangers there are.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_BUDGET_H
#define WF_IP_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
    IP_STRANGERS = 128,       /* in a row; a call over TCP counts twice */
    IP_STRANGER_NS = 2000000, /* until one more is free */
    IP_STRANGERS_NS = IP_STRANGERS * IP_STRANGER_NS,
    IP_BUNDLE = 16,
    IP_PAUSE_NS = 4000000 /* between two bundles */
};

struct wf_ip_budget {
    uint64_t spent; /* ns: the time up to which it was given away */
    uint64_t pause; /* nobody is heard before; 0: all are */
};

/* n more were heard: is it time for a pause? */
static inline bool wf_ip_budget_spend(struct wf_ip_budget *b, uint64_t now,
                                      unsigned n)
{
    if (b->spent < now)
        b->spent = now;
    b->spent += (uint64_t)n * IP_STRANGER_NS;
    if (b->spent < now + IP_STRANGERS_NS)
        return false;
    b->spent = now + IP_STRANGERS_NS;
    b->pause = now + IP_PAUSE_NS;
    return true;
}

#endif
