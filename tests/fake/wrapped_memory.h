/* The allocation functions of a program that is linked with -Wl,--wrap=CALL for
 * some of malloc, calloc, realloc, aligned_alloc and free: the program's own,
 * which it defines, and those of the C library.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WRAPPED_MEMORY_H
#define WRAPPED_MEMORY_H

#include <stddef.h>

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__wrap_calloc(size_t n, size_t each);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);
void __wrap_free(void *p);

#endif
