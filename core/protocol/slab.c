/* A slab allocator: see slab.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/slab.h"

#include <stdlib.h>

void wf_slab_init(struct wf_slab *c, size_t size)
{
    size_t lines = (size + WF_CACHE_LINE - 1) / WF_CACHE_LINE;
    size_t two = (1 + 2 * lines) * WF_CACHE_LINE; /* the link and two cells */

    *c = (struct wf_slab){.size = lines * WF_CACHE_LINE,
                           .slab = two < WF_SLAB_BYTES ? WF_SLAB_BYTES : two};
}

void wf_slab_fini(struct wf_slab *c)
{
    for (struct wf_slab_cell *next, *slab = c->slabs; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    wf_slab_init(c, c->size);
}

static int add_slab(struct wf_slab *c)
{
    char *slab = aligned_alloc(WF_CACHE_LINE, c->slab);

    if (!slab)
        return WEFT_ENOMEM;
    ((struct wf_slab_cell *)(void *)slab)->next = c->slabs;
    c->slabs = (struct wf_slab_cell *)(void *)slab;
    c->slab_count++;
    c->fresh = slab + WF_CACHE_LINE; /* behind the line with the link */
    c->end = slab + c->slab;
    WF_ASSERT(c->slab >= WF_CACHE_LINE + 2 * c->size);
    return 0;
}

int wf_slab_grow(struct wf_slab *c)
{
    enum { AT_ONCE = 4096 };
    struct wf_slab_cell **last = &c->free;
    size_t bytes = 0;

    WF_ASSERT(!c->free);
    WF_ASSERT(c->size && c->size % WF_CACHE_LINE == 0);
    if ((size_t)(c->end - c->fresh) < c->size && add_slab(c) != 0)
        return WEFT_ENOMEM;
    /* the list is in the order of addresses */
    do {
        *last = (struct wf_slab_cell *)(void *)c->fresh;
        last = &(*last)->next;
        c->fresh += c->size;
        bytes += c->size;
    } while (bytes < AT_ONCE && (size_t)(c->end - c->fresh) >= c->size);
    *last = NULL;
    WF_ASSERT(c->free && c->fresh <= c->end);
    return 0;
}

void wf_slab_shrink(struct wf_slab *c)
{
    uint64_t needed = (uint64_t)c->most * c->size;

    WF_ASSERT(c->used == 0);
    c->most = 0;
    if (c->kept)
        return;
    if (2 * needed < (uint64_t)c->slab_count * c->slab)
        wf_slab_fini(c);
}

/* Allocate all cells up to the n-th, and free them again. */
static bool touch_cells(struct wf_slab *c, uint64_t n)
{
    struct wf_slab_cell *all = NULL, *cell;
    uint64_t got = 0;

    while (got < n && (cell = wf_slab_alloc(c)) != NULL) {
        memset(cell, 0, c->size);
        cell->next = all;
        all = cell;
        got++;
    }
    while ((cell = all) != NULL) {
        all = cell->next;
        wf_slab_free(c, cell);
    }
    return got == n;
}

bool wf_slab_reserve(struct wf_slab *c, uint64_t n)
{
    c->kept += n;
    if (c->kept <= UINT32_MAX && touch_cells(c, c->kept))
        return true;
    wf_slab_unreserve(c, n);
    return false;
}

void wf_slab_unreserve(struct wf_slab *c, uint64_t n)
{
    WF_ASSERT(c->kept >= n);
    c->kept -= n;
    if (c->kept == 0 && c->used == 0)
        wf_slab_fini(c);
}
