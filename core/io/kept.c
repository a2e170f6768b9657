/* Messages that wait for the keeper of a shared file pointer: see kept.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/kept.h"

#include <stdlib.h>

bool wf_kept_add(struct wf_list *list, struct weft_loc *from,
                 const struct wf_active_head *h)
{
    struct wf_kept *k = malloc(sizeof *k);

    if (!k)
        return false;
    *k = (struct wf_kept){.from = from, .head = *h};
    wf_list_append(list, &k->link);
    return true;
}

void wf_kept_forget(struct wf_list *list, const struct weft_loc *from)
{
    struct wf_list *next;

    for (struct wf_list *l = list->next; l != list; l = next) {
        struct wf_kept *k = wf_container(l, struct wf_kept, link);

        next = l->next;
        if (from && k->from != from)
            continue;
        wf_list_remove(&k->link);
        free(k);
    }
}
