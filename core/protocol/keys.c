/* Key tables: keys.h has the picture.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/keys.h"

#include <stdlib.h>

enum { FIRST_SIZE = 64 };

void wf_keys_init(struct wf_keys *t, uint64_t mask, ptrdiff_t envelope)
{
    *t = (struct wf_keys){.mask = mask, .envelope = envelope};
}

void wf_keys_free(struct wf_keys *t)
{
    free(t->bin);
    wf_keys_init(t, t->mask, t->envelope);
}

/* Make an entry the first leader of its bin. */
static void insert_leader(struct wf_keys *t, struct wf_link *l)
{
    const struct wf_envelope *e = wf_keys_envelope_of(t, l);
    struct wf_link **bin = wf_keys_bin_of(t, e->env0, e->env1);

    l->chain = *bin;
    *bin = l;
}

/* Multiply the bins by four, or allocate the first. WEFT_ENOMEM: there are
 * none. */
static int grow_table(struct wf_keys *t)
{
    struct wf_link **old = t->bin;
    uint32_t size = t->size;
    struct wf_link **bin =
        calloc(old ? 4 * (size_t)size : FIRST_SIZE, sizeof(struct wf_link *));

    if (!bin)
        return old ? 0 : WEFT_ENOMEM; /* a fuller table still works */
    t->bin = bin;
    t->size = old ? 4 * size : FIRST_SIZE;
    for (uint32_t i = 0; old && i < size; i++)
        for (struct wf_link *rest, *l = old[i]; l; l = rest) {
            rest = l->chain;
            insert_leader(t, l);
        }
    free(old);
    return 0;
}

int wf_keys_append(struct wf_keys *t, struct wf_link *l)
{
    const struct wf_envelope *e = wf_keys_envelope_of(t, l);
    struct wf_link *leader;

    if (wf_unlikely(2 * t->used >= t->size) && grow_table(t) != 0)
        return WEFT_ENOMEM;
    leader = wf_keys_find_oldest(t, e->env0, e->env1);
    l->next = NULL;
    if (leader) {
        l->prev = leader->prev;
        l->prev->next = l;
        leader->prev = l;
        return 0;
    }
    l->prev = l;
    insert_leader(t, l);
    t->used++;
    return 0;
}

/* Remove a leader: the next entry of its envelope, if any, becomes leader. */
static void remove_leader(struct wf_keys *t, struct wf_link *l)
{
    const struct wf_envelope *e = wf_keys_envelope_of(t, l);
    struct wf_link **at = wf_keys_bin_of(t, e->env0, e->env1);

    while (*at != l)
        at = &(*at)->chain;
    if (l->next) {
        l->next->prev = l->prev;
        l->next->chain = l->chain;
        *at = l->next;
    } else {
        *at = l->chain;
        t->used--;
    }
}

void wf_keys_remove(struct wf_keys *t, struct wf_link *l)
{
    if (l->prev->next != l) {
        remove_leader(t, l);
        return;
    }
    l->prev->next = l->next;
    if (l->next) {
        l->next->prev = l->prev;
        return;
    }
    /* It was the last of its envelope, and the leader points to the last. */
    const struct wf_envelope *e = wf_keys_envelope_of(t, l);
    wf_keys_find_oldest(t, e->env0, e->env1)->prev = l->prev;
}
