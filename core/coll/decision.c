/* The decision table of decision.def, and how it is read.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/coll.h"

#define ANY UINT64_MAX

static const struct {
    uint8_t kind, algorithm;
    int procs;
    uint64_t bytes;
} rules[] = {
#define RULE(kind, procs, bytes, algorithm)                                    \
    {WF_COLL_##kind, WF_ALG_##algorithm, procs, bytes},
#include "coll/decision.def"
#undef RULE
};

enum wf_coll_algorithm wf_coll_decide(enum wf_coll_kind kind, int procs,
                                      uint64_t bytes)
{
    size_t i = 0;

    /* the last rule of each collective holds always */
    while (rules[i].kind != kind || procs < rules[i].procs ||
           bytes > rules[i].bytes)
        i++;
    return (enum wf_coll_algorithm)rules[i].algorithm;
}
