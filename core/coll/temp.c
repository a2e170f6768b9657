/* Scratch memory of schedules: see temp.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/temp.h"

#include "coll/state.h"
#include "os/shortage.h"

enum {
    /* least bytes of scratch memory that is kept */
    KEEP_TEMP = 16 * 1024,
    KEEP_TEMPS = 4 * 1024 * 1024 /* most bytes of it that are kept */
};

/* Takes kept memory of that size or not much larger. */
static struct wf_temp *take_temp(struct wf_instance *wf, size_t bytes)
{
    struct wf_coll_state *c = wf->coll;

    if (!c)
        return NULL;
    for (struct wf_temp **p = &c->temps, *t; (t = *p); p = &t->next)
        if (t->bytes >= bytes && t->bytes / 2 <= bytes) {
            *p = t->next;
            WF_ASSERT(c->temp_bytes >= t->bytes);
            c->temp_bytes -= t->bytes;
            return t;
        }
    return NULL;
}

struct wf_temp *wf_temp_get(struct wf_instance *wf, size_t bytes)
{
    struct wf_temp *t = bytes < KEEP_TEMP ? NULL : take_temp(wf, bytes);
    unsigned attempts = 0;

    if (t || bytes > SIZE_MAX - sizeof *t)
        return t;
    do
        t = malloc(sizeof *t + bytes);
    while (!t && bytes <= KEEP_TEMP && wf_shortage_wait(&attempts));
    if (t)
        t->bytes = bytes;
    return t;
}

void wf_temp_give_back(struct wf_instance *wf, struct wf_temp *t)
{
    struct wf_coll_state *c = t->bytes < KEEP_TEMP ? NULL : wf_coll_state(wf);

    if (!c || c->temp_bytes + t->bytes > KEEP_TEMPS) {
        free(t);
        return;
    }
    WF_ASSERT(c->temp_bytes <= KEEP_TEMPS);
    c->temp_bytes += t->bytes;
    t->next = c->temps;
    c->temps = t;
}
