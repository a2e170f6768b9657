/* Which algorithm a collective uses: rules as data.
 *
 *   [collectives] of mpi.ini --collectives.c-->       struct wf_coll_rules
 *   decision.def ------------------------------------> the built-in rules
 *
 * The first rule decides that holds and whose algorithm can do the call: first
 * those of mpi.ini, then the built-in ones, the last of which holds always.
 * Everything that a rule asks for is the same on all ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_COLL_RULES_H
#define WF_COLL_RULES_H

#include <stdbool.h>
#include <stdint.h>

enum wf_coll_algorithm {
#define WF_ALGORITHM(symbol, name, about) WF_ALG_##symbol,
#include "config/algorithms.def"
    WF_ALGORITHMS
};

enum wf_coll_kind {
#define WF_COLLECTIVE(symbol, name, bytes, algorithms) WF_COLL_##symbol,
#include "config/algorithms.def"
    WF_COLL_KINDS
};

/* A set of algorithms has bit 1 << WF_ALG_x for each. */
#define WF_ALG(symbol) (1u << WF_ALG_##symbol)
#define WF_ALG_ANY     (UINT32_MAX >> 1)
/* A flag in such a set: `nodes` is possible only if ranks follow each other
 * node by node. */
#define WF_ALG_NODES_CONSECUTIVE (UINT32_C(1) << 31)

struct wf_coll_rule {
    uint8_t algorithm; /* enum wf_coll_algorithm */
    /* holds only where the ranks outnumber the CPUs of their node */
    bool crowded;
    int nodes; /* least number of nodes that the ranks are on */
    int ranks, ranks_most;
    uint64_t bytes, bytes_most;
};

/* Returns the rule that always holds. */
static inline struct wf_coll_rule wf_coll_rule_always(int algorithm)
{
    return (struct wf_coll_rule){.algorithm = (uint8_t)algorithm,
                                 .nodes = 1,
                                 .ranks = 1,
                                 .ranks_most = INT32_MAX,
                                 .bytes_most = UINT64_MAX};
}

/* The rules of mpi.ini. For a collective without rules the built-in ones
 * decide. */
struct wf_coll_rules {
    const struct wf_coll_rule *of[WF_COLL_KINDS];
    int count[WF_COLL_KINDS];
};

struct wf_coll_name {
    const char *name, *about;
    uint32_t algorithms; /* the set that a collective has */
};
extern const struct wf_coll_name wf_coll_algorithms[WF_ALGORITHMS];
extern const struct wf_coll_name wf_coll_kinds[WF_COLL_KINDS];

#endif
