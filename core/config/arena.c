/* Memory of one configuration: see arena.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 4096, ALIGNMENT = 16 };

struct wf_arena_block {
    struct wf_arena_block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

static char *take_bytes(struct wf_arena *arena, size_t n)
{
    struct wf_arena_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < n) {
        size_t size = n > BLOCK_BYTES ? n : BLOCK_BYTES;
        block = malloc(sizeof *block + size);
        if (block == NULL)
            return NULL;
        block->used = 0;
        block->size = size;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    char *at = block->bytes + block->used;
    block->used += n;
    return at;
}

void *wf_arena_alloc(struct wf_arena *arena, size_t n)
{
    n = (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    void *at = take_bytes(arena, n);
    if (at == NULL) {
        arena->failed = true;
        return NULL;
    }
    return memset(at, 0, n);
}

/* The result of the text functions when memory is lacking: a shared empty
 * string. Its callers never write behind its NUL. */
static char *empty_text(void)
{
    static char empty[1];
    return empty;
}

char *wf_arena_copy(struct wf_arena *arena, const char *text, size_t n)
{
    char *copy = wf_arena_alloc(arena, n + 1);
    if (copy == NULL)
        return empty_text();
    if (n > 0)
        memcpy(copy, text, n);
    return copy;
}

char *wf_arena_format(struct wf_arena *arena, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = n < 0 ? NULL : wf_arena_alloc(arena, (size_t)n + 1);
    if (text == NULL)
        text = empty_text();
    else
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

void wf_arena_fini(struct wf_arena *arena)
{
    struct wf_arena_block *block = arena->blocks;
    while (block != NULL) {
        struct wf_arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
}
