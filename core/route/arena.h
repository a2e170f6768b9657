/* Memory that lives as long as one configuration and is freed at once.
 *
 * A configuration is read once and then only looked at, so nothing in it is
 * ever freed alone. Running out of memory sets `failed`, which the loader
 * reports once at its end; text functions then return "" so that callers need
 * no ladder, and wf_arena_alloc returns NULL.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ARENA_H
#define WF_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct wf_arena_block;

struct wf_arena {
    struct wf_arena_block *blocks;
    bool failed;
};

/* Zeroed bytes, aligned for any type. */
void *wf_arena_alloc(struct wf_arena *, size_t);
/* A NUL-terminated copy of n bytes. */
char *wf_arena_copy(struct wf_arena *, const char *, size_t n);
char *wf_arena_format(struct wf_arena *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void wf_arena_fini(struct wf_arena *);

#endif
