/* Cells: see cells.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/cells.h"

#include <stdlib.h>

void wf_cells_init(struct wf_cells *c, size_t size)
{
    *c = (struct wf_cells){.size = (size + WF_CACHE_LINE - 1) /
                                   WF_CACHE_LINE * WF_CACHE_LINE};
}

void wf_cells_fini(struct wf_cells *c)
{
    for (struct wf_cell *next, *slab = c->slabs; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    wf_cells_init(c, c->size);
}

int wf_cells_grow(struct wf_cells *c)
{
    char *slab = aligned_alloc(WF_CACHE_LINE, WF_CELLS_SLAB);
    struct wf_cell **end = &c->free;

    if (!slab)
        return WEFT_ENOMEM;
    ((struct wf_cell *)(void *)slab)->next = c->slabs;
    c->slabs = (struct wf_cell *)(void *)slab;
    c->slab_count++;
    /* in the order of their addresses, behind the line with the link */
    for (size_t at = WF_CACHE_LINE; at + c->size <= WF_CELLS_SLAB;
         at += c->size) {
        *end = (struct wf_cell *)(void *)(slab + at);
        end = &(*end)->next;
    }
    *end = NULL;
    return 0;
}

void wf_cells_shrink(struct wf_cells *c)
{
    uint64_t needed = (uint64_t)c->most * c->size;

    c->most = 0;
    if (2 * needed < (uint64_t)c->slab_count * WF_CELLS_SLAB)
        wf_cells_fini(c);
}
