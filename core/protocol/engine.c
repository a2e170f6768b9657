/* The beginning and the end of a protocol engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/engine.h"

#include <stdlib.h>

#include "config/config.h"
#include "datatype/predefined.h"
#include "process/rank.h"
#include "progress/progress.h"
#include "progress/wait.h"
#include "protocol/death.h"
#include "protocol/failure.h"
#include "protocol/order.h"
#include "protocol/queues.h"
#include "protocol/request.h"
#include "protocol/sources.h"
#include "protocol/unexpected.h"

/* Initialise a request that stands for many operations. */
static void init_shared(struct wf_req *r, struct wf_instance *wf)
{
    wf_object_init(&r->object, WF_KIND_REQUEST);
    r->wf = wf;
    r->type = WF_REQ_NOOP;
    r->source = MPI_ANY_SOURCE;
    r->tag = MPI_ANY_TAG;
    wf_store_relaxed(&r->done, 1);
}
static const struct wf_progress_handlers progress_handlers = {
    .complete_held = wf_req_complete_held,
    .resume_arrivals = wf_arrive_resume,
};

WF_COLD int wf_engine_init(struct wf_instance *wf)
{
    const struct wf_core_options *o = wf->rank->options;
    struct wf_engine *e = calloc(1, sizeof *e);

    if (!e)
        return WEFT_ENOMEM;
    wf_match_init(&e->match);
    wf_list_init(&e->others);
    wf_list_init(&e->orphans);
    wf_unexpected_init(e);
    e->credits = o->credits;
    if (o->unexpected_max &&
        o->unexpected_max / wf->rank->job.size < e->credits)
        e->credits = o->unexpected_max / wf->rank->job.size;
    e->expected.size = sizeof e->expected.want;
    e->expected.first = WF_SHORT_EAGER;
    e->expected.env0 = WF_ENV0_NONE;
    e->bytes_type = wf_type_of(MPI_BYTE);
    init_shared(&e->sent, wf);
    init_shared(&e->held, wf);
    init_shared(&e->from_proc_null, wf);
    e->from_proc_null.source = MPI_PROC_NULL;
    e->wf = wf;
    wf_death_init(e);
    wf->engine = e;
    wf->progress->handlers = &progress_handlers;
    return 0;
}

static bool free_arrived(struct wf_arrived *a, void *arg)
{
    wf_unexpected_free(wf_container(a, struct wf_message, arrived));
    return true;
}

void wf_engine_keep_orphan(struct wf_instance *wf, struct wf_list *link)
{
    wf_list_append(&wf->engine->orphans, link);
}

static void free_orphans(struct wf_engine *e)
{
    while (!wf_list_empty(&e->orphans)) {
        struct wf_list *l = e->orphans.next;
        wf_list_remove(l);
        free(l);
    }
}

WF_COLD void wf_engine_fini(struct wf_instance *wf)
{
    struct wf_engine *e = wf->engine;

    if (!e)
        return;
    wf_engine_remove_sources(e);
    wf_match_each_arrived(&e->match, free_arrived, NULL);
    wf_match_fini(&e->match);
    wf_unexpected_fini(e);
    if (WF_BRIEF)
        wf_pool_fini(&e->pool);
    free(e->dead);
    free(e->origins);
    wf_slots_fini(&e->pending);
    wf_slots_fini(&e->matched);
    for (int i = 0; i < e->slab_count; i++)
        free(e->slabs[i]);
    free(e->slabs);
    free_orphans(e);
    free(e);
    wf->engine = NULL;
}
