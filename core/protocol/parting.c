/* Parting from processes of other jobs: what is on its way leaves, the
 * transports say goodbye, and then the location is forgotten.
 *
 * Both sides do so after an agreement in which each has said that its messages
 * are sent. So all of them have arrived when a goodbye comes, and a process
 * that hears one counts as gone only if something is sent to it afterwards.
 * Where a meeting has failed, and the other side may wait, there is no goodbye.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/parting.h"

#include <stdlib.h>

#include "process/rank.h"
#include "protocol/carrier_control.h"
#include "protocol/failure.h"
#include "protocol/location.h"
#include "protocol/order.h"
#include "protocol/queues.h"
#include "protocol/traffic.h"
#include "protocol/unexpected.h"
#include "route/jobs.h"
#include "route/links.h"

void wf_parting_return_credit(struct wf_instance *wf)
{
    struct weft_loc *loc;

    for (uint32_t at = wf->rank->job.size;
         (loc = wf_links_next(wf->links, &at));)
        if (loc->owed && loc->lanes && !loc->failed)
            wf_credit_return(loc);
}

static bool is_in_table(const struct wf_slots *table,
                        const struct wf_comm *comm)
{
    for (uint32_t i = 0; i < table->size; i++) {
        const struct wf_p2p *p = table->slots[i].object;
        if (p && p->req.comm == comm)
            return true;
    }
    return false;
}

bool wf_parting_is_idle(const struct wf_comm *comm)
{
    const struct wf_engine *e = comm->wf->engine;

    return !is_in_table(&e->pending, comm) && !is_in_table(&e->matched, comm);
}

/* Returns whether no communicator names a process of another job. */
static bool is_leaving(const struct wf_parting *p, int i)
{
    const struct wf_job *job = wf_job_of(&p->wf->rank->job, p->numbers[i]);

    return job && job->comms &&
           wf_load_relaxed(&job->comms[p->numbers[i] - job->first]) == 0;
}

/* Returns its location then, if there is one. */
static struct weft_loc *find_leaver(const struct wf_parting *p, int i)
{
    return is_leaving(p, i) ? wf_links_find(p->wf->links, p->numbers[i]) : NULL;
}

static bool has_sent_all(const struct weft_loc *loc)
{
    if (loc->failed)
        return true;
    for (unsigned k = 0; k < loc->lanes; k++)
        if (loc->lane[k].fifo_head)
            return false;
    return !loc->order || !loc->order->first;
}

static bool have_all_sent(void *arg)
{
    const struct wf_parting *p = arg;

    for (int i = 0; i < p->n; i++) {
        const struct weft_loc *loc = find_leaver(p, i);
        if (loc && !has_sent_all(loc))
            return false;
    }
    return true;
}

/* Say goodbye by each endpoint; true: all peers are deleted. */
static bool say_goodbye(struct weft_loc *loc, bool abrupt)
{
    struct wf_links *links = loc->wf->links;
    bool all = true;

    for (int k = 0; k < links->ep_count; k++) {
        if (!loc->peers[k])
            continue;
        if (links->eps[k].ops->peer_del(loc->peers[k], abrupt || loc->failed) ==
            WEFT_EAGAIN)
            all = false;
        else
            loc->peers[k] = NULL;
    }
    return all;
}

static bool delete_peers(const struct wf_parting *p, bool abrupt)
{
    bool all = true;

    for (int i = 0; i < p->n; i++) {
        struct weft_loc *loc = find_leaver(p, i);
        if (loc && !say_goodbye(loc, abrupt))
            all = false;
    }
    return all;
}

static bool have_all_gone(void *arg)
{
    return delete_peers(arg, false);
}

/* Tell the peer what has arrived, so that it need not keep it, and take the
 * pair out of the maintenance. */
static void end_pair(struct wf_links *links, struct wf_ordered *o)
{
    struct wf_ordered **at = &links->orders;

    if (!o->failed && o->owed && o->at >= 0)
        wf_carrier_send_ack(o, NULL);
    while (*at && *at != o)
        at = &(*at)->next_order;
    if (*at)
        *at = o->next_order;
    o->failed = true;
}

struct purge {
    const struct weft_loc *loc;
    struct wf_message *found;
};

static bool find_stored(struct wf_arrived *a, void *arg)
{
    struct wf_message *m = wf_container(a, struct wf_message, arrived);
    struct purge *purge = arg;

    if (m->loc == purge->loc)
        purge->found = m;
    return !purge->found;
}

/* Drop messages that no receive came for. */
static void drop_stored(struct weft_loc *loc)
{
    struct purge purge = {.loc = loc};

    do {
        purge.found = NULL;
        wf_match_each_arrived(&loc->wf->engine->match, find_stored, &purge);
        if (purge.found)
            wf_unexpected_free(purge.found);
    } while (purge.found);
}

/* Its number may become that of another process. */
static void forget_death(struct wf_engine *e, uint32_t number)
{
    for (uint32_t i = 0; i < e->deaths; i++)
        if (e->dead[i] == number) {
            e->deaths--;
            memmove(&e->dead[i], &e->dead[i + 1],
                    (e->deaths - i) * sizeof *e->dead);
            e->spread -= i < e->spread;
            return;
        }
}

static void forget_location(struct weft_loc *loc)
{
    struct wf_engine *e = loc->wf->engine;

    loc->parting = true;
    wf_traffic_keep(loc);
    wf_location_down(loc, WEFT_EPEER, "it has disconnected");
    drop_stored(loc);
    e->failures--;
    if (loc->unreported)
        e->unreported--;
    if (e->probed == loc)
        e->probed = NULL;
    wf_location_forget(loc);
}

static void forget_all(const struct wf_parting *p)
{
    for (int i = 0; i < p->n; i++) {
        struct weft_loc *loc = find_leaver(p, i);

        if (!is_leaving(p, i))
            continue;
        if (loc)
            forget_location(loc);
        forget_death(p->wf->engine, p->numbers[i]);
        wf_jobs_part(p->wf, p->numbers[i]);
    }
}

void wf_parting_leave(const struct wf_parting *p)
{
    void *arg = (void *)(uintptr_t)p;

    p->wait(p->wf, have_all_sent, arg, p->deadline);
    for (int i = 0; i < p->n; i++) {
        struct weft_loc *loc = find_leaver(p, i);
        if (loc && loc->order)
            end_pair(p->wf->links, loc->order);
    }
    if (!p->abrupt)
        p->wait(p->wf, have_all_gone, arg, p->deadline);
    delete_peers(p, true);
    forget_all(p);
}
