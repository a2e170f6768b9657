/* Checks the order in which a thread enters sections: see section.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/section.h"

#ifdef WF_CHECK_SECTIONS

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 8 };

static const char *const names[] = {"START",   "API",   "POOL", "BOOT",
                                    "OBJECTS", "TASKS", "TOOL", "CODES"};

/* The sections that this thread is inside, outermost first. */
static _Thread_local struct {
    int depth;
    struct {
        enum wf_lock_rank rank;
        const void *lock;
    } inside[DEPTH];
} held;

static _Noreturn void
abort_with_sections(const char *what, enum wf_lock_rank rank, const void *lock)
{
    fprintf(stderr, "weft: sections: %s %s (%p); the thread is inside", what,
            names[rank], lock);
    for (int i = 0; i < held.depth; i++)
        fprintf(stderr, " %s (%p)", names[held.inside[i].rank],
                held.inside[i].lock);
    fprintf(stderr, "%s\n", held.depth ? "" : " nothing");
    abort();
}

void wf_section_entering(enum wf_lock_rank rank, const void *lock)
{
    int n = held.depth;

    if (n > 0 && held.inside[n - 1].rank >= rank)
        abort_with_sections("out of order: entering", rank, lock);
    if (n == DEPTH)
        abort_with_sections("too deep: entering", rank, lock);
    held.inside[n].rank = rank;
    held.inside[n].lock = lock;
    held.depth = n + 1;
}

/* A callback of the program may run while the thread has left the API section
 * but not others, so the section that it leaves need not be the innermost. */
void wf_section_left(enum wf_lock_rank rank, const void *lock)
{
    int i = held.depth;

    while (i-- > 0 && held.inside[i].lock != lock)
        ;
    if (i < 0)
        abort_with_sections("leaving what was not entered:", rank, lock);
    for (held.depth--; i < held.depth; i++)
        held.inside[i] = held.inside[i + 1];
}

bool wf_section_held(const void *lock)
{
    for (int i = 0; i < held.depth; i++)
        if (held.inside[i].lock == lock)
            return true;
    return false;
}

#endif
