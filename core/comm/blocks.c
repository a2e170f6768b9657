/* Blocks of memory that transports gave to the program: see blocks.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/blocks.h"

#include <stdlib.h>

#include "os/tuning.h"
#include "route/links.h"

enum { PAGE = 4096 /* alignment of transports' memory */ };

/* Whether the transport has memory from which messages need one copy less. */
static bool has_memory(const struct weft_core *core)
{
    return !(core->attr.caps & WEFT_CAP_NO_MR) &&
           WEFT_HAS(core->ops, weft_ops, mem_alloc) &&
           WEFT_HAS(core->ops, weft_ops, mem_free);
}

static struct wf_block *unlink_block(struct wf_block **at)
{
    struct wf_block *b = *at;

    *at = b->next;
    return b;
}

static void add_block(struct wf_block **list, struct wf_block *b)
{
    b->next = *list;
    *list = b;
}

static void return_block(struct wf_block *b)
{
    b->core->ops->mem_free(b->core->ep, &b->mem);
    free(b);
}

/* ---- spare blocks -------------------------------------------------------- */

static uint64_t count_spare_bytes(const struct wf_rank *rank)
{
    uint64_t sum = 0;

    for (const struct wf_block *b = rank->spare_blocks; b; b = b->next)
        sum += b->mem.len;
    return sum;
}

/* Returns the oldest spare blocks until the others have `most` bytes. */
static void trim_spares(struct wf_rank *rank, uint64_t most)
{
    uint64_t left = count_spare_bytes(rank);

    while (left > most) {
        struct wf_block **at = &rank->spare_blocks;

        while ((*at)->next)
            at = &(*at)->next;
        left -= (*at)->mem.len;
        return_block(unlink_block(at));
    }
}

/* Finds a spare block of that size; NULL: there is none. */
static struct wf_block *take_spare(struct wf_rank *rank, size_t size)
{
    struct wf_block **at = &rank->spare_blocks;

    while (*at && (*at)->mem.len != size)
        at = &(*at)->next;
    return *at ? unlink_block(at) : NULL;
}

/* Makes the block at this place of the list of those in use a spare one. */
static void spare_block(struct wf_rank *rank, struct wf_block **at)
{
    add_block(&rank->spare_blocks, unlink_block(at));
    trim_spares(rank, WF_SPARE_BYTES);
}

/* ---- blocks -------------------------------------------------------------- */

/* Makes a block by the first transport that can; NULL: there is none. */
static struct wf_block *make_block(struct wf_instance *wf, size_t size)
{
    struct wf_links *links = wf->links;
    struct wf_block *b = calloc(1, sizeof *b);

    for (int i = 0; b && i < links->ep_count; i++) {
        b->core = &links->eps[i];
        b->mem = (weft_mem){.size = sizeof(weft_mem), .len = size};
        if (has_memory(b->core) &&
            b->core->ops->mem_alloc(b->core->ep, &b->mem) >= 0)
            return b;
    }
    free(b);
    return NULL;
}

void *wf_block_allocate(struct wf_instance *wf, size_t bytes)
{
    struct wf_rank *rank = wf->rank;
    struct wf_block *b;

    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    b = take_spare(rank, bytes);
    if (!b)
        b = make_block(wf, bytes);
    if (!b && rank->spare_blocks) {
        trim_spares(rank, 0);
        b = make_block(wf, bytes);
    }
    if (!b)
        return NULL;
    add_block(&rank->blocks, b);
    return b->mem.base;
}

bool wf_block_free(struct wf_rank *rank, const void *base)
{
    struct wf_block **at = &rank->blocks;

    while (*at && ((*at)->mem.base != base || (*at)->freed))
        at = &(*at)->next;
    if (!*at)
        return false;
    if ((*at)->pins > 0)
        (*at)->freed = true;
    else
        spare_block(rank, at);
    return true;
}

void wf_blocks_fini(struct wf_rank *rank)
{
    while (rank->blocks)
        return_block(unlink_block(&rank->blocks));
    trim_spares(rank, 0);
}

/* ---- pins ---------------------------------------------------------------- */

struct wf_block *wf_block_pin(struct wf_rank *rank, const void *base,
                              size_t bytes)
{
    struct wf_block *b = rank->blocks;
    uintptr_t from = (uintptr_t)base;

    while (b && (b->freed || from - (uintptr_t)b->mem.base >= b->mem.len ||
                 bytes > b->mem.len - (from - (uintptr_t)b->mem.base)))
        b = b->next;
    if (b)
        b->pins++;
    return b;
}

void wf_block_unpin(struct wf_rank *rank, struct wf_block *b)
{
    struct wf_block **at = &rank->blocks;

    WF_ASSERT(b->pins > 0);
    if (--b->pins > 0 || !b->freed)
        return;
    while (*at != b)
        at = &(*at)->next;
    b->freed = false;
    spare_block(rank, at);
}
