/* A decision says which transports the messages of a pair of processes take, by
 * the configuration, and what was assumed for that.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_INFO_DECISION_H
#define WF_INFO_DECISION_H

#include "deployment.h"
#include "info.h"

enum { WHY_LEN = 600 };

struct info_decision {
    struct info_end from, to;
    bool plan;
    uint64_t size;
    struct wf_route_candidate candidate[TRANSPORTS_MAX];
    char why[TRANSPORTS_MAX][WHY_LEN];
    int order[TRANSPORTS_MAX], count;
    const char *section;
    uint32_t windows; /* keys of the rules about operations on windows */
    struct wf_route_failover failover; /* of messages in order */
    bool ordered;                      /* the pair has failover or encryption */
    struct info_assumed assumed;       /* by all decisions so far */
};

/* Parse a pair such as "0->3" or "0@nodea->3@nodeb". other_job: its second rank
 * is of another job. False: it is none. */
bool info_decision_parse(const struct info *, const char *pair, bool other_job,
                         struct info_decision *);
/* Decide for messages of so many bytes. */
void info_decide_route(const struct info *, struct info_decision *,
                       uint64_t size);
/* Find the transport of the messages about windows, for a pair whose messages
 * in order are decided. NULL: there is none. */
const struct info_transport *info_decide_windows(const struct info *,
                                                 const struct info_decision *);

#endif
