/* Slot tables: the pending and the matched queue, with access by id.
 *
 * An id that travels in headers is generation << 32 | slot: finding the request
 * is one array access, and an id of an earlier use of the slot (a late or
 * forged answer) is recognised.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SLOTS_H
#define WF_SLOTS_H

#include "base.h"

struct wf_slot {
    void *object; /* NULL: free */
    uint32_t generation, next_free;
};

struct wf_slots {
    struct wf_slot *slots;
    uint32_t size, first_free, used;
};

/* Add an object. 0 and *id, or WEFT_ENOMEM. */
int wf_slots_put(struct wf_slots *, void *object, uint64_t *id);
/* The object of an id, or NULL for an id that is not in use. */
void *wf_slots_get(const struct wf_slots *, uint64_t id);
void wf_slots_remove(struct wf_slots *, uint64_t id);
void wf_slots_fini(struct wf_slots *);

#endif
