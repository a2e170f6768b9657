/* A lock-free stack that any thread pushes on and one takes as a whole.
 *
 *   head -> newest -> ... -> oldest -> NULL
 *
 * DESIGN  Nothing is ever taken singly, so a head that comes back with the same
 * address is the same stack (no ABA), and one word suffices.
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
        l->next = head; /* the exchange below says what it really is */
    while (!wf_cas_acq_rel(&s->head, &head, l)); /* pairs with take_all */
}

static inline bool wf_stack_some(struct wf_stack *s)
{
    return wf_load_relaxed(&s->head) != NULL;
}

/* Oldest first, of what take_all returned. */
static inline struct wf_stack_link *wf_stack_reversed(struct wf_stack_link *l)
{
    struct wf_stack_link *next, *first = NULL;

    for (; l; l = next) {
        next = l->next;
        l->next = first;
        first = l;
    }
    return first;
}

/* Newest first. */
static inline struct wf_stack_link *wf_stack_take_all(struct wf_stack *s)
{
    if (!wf_load_relaxed(&s->head))
        return NULL;
    return wf_exchange_acq_rel(&s->head, NULL); /* pairs with push */
}

#endif
