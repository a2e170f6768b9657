/* A slab allocator: cells, memory of one size, allocated and freed in any
 * order.
 *
 * Cells are cut from slabs and go back to a list; the one that was freed last
 * is taken first, while the caches still have it. When all are free, there are
 * many slabs, and less than half of them were needed since that was so before,
 * the slabs are freed: bursts that come again find their memory, and one that
 * does not come again does not hold it for ever.
 *
 * LOCK  the owner's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SLAB_H
#define WF_SLAB_H

#include "base.h"

struct wf_slab_cell {
    struct wf_slab_cell *next;
};

struct wf_slab {
    struct wf_slab_cell *free;
    struct wf_slab_cell *slabs; /* each begins with the link to the next */
    char *fresh, *end;     /* the uncut part of the newest slab */
    size_t size;           /* bytes of a cell: whole cache lines */
    size_t slab;           /* bytes of a slab */
    uint32_t used, slab_count;
    uint32_t most; /* highest value of `used` since all were free */
    uint64_t kept; /* cells that are not freed: wf_slab_reserve */
};

enum {
    WF_SLAB_BYTES = 64 << 10, /* least bytes of a slab; two cells fit always */
    WF_SLAB_KEEP = 4 << 20   /* bytes that are kept when no cell is used */
};

void wf_slab_init(struct wf_slab *, size_t size);
void wf_slab_fini(struct wf_slab *);
/* Cut more free cells, from a new slab if the newest is used up: about a page
 * of them, because memory that is not touched costs nothing. 0 or
 * WEFT_ENOMEM. */
int wf_slab_grow(struct wf_slab *);
/* Free the slabs if few were needed. Called when all cells are free. */
void wf_slab_shrink(struct wf_slab *);

/* Have n more cells that stay, in pages that were touched, until
 * wf_slab_unreserve. False: out of memory. */
bool wf_slab_reserve(struct wf_slab *, uint64_t n);
void wf_slab_unreserve(struct wf_slab *, uint64_t n);

/* Allocate a cell. NULL: out of memory. */
static inline void *wf_slab_alloc(struct wf_slab *c)
{
    struct wf_slab_cell *cell = c->free;

    WF_ASSERT(c->most >= c->used);
    if (wf_unlikely(!cell)) {
        if (wf_slab_grow(c) != 0)
            return NULL;
        cell = c->free;
    }
    c->free = cell->next;
    if (++c->used > c->most)
        c->most = c->used;
    return cell;
}

/* Free a cell. */
static inline void wf_slab_free(struct wf_slab *c, void *cell)
{
    WF_ASSERT(cell && c->used > 0);
    WF_ASSERT((uintptr_t)cell % WF_CACHE_LINE == 0);
    ((struct wf_slab_cell *)cell)->next = c->free;
    c->free = cell;
    if (wf_unlikely(--c->used == 0 && c->slab_count * c->slab > WF_SLAB_KEEP))
        wf_slab_shrink(c);
}

#endif
