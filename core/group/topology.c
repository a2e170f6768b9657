/* Creation and reference counts of topologies.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "group/topology.h"

#include <stdlib.h>

#include "object/error.h"
#include "object/handle.h"

struct wf_topo *wf_topo_create(int kind, size_t n)
{
    struct wf_topo *t = calloc(1, sizeof *t + n * sizeof *t->data);

    if (!t) {
        wf_error(MPI_ERR_NO_MEM, "no memory for a topology");
        return NULL;
    }
    t->refs = 1;
    t->kind = kind;
    return t;
}

void wf_topo_get(struct wf_topo *t)
{
    if (t)
        wf_refs_get(&t->refs);
}

void wf_topo_put(struct wf_topo *t)
{
    if (t && wf_refs_put(&t->refs))
        free(t);
}
