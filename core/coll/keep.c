/* The end of schedules kept for reuse. Apart from schedule.c, so that the
 * instance can free them in a program that uses no collective.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "coll/vertex.h"

void wf_sched_free(struct wf_sched *s)
{
    if (s->v != s->inline_v)
        free(s->v);
    if (s->e != s->inline_e)
        free(s->e);
    free(s);
}

void wf_sched_fini(struct wf_instance *wf)
{
    while (wf->temps) {
        struct wf_temp *t = wf->temps;
        wf->temps = t->next;
        free(t);
    }
    while (wf->scheds) {
        struct wf_sched *s = wf->scheds;
        wf->scheds = s->next;
        wf_sched_free(s);
    }
}
