/* The check of the order of sections: see section.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/section.h"

#ifdef WF_CHECK_SECTIONS

#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 8 };

static const char *const names[] = {"START",   "API",     "POOL", "BOOT",
                                    "OBJECTS", "ERRANDS", "TOOL", "CODES"};

/* What this thread is inside, outermost first. */
static _Thread_local struct {
    int depth;
    struct {
        enum wf_rank rank;
        const void *lock;
    } inside[DEPTH];
} held;

static _Noreturn void wrong(const char *what, enum wf_rank rank,
                            const void *lock)
{
    fprintf(stderr, "weft: sections: %s %s (%p); the thread is inside",
            what, names[rank], lock);
    for (int i = 0; i < held.depth; i++)
        fprintf(stderr, " %s (%p)", names[held.inside[i].rank],
                held.inside[i].lock);
    fprintf(stderr, "%s\n", held.depth ? "" : " nothing");
    abort();
}

void wf_section_entering(enum wf_rank rank, const void *lock)
{
    int n = held.depth;

    if (n > 0 && held.inside[n - 1].rank >= rank)
        wrong("out of order: entering", rank, lock);
    if (n == DEPTH)
        wrong("too deep: entering", rank, lock);
    held.inside[n].rank = rank;
    held.inside[n].lock = lock;
    held.depth = n + 1;
}

/* A callback of the program may run with the API section left and others not,
 * so what is left need not be the innermost. */
void wf_section_left(enum wf_rank rank, const void *lock)
{
    int i = held.depth;

    while (i-- > 0 && held.inside[i].lock != lock)
        ;
    if (i < 0)
        wrong("leaving what was not entered:", rank, lock);
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
