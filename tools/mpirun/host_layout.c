/* This file assigns processes to hosts: see host_layout.h.
 *
 *   slot (as of itself)   0 0 1 1   the slots of each host, in their order
 *   node                  0 1 0 1   one on each, as long as it has slots
 *   N on each             0 0 1 1   and, for -ppn, from the first again
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "host_layout.h"

#include <stdlib.h>

static void by_slot(const struct host_list *list, int processes, int *host)
{
    for (int i = 0, at = 0; i < list->count; i++)
        for (int end = wf_host_first(list, i + 1, processes); at < end;)
            host[at++] = i;
}

/* Assign processes to hosts in turn: in round r to the hosts with more than r
 * slots; when no slot is left, to all. */
static void by_node(const struct host_list *list, int processes, int *host)
{
    int slots = wf_host_slots(list), at = 0;

    for (int round = 0; at < processes; round++)
        for (int i = 0; i < list->count && at < processes; i++)
            if (list->all[i].slots > round || at >= slots)
                host[at++] = i;
}

static void by_number(int each, int hosts, int processes, int *host)
{
    for (int i = 0; i < processes; i++)
        host[i] = i / each % hosts;
}

/* Renumber the ranks (--rank-by): each host keeps as many, and the ranks go
 * over the hosts in turn or in blocks. */
static bool renumber_ranks(bool in_turn, int hosts, int processes, int *host)
{
    int *left = calloc((size_t)hosts, sizeof *left), at = 0;

    if (!left)
        return false;
    for (int i = 0; i < processes; i++)
        left[host[i]]++;
    while (at < processes)
        for (int i = 0; i < hosts; i++) {
            int n = in_turn ? left[i] > 0 : left[i];
            left[i] -= n;
            while (n-- > 0)
                host[at++] = i;
        }
    free(left);
    return true;
}

bool wf_host_layout_make(const struct placement *p,
                         const struct host_list *list, int processes, int *host)
{
    if (p->per_node)
        by_number(p->per_node, list->count, processes, host);
    else if (p->map == PLACE_NODE)
        by_node(list, processes, host);
    else
        by_slot(list, processes, host);
    return p->rank == PLACE_UNSET ||
           renumber_ranks(p->rank == PLACE_NODE, list->count, processes, host);
}
