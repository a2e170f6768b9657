/* The decision table of decision.def, and how rules are evaluated.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_DECISION_H
#define WF_COLL_DECISION_H

#include "base.h"
#include "config/coll_rules.h"

struct wf_coll_rule;
struct wf_comm;
struct wf_sched;

/* Sets *rules to the built-in rules of a collective and returns their number
 *. */
int wf_coll_find_built_in_rules(enum wf_coll_kind,
                                const struct wf_coll_rule **);

/* Chooses the algorithm of a collective over the ranks of g. `able` is the set
 * of algorithms that can do this call, the same on all ranks. */
enum wf_coll_algorithm wf_coll_choose(struct wf_sched *, struct wf_comm *g,
                                      enum wf_coll_kind, uint64_t bytes,
                                      uint32_t able);

/* Returns the rule that decides. *no_memory (if not NULL) is set if a rule was
 * left out because memory for the layout of nodes was lacking. */
const struct wf_coll_rule *wf_coll_find_rule(struct wf_comm *g,
                                             enum wf_coll_kind, uint64_t bytes,
                                             uint32_t able, bool *no_memory);

#endif
