/* Which process is on which node, as the PMIx server says.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* Note the processes of a node; returns how many were not known before. */
static uint32_t note_node(const struct weft_boot *b, const char *node,
                          uint32_t number, uint32_t *node_of)
{
    pmix_proc_t *procs = NULL;
    size_t n = 0;
    uint32_t fresh = 0;

    if (PMIx_Resolve_peers(node, b->me.nspace, &procs, &n) != PMIX_SUCCESS)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (procs[i].rank >= b->count || node_of[procs[i].rank] != UINT32_MAX)
            continue;
        node_of[procs[i].rank] = number;
        fresh++;
    }
    PMIX_PROC_FREE(procs, n);
    return fresh;
}

int wf_pmix_find_nodes(const struct weft_boot *b, weft_boot_job *job)
{
    char *list = NULL, *rest = NULL;
    uint32_t known = 0;

    if (PMIx_Resolve_nodes(b->me.nspace, &list) != PMIX_SUCCESS || !list)
        return 0;
    job->node_of = malloc(b->count * sizeof *job->node_of);
    if (!job->node_of) {
        free(list);
        return WEFT_ENOMEM;
    }
    memset(job->node_of, 0xff, b->count * sizeof *job->node_of);
    for (char *node = strtok_r(list, ",", &rest); node;
         node = strtok_r(NULL, ",", &rest)) {
        uint32_t fresh = note_node(b, node, job->nodes, job->node_of);
        known += fresh;
        job->nodes += fresh > 0;
    }
    free(list);
    if (known == b->count)
        return 0;
    free(job->node_of);
    job->node_of = NULL;
    job->nodes = 0;
    return 0;
}
