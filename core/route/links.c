/* Making and freeing the record of an engine's links: see links.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/links.h"

#include <stdlib.h>

#include "process/rank.h"

struct weft_loc *wf_links_next(const struct wf_links *l, uint32_t *number)
{
    const struct wf_locations *t = &l->own;
    struct weft_loc *found = NULL;

    for (; t && !found; t = t->next) {
        uint32_t i = *number > t->first ? *number - t->first : 0;

        while (i < t->size && !(found = t->of[i]))
            i++;
        if (found)
            *number = t->first + i + 1;
    }
    return found;
}

int wf_links_init(struct wf_instance *wf)
{
    struct wf_links *l = calloc(1, sizeof *l);

    if (!l)
        return WEFT_ENOMEM;
    l->own.size = wf->rank->job.size;
    l->own.of = calloc(l->own.size, sizeof *l->own.of);
    if (!l->own.of) {
        free(l);
        return WEFT_ENOMEM;
    }
    wf->links = l;
    return 0;
}

/* Forget the other jobs that the rank has met. */
static void forget_jobs(struct wf_instance *wf)
{
    for (struct wf_locations *t; (t = wf->links->own.next);) {
        wf->links->own.next = t->next;
        wf->rank->job.next = wf->rank->job.next->next;
        t->free(t);
    }
}

void wf_links_fini(struct wf_instance *wf)
{
    forget_jobs(wf);
    free(wf->links->own.of);
    free(wf->links);
    wf->links = NULL;
}
