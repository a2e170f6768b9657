/* A lock-free stack: any thread pushes items on it, and one takes all at once.
 *
 *   head -> newest -> ... -> oldest -> NULL
 *
 * DESIGN  No item is taken alone, so a head that has the same address again is
 * the same stack (no ABA problem), and one word suffices.
 *
 * ORDER  The push releases what its thread wrote to the object and to the link;
 * the taker's exchange acquires it from every push, for each is a link of the
 * release sequence of those before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_STACK_H
#define WF_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "os/atomic.h"

struct wf_stack_link {
    struct wf_stack_link *next;
};

struct wf_stack {
    _Atomic(struct wf_stack_link *) head;
};

static inline void wf_stack_push(struct wf_stack *s, struct wf_stack_link *l)
{
    struct wf_stack_link *head = wf_load_relaxed(&s->head);

    do
        l->next = head; /* the exchange below loads it again if it is old */
    while (
        !wf_cas_acq_rel(&s->head, &head, l)); /* pairs with wf_stack_take_all */
}

static inline bool wf_stack_has_items(struct wf_stack *s)
{
    return wf_load_relaxed(&s->head) != NULL;
}

/* Reverses a list that wf_stack_take_all has returned: oldest first. */
static inline struct wf_stack_link *wf_stack_reverse(struct wf_stack_link *l)
{
    struct wf_stack_link *next, *first = NULL;

    for (; l; l = next) {
        next = l->next;
        l->next = first;
        first = l;
    }
    return first;
}

/* Takes all items; returns them as a list, newest first. */
static inline struct wf_stack_link *wf_stack_take_all(struct wf_stack *s)
{
    if (!wf_load_relaxed(&s->head))
        return NULL;
    return wf_exchange_acq_rel(&s->head, NULL); /* pairs with wf_stack_push */
}

#endif
