/* Slot tables: see slots.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/slots.h"

#include <stdlib.h>

enum { FIRST_SIZE = 32, NONE = UINT32_MAX };

static int grow_table(struct wf_slots *t)
{
    uint32_t size = t->size ? 2 * t->size : FIRST_SIZE;
    struct wf_slot *slots = realloc(t->slots, size * sizeof *slots);

    WF_ASSERT(t->used == t->size);
    WF_ASSERT(size > t->size);
    if (!slots)
        return WEFT_ENOMEM;
    for (uint32_t i = t->size; i < size; i++)
        slots[i] = (struct wf_slot){NULL, 1, i + 1 < size ? i + 1 : NONE};
    t->first_free = t->size;
    t->slots = slots;
    t->size = size;
    return 0;
}

int wf_slots_put(struct wf_slots *t, void *object, uint64_t *id)
{
    struct wf_slot *s;

    if (t->used == t->size && grow_table(t) != 0)
        return WEFT_ENOMEM;
    WF_ASSERT(t->first_free < t->size);
    s = &t->slots[t->first_free];
    WF_ASSERT(!s->object);
    *id = (uint64_t)s->generation << 32 | t->first_free;
    t->first_free = s->next_free;
    s->object = object;
    t->used++;
    return 0;
}

void *wf_slots_get(const struct wf_slots *t, uint64_t id)
{
    uint32_t slot = (uint32_t)id;

    if (slot >= t->size || t->slots[slot].generation != id >> 32)
        return NULL;
    return t->slots[slot].object;
}

void wf_slots_remove(struct wf_slots *t, uint64_t id)
{
    uint32_t slot = (uint32_t)id;
    struct wf_slot *s = &t->slots[slot];

    WF_ASSERT(slot < t->size && t->used > 0);
    WF_ASSERT(s->object && s->generation == id >> 32);
    s->object = NULL;
    s->generation++;
    s->next_free = t->first_free;
    t->first_free = slot;
    t->used--;
}

void wf_slots_fini(struct wf_slots *t)
{
    free(t->slots);
    memset(t, 0, sizeof *t);
}
