/* memory_held counts the bytes that a program has allocated, in all threads.
 * Linked with -Wl,--wrap=CALL for malloc, calloc, realloc, aligned_alloc and
 * free.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef MEMORY_HELD_H
#define MEMORY_HELD_H

#include <malloc.h>
#include <stdatomic.h>

#include "wrapped_memory.h"

#ifndef MEMORY_HELD_BELOW /* larger blocks, and of this size, are not counted */
#define MEMORY_HELD_BELOW __LONG_MAX__
#endif

static atomic_long memory_held;

static long size_of_block(void *p)
{
    long n = p ? (long)malloc_usable_size(p) : 0;

    return n < MEMORY_HELD_BELOW ? n : 0;
}

static void *count_block(void *p)
{
    memory_held += size_of_block(p);
    return p;
}

void *__wrap_malloc(size_t n)
{
    return count_block(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t each)
{
    return count_block(__real_calloc(n, each));
}

void *__wrap_realloc(void *old, size_t n)
{
    long before = size_of_block(old);
    void *p = __real_realloc(old, n);

    memory_held -= p || !n ? before : 0;
    return count_block(p);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return count_block(__real_aligned_alloc(align, n));
}

void __wrap_free(void *p)
{
    memory_held -= size_of_block(p);
    __real_free(p);
}

#endif
