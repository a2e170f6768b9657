/* The table behind MPI_X_toint and MPI_X_fromint.
 *
 *   handles[n]  address whose integer is FIRST + n
 *   slots[]     open-addressing hash table from address to n + 1; at most half
 *               full
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/handle_int.h"

#include <stdlib.h>

#include "api/check.h"
#include "group/raise.h"
#include "object/error.h"
#include "process/rank.h"

enum { FIRST = WF_PREDEFINED_MAX + 1, SLOTS_MIN = 64 };

struct handle_table {
    struct wf_handle_ints base; /* must be first */
    size_t count, slot_count; /* slot_count: a power of two, 2 * capacity */
    const void **handles;
    uint32_t *slots;
};

static size_t slot_of(const struct handle_table *t, const void *handle)
{
    size_t mask = t->slot_count - 1;
    size_t i = (size_t)(((uint64_t)(uintptr_t)handle >> 3) *
                        UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (t->slots[i] && t->handles[t->slots[i] - 1] != handle)
        i = (i + 1) & mask;
    return i;
}

/* Make room for one more handle; false: out of memory, nothing has changed. */
static bool ensure_room(struct handle_table *t)
{
    if (t->count < t->slot_count / 2)
        return true;
    size_t n = t->slot_count ? t->slot_count * 2 : SLOTS_MIN;
    const void **handles = realloc(t->handles, n / 2 * sizeof(*handles));
    if (!handles)
        return false;
    t->handles = handles;
    uint32_t *slots = calloc(n, sizeof(*slots));
    if (!slots)
        return false;
    free(t->slots);
    t->slots = slots;
    t->slot_count = n;
    for (size_t i = 0; i < t->count; i++)
        slots[slot_of(t, handles[i])] = (uint32_t)i + 1;
    return true;
}

static void free_table(struct wf_handle_ints *base)
{
    struct handle_table *t = (struct handle_table *)base;

    free(t->handles);
    free(t->slots);
    free(t);
}

static struct handle_table *ensure_table(struct wf_instance *wf)
{
    struct handle_table *t = (struct handle_table *)wf->rank->handle_ints;

    if (!t && (t = calloc(1, sizeof *t)) != NULL) {
        t->base.free = free_table;
        wf->rank->handle_ints = &t->base;
    }
    return t;
}

/* Returns the integer of an address, which is numbered now if it was not yet;
 * -1: out of memory. */
static int number_handle(struct wf_instance *wf, const void *handle)
{
    struct handle_table *t = ensure_table(wf);
    if (!t || !ensure_room(t) || t->count >= INT_MAX - FIRST)
        return -1;
    size_t i = slot_of(t, handle);
    if (!t->slots[i]) {
        t->handles[t->count] = handle;
        t->slots[i] = (uint32_t)++t->count;
    }
    return FIRST + (int)t->slots[i] - 1;
}

int wf_handle_toint(const char *fn, const void *handle)
{
    if ((uintptr_t)handle <= WF_PREDEFINED_MAX)
        return (int)(uintptr_t)handle;
    struct wf_instance *wf = wf_current();
    if (!wf) {
        wf_bad_phase(fn);
        return 0;
    }
    int value = -1;
    WF_SECTION(api, wf)
        value = number_handle(wf, handle);
    if (value < 0) {
        wf_raise(wf, NULL, fn,
                 wf_error(MPI_ERR_NO_MEM, "no memory to number the handle"));
        return 0;
    }
    return value;
}

void *wf_handle_fromint(const char *fn, int value)
{
    if (value >= 0 && value < FIRST)
        return (void *)(uintptr_t)value;
    struct wf_instance *wf = wf_current();
    if (!wf) {
        wf_bad_phase(fn);
        return NULL;
    }
    const void *handle = NULL;
    WF_SECTION(api, wf) {
        struct handle_table *t = (struct handle_table *)wf->rank->handle_ints;
        if (t && value >= FIRST && (size_t)(value - FIRST) < t->count)
            handle = t->handles[value - FIRST];
    }
    return (void *)handle;
}
