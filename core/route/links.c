/* Making and freeing the record of an engine's links: see links.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/links.h"

#include <stdlib.h>

#include "process/rank.h"

int wf_links_init(struct wf_instance *wf)
{
    struct wf_links *l = calloc(1, sizeof *l);

    if (!l)
        return WEFT_ENOMEM;
    l->locs = calloc(wf->rank->job.size, sizeof *l->locs);
    if (!l->locs) {
        free(l);
        return WEFT_ENOMEM;
    }
    wf->links = l;
    return 0;
}

void wf_links_fini(struct wf_instance *wf)
{
    free(wf->links->locs);
    free(wf->links);
    wf->links = NULL;
}
