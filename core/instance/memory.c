/* Memory for communication (MPI-5.0 s9.2). Where a transport has memory that
 * its peers can reach (shm), large blocks come from there: a message from such
 * a block needs one copy less. Other blocks come from the heap, aligned so that
 * the payload of a message has cache lines of its own.
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

/* Allocate from the first transport that can; NULL: there is none. */
static void *alloc_from_transport(struct wf_instance *wf, size_t size)
{
    struct wf_links *links = wf->links;
    struct wf_block *b = malloc(sizeof *b);

    for (int i = 0; b && i < links->ep_count; i++) {
        struct weft_core *core = &links->eps[i];
        *b = (struct wf_block){
            wf->rank->blocks, core, {.size = sizeof(weft_mem), .len = size}};
        if (!has_memory(core) || core->ops->mem_alloc(core->ep, &b->mem) < 0)
            continue;
        wf->rank->blocks = b;
        return b->mem.base;
    }
    free(b);
    return NULL;
}

/* Free a block that came from a transport; false: it did not. */
static bool free_to_transport(struct wf_instance *wf, void *base)
{
    struct wf_block **at = &wf->rank->blocks;

    while (*at && (*at)->mem.base != base)
        at = &(*at)->next;
    if (!*at)
        return false;
    struct wf_block *b = *at;
    *at = b->next;
    b->core->ops->mem_free(b->core->ep, &b->mem);
    free(b);
    return true;
}

void wf_memory_fini(struct wf_instance *wf)
{
    while (wf->rank->blocks)
        free_to_transport(wf, wf->rank->blocks->mem.base);
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
    if (!free_to_transport(wf, base))
        free(base);
    return MPI_SUCCESS;
}
