/* The table of MPI_T's handles: see handles.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "tool/handles.h"

#include <stdint.h>
#include <stdlib.h>

#include "os/section.h"

/* Handles begin with FIRST because mpi.h has constants below. */
enum { FIRST = 256, LAST = UINT16_MAX, BITS = 16, GROWTH = 32 };

struct slot {
    enum wf_tool_kind kind;
    uint16_t generation;
    void *object;
};

static struct table {
    struct wf_lock lock;
    struct slot *slots;
    unsigned size;
} table;

WF_LOCK_SECTION(handles, struct table, lock, WF_RANK_TOOL)

/* Returns a slot that is not in use, or NULL. */
static struct slot *find_free(void)
{
    unsigned size = table.size + GROWTH;
    struct slot *slots;

    for (unsigned i = 0; i < table.size; i++)
        if (table.slots[i].kind == WF_TOOL_FREE)
            return &table.slots[i];
    slots = FIRST + size - 1 > LAST
                ? NULL
                : realloc(table.slots, size * sizeof *slots);
    if (!slots)
        return NULL;
    for (unsigned i = table.size; i < size; i++)
        slots[i] = (struct slot){WF_TOOL_FREE, 0, NULL};
    table.slots = slots;
    table.size = size;
    return &slots[size - GROWTH];
}

static struct slot *find_slot(const void *handle)
{
    uintptr_t value = (uintptr_t)handle;
    unsigned low = value & UINT16_MAX;
    struct slot *s;

    if (low < FIRST || low - FIRST >= table.size)
        return NULL;
    s = &table.slots[low - FIRST];
    return value >> BITS == s->generation ? s : NULL;
}

void *wf_tool_handle_create(enum wf_tool_kind kind, void *object)
{
    void *handle = NULL;

    WF_SECTION(handles, &table) {
        struct slot *s = find_free();
        if (s) {
            s->kind = kind;
            s->object = object;
            handle = (void *)((uintptr_t)s->generation << BITS |
                              (uintptr_t)(FIRST + (s - table.slots)));
        }
    }
    return handle;
}

void *wf_tool_handle_find(enum wf_tool_kind kind, const void *handle)
{
    void *object = NULL;

    WF_SECTION(handles, &table) {
        const struct slot *s = find_slot(handle);
        if (s && s->kind == kind)
            object = s->object;
    }
    return object;
}

void wf_tool_handle_drop(const void *handle)
{
    WF_SECTION(handles, &table) {
        struct slot *s = find_slot(handle);
        if (s) {
            s->kind = WF_TOOL_FREE;
            s->object = NULL;
            s->generation++;
        }
    }
}
