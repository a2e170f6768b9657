/* An arena: memory that lives as long as one configuration and is freed at
 * once.
 *
 * A configuration is read once and not changed afterwards, so nothing in it is
 * freed alone. When memory runs out, `failed` is set, which the loader reports
 * once at its end. wf_arena_alloc then returns NULL; the text functions return
 * "", so that their callers need no error path.
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

/* Allocate zeroed bytes, aligned for any type; NULL: out of memory. */
void *wf_arena_alloc(struct wf_arena *, size_t);
/* Copy n bytes and append a NUL. */
char *wf_arena_copy(struct wf_arena *, const char *, size_t n);
/* Format a text as sprintf does. */
char *wf_arena_format(struct wf_arena *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void wf_arena_fini(struct wf_arena *);

#endif
