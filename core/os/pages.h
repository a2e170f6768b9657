/* The pages of shared memory, before they are used.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PAGES_H
#define WF_PAGES_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* Take the pages of a mapping now, by one call instead of a fault for each, which
 * costs ten times as much in a virtual machine. False: there is no memory; kernels
 * before 5.14 find that out when they fault them in later. */
static inline bool wf_pages_take(void *base, size_t bytes)
{
    enum { POPULATE_WRITE = 23 }; /* MADV_, which old systems lack */

    return madvise(base, bytes, POPULATE_WRITE) == 0 || errno == EINVAL;
}

#endif
