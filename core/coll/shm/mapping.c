/* Memory that a transport shares is mapped a second time, so that the mapping
 * does not end with that of the transport.
 *
 * A transport says from which descriptor the memory is mapped
 * (weft_ops.map_fd). Of one that does not, and where ranks are threads, the
 * mapping is repeated by an mremap of no bytes, which Linux has for shared
 * memory, and tools that supervise a program's memory (valgrind) do not know.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "coll/shm/mapping.h"

#include <sys/mman.h>

#include "process/rank.h"

int wf_mapping_fd(const struct weft_core *core, const weft_mem *mem)
{
    WF_ASSERT(mem->base && mem->len > 0);
    /* Ranks of one process share the table of descriptors: another rank may
     * close this one before it is mapped. */
    return !core->wf->rank->ranks && WEFT_HAS(core->ops, weft_ops, map_fd)
               ? core->ops->map_fd(core->ep, mem)
               : -1;
}

void *wf_mapping_repeat(int fd, void *base, size_t bytes)
{
    void *again =
        fd >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                : mremap(base, 0, bytes, MREMAP_MAYMOVE);

    WF_ASSERT(base && again != base);
    return again == MAP_FAILED ? NULL : again;
}
