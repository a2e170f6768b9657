/* This file writes PMI_process_mapping, the PMI-1 text that says on which node
 * each rank is.
 *
 *   (vector,(0,2,4),(2,1,3))   four ranks on each of nodes 0 and 1, three on
 *                              node 2
 *
 * The pattern begins again while ranks are left: (vector,(0,2,1)) places them
 * in turn.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

/* A run is consecutive ranks on one node. */
struct run {
    int node, ranks;
};

static int find_runs(const struct job *job, struct run *runs)
{
    int n = 0;

    for (int i = 0; i < job->count; i++) {
        const struct rank *r = &job->ranks[i];
        if (n == 0 || runs[n - 1].node != r->host->node)
            runs[n++] = (struct run){r->host->node, 0};
        runs[n - 1].ranks += r->rank_count;
    }
    return n;
}

static bool is_periodic(const struct run *runs, int n, int period)
{
    for (int i = period; i < n; i++) {
        const struct run *a = &runs[i], *b = &runs[i % period];
        if (a->node != b->node || a->ranks > b->ranks ||
            (a->ranks < b->ranks && i < n - 1))
            return false;
    }
    return true;
}

/* Returns the number of runs after which the pattern repeats. */
static int find_period(const struct run *runs, int n)
{
    int period = 1;

    while (!is_periodic(runs, n, period))
        period++;
    return period;
}

bool wf_node_map_text(const struct job *job, char *text, size_t size)
{
    struct run *runs = calloc((size_t)job->count, sizeof *runs);
    int n = runs ? find_period(runs, find_runs(job, runs)) : 0;
    size_t at = (size_t)snprintf(text, size, "(vector");

    for (int i = 0, end; i < n && at < size; i = end) {
        for (end = i + 1; end < n && runs[end].ranks == runs[i].ranks &&
                          runs[end].node == runs[i].node + end - i;)
            end++;
        at += (size_t)snprintf(text + at, size - at, ",(%d,%d,%d)",
                               runs[i].node, end - i, runs[i].ranks);
    }
    free(runs);
    if (at < size)
        at += (size_t)snprintf(text + at, size - at, ")");
    return n > 0 && at < size;
}
