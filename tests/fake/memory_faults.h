/* The n-th allocation from now on fails, or all that are aligned. Linked with
 * -Wl,--wrap=CALL for malloc, calloc, realloc and aligned_alloc.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MEMORY_FAULTS_H
#define MEMORY_FAULTS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "wrapped_memory.h"

static atomic_int memory_fails_at; /* 0: none fails */
static atomic_bool memory_has_failed;
static atomic_bool memory_has_no_containers; /* messages that wait, and more */

static bool memory_fails(void)
{
    if (atomic_load(&memory_fails_at) <= 0 ||
        atomic_fetch_sub(&memory_fails_at, 1) != 1)
        return false;
    atomic_store(&memory_has_failed, true);
    errno = ENOMEM; /* a libc that is linked in looks for it */
    return true;
}

void *__wrap_malloc(size_t n)
{
    return memory_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
    return memory_fails() ? NULL : __real_calloc(n, each);
}

void *__wrap_realloc(void *p, size_t n)
{
    return memory_fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return memory_has_no_containers || memory_fails()
               ? NULL
               : __real_aligned_alloc(align, n);
}

#endif
