/* Memory for communication (MPI-5.0 s9.2). Every transport of this library
 * moves ordinary memory equally well, so it comes from the heap; its alignment
 * keeps the payload of a message on its own cache lines.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "core_api.h"
#include "env/info.h"
#include "instance.h"

/* The hint mpi_minimum_memory_alignment: a power of two; anything else is
 * ignored, as hints are. */
static size_t alignment(const struct wf_info *info)
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
    void *p = NULL;

    if (posix_memalign(&p, alignment(info), size ? (size_t)size : 1) != 0)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %lld bytes",
                        (long long)size);
    memcpy(baseptr, &p, sizeof p); /* the address of some pointer */
    return MPI_SUCCESS;
}

int wf_mpi_free_mem(struct wf_instance *wf, void *base)
{
    free(base);
    return MPI_SUCCESS;
}
