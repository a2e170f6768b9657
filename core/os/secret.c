/* Memory for secrets: see secret.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/secret.h"

#include <string.h>
#include <sys/mman.h>

enum {
    WIPED = 8 << 10,  /* bytes of stack; a hash or a line of PMI takes less */
    WIPE_ON_FORK = 18 /* MADV_WIPEONFORK, which old headers lack */
};

void *wf_secret_alloc(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    /* none of these is needed for correctness */
    (void)madvise(p, n, MADV_DONTDUMP);
    (void)madvise(p, n, WIPE_ON_FORK);
    (void)mlock(p, n);
    return p;
}

void wf_secret_free(void *p, size_t n)
{
    if (!p)
        return;
    explicit_bzero(p, n);
    munmap(p, n);
}

__attribute__((noinline)) void wf_secret_wipe_stack(void)
{
    unsigned char below[WIPED];

    explicit_bzero(below, sizeof below);
}
