/* Populates the pages of shared memory before they are used.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PAGES_H
#define WF_PAGES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Populates the pages of a mapping by one call, instead of a fault for each
 * page, which costs ten times as much in a virtual machine. Returns false if
 * there is no memory. Kernels before 5.14 do nothing here and find that out
 * when a page faults. */
static inline bool wf_pages_populate(void *base, size_t bytes)
{
    enum { POPULATE_WRITE = 23 }; /* MADV_, which old systems lack */

    return madvise(base, bytes, POPULATE_WRITE) == 0 || errno == EINVAL;
}

#endif
