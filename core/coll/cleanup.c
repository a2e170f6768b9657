/* Frees what collectives keep: schedules, and the shared memory of a
 * communicator. It is apart from the rest, so that a program that uses no
 * collective can free it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/cleanup.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "coll/state.h"
#include "coll/temp.h"
#include "coll/shm/shmcoll.h"
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
    struct wf_coll_state *c = wf->coll;

    wf->coll = NULL;
    if (!c)
        return;
    for (struct wf_temp *t = c->temps, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    for (struct wf_sched *s = c->scheds, *next; s; s = next) {
        next = s->next;
        wf_sched_free(s);
    }
    free(c);
}

void wf_shmcoll_free(struct wf_comm *comm)
{
    struct wf_shmcoll *t = comm->shmcoll;

    comm->shmcoll = NULL;
    comm->shmcoll_usable = false;
    if (!t)
        return;
    if (comm->wf->coll)
        comm->wf->coll->shm_units -= t->quota_units;
    munmap(t->shared, t->segment_bytes);
    if (t->staging)
        munmap(t->staging, t->staging_bytes);
    free(t->scratch);
    free(t);
}
