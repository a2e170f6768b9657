/* The names of collectives and algorithms, for mpi.ini and weft-info. They are
 * apart from the algorithms, which only programs that use them contain.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/coll_rules.h"

const struct wf_coll_name wf_coll_algorithms[WF_ALGORITHMS] = {
#define WF_ALGORITHM(symbol, name, about) {#name, about, 0},
#include "config/algorithms.def"
};

const struct wf_coll_name wf_coll_kinds[WF_COLL_KINDS] = {
#define WF_COLLECTIVE(symbol, name, bytes, algorithms)                         \
    {#name, bytes, algorithms},
#include "config/algorithms.def"
};
