/* A shared file pointer in memory. The keeper has it to itself until a member
 * asks; then it offers memory that all members map, if all share a node.
 *
 *   age N        value[N & 1]  is added to by members of this age
 *   new age      value[N + 1 & 1] = new value, then age = N + 1
 *
 * A member whose age the keeper has not reached, or that has no memory, asks by
 * a message (shared.c). The value of age N stays until that of N + 2, for which
 * the keeper waits for all members: they can read it after the keeper has gone
 * on.
 *
 * LOCK  the API section, but for the words, which members change at any time.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IO_POINTER_H
#define WF_IO_POINTER_H

#include "base.h"
#include "os/atomic.h"

struct wf_comm;
struct wf_memory;
struct wf_memory_offer;

struct wf_pointer_words {
    wf_atomic_u64 value[2];
    wf_atomic_u32 age;
};

struct wf_pointer {
    struct wf_pointer_words own, *words; /* these, or in the memory */
    struct wf_memory *memory; /* of the keeper that has offered some, or NULL */
};

/* Makes the keeper's pointer. */
void wf_pointer_init(struct wf_pointer *, uint64_t value);
/* Frees the memory; no member uses it any more. */
void wf_pointer_fini(struct wf_pointer *);

static inline bool wf_pointer_is_mapped(const struct wf_pointer *p)
{
    return p->words != &p->own;
}

/* Returns whether this member may add and read: the keeper's age is this. */
static inline bool wf_pointer_has_age(const struct wf_pointer *p, uint32_t age)
{
    return wf_load_acquire(&p->words->age) == age; /* pairs with set */
}

/* Adds to the value of this age. False: it would be too great. */
bool wf_pointer_add(struct wf_pointer *, uint32_t age, uint64_t bytes,
                    uint64_t *old);
int wf_pointer_report_overflow(void);
uint64_t wf_pointer_value(const struct wf_pointer *, uint32_t age);
/* Begins the age behind this one, in the keeper. */
void wf_pointer_set(struct wf_pointer *, uint32_t age, uint64_t value);

/* The keeper's offer to the other members, made once; NULL: they share no
 * memory. */
const struct wf_memory_offer *wf_pointer_offer(struct wf_pointer *,
                                               struct wf_comm *);
/* Maps what the keeper has offered. False: that is impossible. May wait. */
bool wf_pointer_accept(struct wf_pointer *, struct wf_comm *,
                       const struct wf_memory_offer *);

#endif
