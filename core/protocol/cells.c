/* A slab allocator: see cells.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/cells.h"

#include <stdlib.h>

void wf_cells_init(struct wf_cells *c, size_t size)
{
    size_t lines = (size + WF_CACHE_LINE - 1) / WF_CACHE_LINE;
    size_t two = (1 + 2 * lines) * WF_CACHE_LINE; /* the link and two cells */

    *c = (struct wf_cells){.size = lines * WF_CACHE_LINE,
                           .slab = two < WF_CELLS_SLAB ? WF_CELLS_SLAB : two};
}

void wf_cells_fini(struct wf_cells *c)
{
    for (struct wf_cell *next, *slab = c->slabs; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    wf_cells_init(c, c->size);
}

static int add_slab(struct wf_cells *c)
{
    char *slab = aligned_alloc(WF_CACHE_LINE, c->slab);

    if (!slab)
        return WEFT_ENOMEM;
    ((struct wf_cell *)(void *)slab)->next = c->slabs;
    c->slabs = (struct wf_cell *)(void *)slab;
    c->slab_count++;
    c->fresh = slab + WF_CACHE_LINE; /* behind the line with the link */
    c->end = slab + c->slab;
    return 0;
}

int wf_cells_grow(struct wf_cells *c)
{
    enum { AT_ONCE = 4096 };
    struct wf_cell **last = &c->free;
    size_t bytes = 0;

    if ((size_t)(c->end - c->fresh) < c->size && add_slab(c) != 0)
        return WEFT_ENOMEM;
    /* the list is in the order of addresses */
    do {
        *last = (struct wf_cell *)(void *)c->fresh;
        last = &(*last)->next;
        c->fresh += c->size;
        bytes += c->size;
    } while (bytes < AT_ONCE && (size_t)(c->end - c->fresh) >= c->size);
    *last = NULL;
    return 0;
}

void wf_cells_shrink(struct wf_cells *c)
{
    uint64_t needed = (uint64_t)c->most * c->size;

    c->most = 0;
    if (2 * needed < (uint64_t)c->slab_count * c->slab)
        wf_cells_fini(c);
}
