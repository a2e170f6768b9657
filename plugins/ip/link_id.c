/* Assigns link ids. An id consists of a slot and 16 random bits, so that an id
 * that was freed is not mistaken for its successor.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "call.h"

struct wf_ip_id *wf_ip_find_id(struct wf_ip_calls *all, uint32_t id)
{
    struct wf_ip_id *s;

    if ((id & 0xffff) >= all->ids_n)
        return NULL;
    s = &all->ids[id & 0xffff];
    return s->id == id && (s->call || s->party) ? s : NULL;
}

weft_loc *wf_ip_find_loc(struct wf_ip_calls *all, uint32_t id)
{
    const struct wf_ip_id *s = wf_ip_find_id(all, id);
    const struct wf_ip_party *p = !s         ? NULL
                                  : s->party ? s->party
                                             : s->call->party;

    return p ? p->ip->loc : NULL;
}

static bool grow_ids(struct wf_ip_calls *all)
{
    uint32_t n = all->ids_n ? all->ids_n * 2 : 16;
    struct wf_ip_id *grown;

    if (n > IP_LINKS_MAX)
        return false;
    grown = realloc(all->ids, n * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + all->ids_n, 0, (n - all->ids_n) * sizeof *grown);
    all->ids_hint = all->ids_n;
    all->ids = grown;
    all->ids_n = n;
    return true;
}

struct wf_ip_id *wf_ip_new_id(struct wf_ip_calls *all)
{
    uint16_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return NULL;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < all->ids_n; i++) {
            uint32_t at = (all->ids_hint + i) % all->ids_n;
            struct wf_ip_id *s = &all->ids[at];
            if (s->call || s->party)
                continue;
            all->ids_hint = at + 1;
            s->id = (uint32_t)random << 16 | at;
            if (s->id == 0)
                s->id = 1u << 16; /* 0 on the wire: not known yet */
            return s;
        }
        if (!grow_ids(all))
            return NULL;
    }
    return NULL;
}

void wf_ip_release_id(struct wf_ip_calls *all, uint32_t id,
                      const struct wf_ip_party *party)
{
    struct wf_ip_id *s = wf_ip_find_id(all, id);

    if (s && s->party == party)
        s->party = NULL;
}
