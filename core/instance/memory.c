/* Memory for communication (MPI-5.0 s9.2). Where a transport has memory that
 * its peers can reach (shm), large blocks come from there: a message from such
 * a block needs one copy less. Other blocks come from the heap, aligned so that
 * the payload of a message has cache lines of its own.
 *
 * DESIGN  A transport makes such a block by several system calls, and the
 * kernel clears its pages: milliseconds for a large one. So a block that the
 * program frees is kept for the next call of that size, within
 * WF_SPARE_BYTES; the oldest ones go first, and all if a transport can make
 * none any more.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "instance/memory.h"

#include <stdlib.h>

#include "core_api.h"
#include "object/error.h"
#include "object/info.h"
#include "os/tuning.h"
#include "process/rank.h"
#include "route/links.h"

enum { PAGE = 4096 /* alignment of transports' memory */ };

/* Returns the alignment that the hint mpi_minimum_memory_alignment asks for. A
 * value that is no power of two is ignored, as hints may be. */
static size_t find_alignment(const struct wf_info *info)
{
    const char *text =
        info ? wf_info_find(info, "mpi_minimum_memory_alignment") : NULL;
    unsigned long long n = text ? strtoull(text, NULL, 10) : 0;

    if (n < WF_CACHE_LINE || n & (n - 1))
        return WF_CACHE_LINE;
    return (size_t)n;
}

/* A block that a transport gave out. */
struct wf_block {
    struct wf_block *next;
    struct weft_core *core;
    weft_mem mem;
};

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

/* ---- blocks -------------------------------------------------------------- */

/* Makes a block by the first transport that can; NULL: there is none. */
static struct wf_block *make_block(struct wf_instance *wf, size_t size)
{
    struct wf_links *links = wf->links;
    struct wf_block *b = malloc(sizeof *b);

    for (int i = 0; b && i < links->ep_count; i++) {
        struct weft_core *core = &links->eps[i];
        *b = (struct wf_block){
            NULL, core, {.size = sizeof(weft_mem), .len = size}};
        if (has_memory(core) && core->ops->mem_alloc(core->ep, &b->mem) >= 0)
            return b;
    }
    free(b);
    return NULL;
}

/* Allocates whole pages from a transport; NULL: it cannot. */
static void *alloc_from_transport(struct wf_instance *wf, size_t size)
{
    struct wf_rank *rank = wf->rank;
    struct wf_block *b;

    size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
    b = take_spare(rank, size);
    if (!b)
        b = make_block(wf, size);
    if (!b && rank->spare_blocks) {
        trim_spares(rank, 0);
        b = make_block(wf, size);
    }
    if (!b)
        return NULL;
    add_block(&rank->blocks, b);
    return b->mem.base;
}

/* Frees a block that came from a transport; false: it did not. */
static bool free_to_transport(struct wf_rank *rank, const void *base)
{
    struct wf_block **at = &rank->blocks;

    while (*at && (*at)->mem.base != base)
        at = &(*at)->next;
    if (!*at)
        return false;
    add_block(&rank->spare_blocks, unlink_block(at));
    trim_spares(rank, WF_SPARE_BYTES);
    return true;
}

void wf_memory_fini(struct wf_instance *wf)
{
    while (wf->rank->blocks)
        return_block(unlink_block(&wf->rank->blocks));
    trim_spares(wf->rank, 0);
}

int wf_mpi_alloc_mem(struct wf_instance *wf, MPI_Aint size,
                     struct wf_info *info, void *baseptr)
{
    size_t align = find_alignment(info);
    void *p = NULL;

    if (size >= WF_SHARE_FROM && align <= PAGE)
        p = alloc_from_transport(wf, (size_t)size);
    if (!p && posix_memalign(&p, align, size ? (size_t)size : 1) != 0)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %lld bytes",
                        (long long)size);
    memcpy(baseptr, &p, sizeof p); /* the address of some pointer */
    return MPI_SUCCESS;
}

int wf_mpi_free_mem(struct wf_instance *wf, void *base)
{
    if (!free_to_transport(wf->rank, base))
        free(base);
    return MPI_SUCCESS;
}
