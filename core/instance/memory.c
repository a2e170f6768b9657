/* Memory for communication (MPI-5.0 s9.2). Where a transport has memory that
 * its peers can reach (shm), large blocks come from there (comm/blocks.h): a
 * message from such a block needs one copy less, and a window of it is mapped.
 * Other blocks come from the heap, aligned so that the payload of a message has
 * cache lines of its own.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "comm/blocks.h"
#include "core_api.h"
#include "object/error.h"
#include "object/info.h"
#include "os/tuning.h"

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

int wf_mpi_alloc_mem(struct wf_instance *wf, MPI_Aint size,
                     struct wf_info *info, void *baseptr)
{
    size_t align = find_alignment(info);
    void *p = NULL;

    if (size >= WF_SHARE_FROM && align <= PAGE)
        p = wf_block_allocate(wf, (size_t)size);
    if (!p && posix_memalign(&p, align, size ? (size_t)size : 1) != 0)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %lld bytes",
                        (long long)size);
    memcpy(baseptr, &p, sizeof p); /* the address of some pointer */
    return MPI_SUCCESS;
}

int wf_mpi_free_mem(struct wf_instance *wf, void *base)
{
    if (!wf_block_free(wf->rank, base))
        free(base);
    return MPI_SUCCESS;
}
