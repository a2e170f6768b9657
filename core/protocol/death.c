/* Lost processes: a process that one member of the job has lost is lost to all
 * collective operations.
 *
 *   a location fails -----+
 *                         +--> known --> collectives with it end
 *   GONE from a process --+        |
 *                                  +---> GONE to every process whose business
 *                                        card is here
 *
 * DESIGN  A member of a collective need not talk to the one that has died: it
 * waits for a survivor, which has returned with an error and never comes. So
 * each process tells the others which one it has lost, and each ends its
 * operations on communicators that the lost one belongs to. No process acts for
 * another, so further deaths meanwhile change nothing, and no message of the
 * collective carries the news. Point-to-point traffic is untouched: a receive
 * from the lost process ends when this process loses it as well.
 *
 * Each process passes on what is new to it, once, to those it has talked to and
 * to its neighbours by rank, whose business cards it has. One that connects
 * later is told then: a process that waits for long connects (failure.c).
 *
 * INVARIANTS
 *   1 a collective on a communicator with a member that is known to be lost
 *     neither sends nor waits (coll/run.c, comm/agree.c, coll/shm/wait.c)
 *   2 a receive that is matched and a send that is accepted go on to their end:
 *     both sides are alive, and memory that the other side reads or writes
 *     stays valid
 *
 * A process that is told of its own death is cut off from part of the job: its
 * collectives end, too, except those with itself alone.
 *
 * LOCK  the API section
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "protocol/death.h"

#include <stdlib.h>

#include "boot/auth_key.h"
#include "os/hash.h"
#include "process/rank.h"
#include "progress/wait.h"
#include "protocol/location.h"
#include "protocol/message.h"
#include "protocol/queues.h"
#include "protocol/send.h"
#include "report/error.h"
#include "route/jobs.h"
#include "route/links.h"

enum {
    ENDED_MOST = 32,   /* receives taken from the queue at a time */
    UNMADE_MOST = 1024 /* communicators remembered: the last ones */
};

/* ---- lost processes ------------------------------------------------------ */

bool wf_proc_is_dead(const struct wf_instance *wf, uint32_t id)
{
    const struct wf_engine *e = wf->engine;

    for (uint32_t i = 0; i < e->deaths; i++)
        if (e->dead[i] == id)
            return true;
    return false;
}

bool wf_deaths_reserve(struct wf_instance *wf, uint32_t n)
{
    struct wf_engine *e = wf->engine;
    uint32_t room = e->dead_room ? e->dead_room : 16, *more;

    if (n <= e->dead_room - e->deaths)
        return true;
    while (room - e->deaths < n)
        room *= 2;
    more = realloc(e->dead, room * sizeof *more);
    if (!more)
        return false;
    e->dead = more;
    e->dead_room = room;
    return true;
}

bool wf_death_note(struct wf_instance *wf, uint32_t id)
{
    struct wf_engine *e = wf->engine;

    if (wf_proc_is_dead(wf, id))
        return false;
    if (!wf_deaths_reserve(wf, 1)) {
        wf_log(wf, WF_LOG_ERROR,
               "out of memory for the news that process %u "
               "is gone; collectives may wait for it",
               id);
        return false;
    }
    e->dead[e->deaths++] = id;
    wf->losses++;
    return true;
}

/* Whether the loss of process `id` ends the communicator's collectives. Those
 * of this process alone go on, even if others have lost it. */
static bool is_affected_by(const struct wf_comm *c, uint32_t id)
{
    if (id == c->wf->rank->id && c->size == 1 && !c->inter)
        return false;
    return wf_group_rank_of(c->local, id) != MPI_UNDEFINED ||
           (c->inter && wf_group_rank_of(c->peers, id) != MPI_UNDEFINED);
}

static int find_lost_member(const struct wf_comm *c)
{
    const struct wf_engine *e = c->wf->engine;

    for (uint32_t i = 0; i < e->deaths; i++)
        if (is_affected_by(c, e->dead[i]))
            return (int)e->dead[i];
    return -1;
}

static bool find_unmade(const struct wf_engine *home, uint64_t origin)
{
    for (uint32_t i = 0; i < home->unmade && i < UNMADE_MOST; i++)
        if (home->origins[i] == origin)
            return true;
    return false;
}

static bool is_unmade(struct wf_instance *wf, uint64_t origin)
{
    const struct wf_engine *home = wf_home(wf)->engine;
    struct wf_engines *all = wf_engines(wf);
    bool found = false;

    if (!all)
        return find_unmade(home, origin);
    WF_SECTION(tasks, all)
        found = find_unmade(home, origin);
    return found;
}

bool wf_comm_has_dead(struct wf_comm *c)
{
    uint32_t losses = c->wf->losses;

    if (c->losses_checked != losses)
        c->dead = find_lost_member(c) >= 0 || is_unmade(c->wf, c->origin);
    c->losses_checked = losses;
    return c->dead;
}

bool wf_group_has_dead(struct wf_instance *wf, const struct wf_group *g)
{
    const struct wf_engine *e = wf->engine;

    for (uint32_t i = 0; i < e->deaths; i++)
        if (wf_group_rank_of(g, e->dead[i]) != MPI_UNDEFINED)
            return true;
    return false;
}

int wf_comm_record_dead(struct wf_comm *c)
{
    int id = find_lost_member(c);
    const struct weft_loc *loc =
        id < 0 ? NULL : wf_links_find(c->wf->links, (uint32_t)id);

    if (id < 0)
        return wf_fail_on(c, WEFT_EPEER,
                          "a member could not make "
                          "the communicator, because a process was lost "
                          "meanwhile, or for lack of memory");
    if (id == (int)c->wf->rank->id)
        return wf_fail_on(c, WEFT_EPEER,
                          "another process of the "
                          "communicator has lost this one");
    return wf_fail_on(c, WEFT_EPEER,
                      "process %d%s%s, a member of "
                      "the communicator, is gone: %s",
                      id, loc && loc->host ? " on " : "",
                      loc && loc->host ? loc->host : "",
                      loc && loc->down_reason ? loc->down_reason
                                              : "another process has lost it");
}

/* ---- ending operations --------------------------------------------------- */

static bool is_ended_by_loss(const struct wf_req *r)
{
    return r->lost && r->lost(r);
}

struct ended {
    struct wf_instance *wf;
    struct wf_p2p *list[ENDED_MOST];
    int n;
};

static void collect_ended(struct wf_posted *r, void *arg)
{
    struct wf_p2p *p = wf_container(r, struct wf_p2p, posted);
    struct ended *ended = arg;

    if (ended->n == ENDED_MOST || !is_ended_by_loss(&p->req))
        return;
    wf_match_unpost(&ended->wf->engine->match, r);
    ended->list[ended->n++] = p;
}

/* The receives are taken out before the first is completed, because completion
 * may post others. */
static void end_receives(struct wf_instance *wf)
{
    struct ended ended = {.wf = wf};

    do {
        ended.n = 0;
        wf_match_each_posted(&wf->engine->match, collect_ended, &ended);
        for (int i = 0; i < ended.n; i++)
            wf_req_complete(&ended.list[i]->req, WEFT_EPEER);
    } while (ended.n);
}

/* Ask the receivers to forget sends that wait for their answer: only a receiver
 * knows whether it has matched the message and may be reading it. */
static void cancel_sends(struct wf_instance *wf)
{
    struct wf_slots *pending = &wf->engine->pending;

    for (uint32_t i = 0; i < pending->size; i++) {
        struct wf_p2p *p = pending->slots[i].object;

        if (!p || !is_ended_by_loss(&p->req) || p->req.error ||
            p->waits != WF_WAITS_ANSWER)
            continue;
        p->req.error = WEFT_EPEER;
        wf_send_cancel(p);
    }
}

static void end_collectives(struct wf_instance *wf)
{
    end_receives(wf);
    cancel_sends(wf);
    if (wf->api.on)
        wf_progress_notify(wf); /* a thread may wait for a flag, no request */
}

/* ---- telling ------------------------------------------------------------- */

/* Returns the id of the key by which a process of another job is called, or
 * 0. */
static uint64_t find_key_id(const struct wf_rank *rank, uint32_t id)
{
    const struct wf_auth_key *key =
        id < rank->job.size ? NULL : wf_job_key(&rank->job, id);

    return key ? wf_auth_key_id(key) : 0;
}

static void tell_gone(struct weft_loc *loc, uint32_t id)
{
    struct wf_wire w;

    if (loc->failed || loc->id == id || loc->id == loc->wf->rank->id ||
        (!loc->lanes && wf_location_connect(loc) != 0))
        return;
    wf_wire_init(&w, WF_GONE, 0);
    w.a = wf_le64(wf_job_name(&loc->wf->rank->job, id));
    w.b = wf_le64(find_key_id(loc->wf->rank, id));
    wf_message_send_control(loc, &w, true);
}

static void tell_gone_to_all(struct wf_instance *wf, uint32_t id)
{
    struct weft_loc *loc;

    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));)
        if (loc->host)
            tell_gone(loc, id);
}

void wf_deaths_tell_peer(struct weft_loc *loc)
{
    struct wf_engine *e = loc->wf->engine;

    for (uint32_t i = 0; i < e->deaths; i++)
        tell_gone(loc, e->dead[i]);
}

/* Telling a process may show that it is gone, too, which calls this again: the
 * inner call leaves the work to the outer one. */
void wf_deaths_spread(struct wf_instance *wf)
{
    struct wf_engine *e = wf->engine;

    if (e->spreading)
        return;
    e->spreading = true;
    while (e->spread < e->deaths) {
        uint32_t id = e->dead[e->spread++];
        end_collectives(wf);
        /* else no process is in a collective any more */
        if (!wf->links->parting)
            tell_gone_to_all(wf, id);
    }
    e->spreading = false;
}

/* Find the number of a process. Engines beside the first have only processes of
 * the own job. */
static bool find_number(struct wf_instance *wf, uint64_t name, uint32_t *number)
{
    const struct wf_job *own = &wf->rank->job;

    if (wf->number == 0)
        return wf_job_find(own, name, number);
    *number = (uint32_t)name;
    return name >> 32 == own->tag && *number < own->size;
}

/* Remember the loss of a process that this one is about to meet, perhaps: the
 * sender is a member of its group, and knows more. */
static void keep_early_loss(struct wf_rank *rank, uint64_t name, uint64_t key)
{
    uint32_t at = rank->early_count++ % WF_EARLY_MAX;

    rank->early[at].process = name;
    rank->early[at].key = key;
}

void wf_deaths_recall(struct wf_instance *wf, uint32_t id)
{
    const struct wf_rank *rank = wf->rank;
    uint64_t key = find_key_id(rank, id);

    for (uint32_t i = 0; key && i < WF_EARLY_MAX; i++)
        if (rank->early[i].key == key &&
            rank->early[i].process == wf_job_name(&rank->job, id) &&
            wf_death_note(wf, id))
            wf_deaths_spread(wf);
}

static void arrive_gone(struct weft_loc *from, const struct wf_wire *w)
{
    struct wf_instance *wf = from->wf;
    uint32_t id;

    if (!find_number(wf, wf_le64(w->a), &id)) {
        wf_log(wf, WF_LOG_INFO,
               "process %u says that process %llx is gone, which this one "
               "does not know",
               from->id, (unsigned long long)wf_le64(w->a));
        keep_early_loss(wf->rank, wf_le64(w->a), wf_le64(w->b));
        return;
    }
    if (wf_jobs_has_retired(wf->rank, wf_le64(w->b)))
        return; /* it was lost in an earlier meeting, and has met this again */
    if (!wf_death_note(wf, id))
        return;
    wf_log(wf, WF_LOG_INFO,
           "process %u has lost process %u: collectives with it end", from->id,
           id);
    wf_deaths_spread(wf);
}

/* ---- communicators that not all members have made ------------------------ */

/* When a communicator without the lost process is made out of one that had it,
 * some members may finish the agreement (comm/agree.h) before they learn of the
 * loss. An error of a member in its last step reaches one other only.
 *
 * The message comes through the engine of the parent, and concerns the engine
 * of the communicator, which its sender does not know. It is passed on, because
 * its sender may have lost one of the members. */

static uint64_t hash_group(const struct wf_group *g)
{
    uint64_t sum = 0;

    for (int i = 0; i < g->size; i++)
        sum += wf_hash_mix(wf_group_name(g, i) + 1);
    return sum;
}

uint64_t wf_comm_make_origin(const struct wf_comm *result,
                             const struct wf_comm *parent, uint64_t key)
{
    bool bridged = result->inter && !parent->inter; /* of two parents */
    uint64_t remote = result->inter ? hash_group(result->peers) : 0;
    uint64_t origin = wf_hash_mix(hash_group(result->local) + remote);

    return wf_hash_mix(origin ^ wf_hash_mix(key) ^
                       (bridged ? 0 : parent->origin));
}

static void tell_unmade(struct weft_loc *loc, uint64_t origin)
{
    struct wf_wire w;

    if (!loc || loc->id == loc->wf->rank->id || loc->failed ||
        (!loc->lanes && wf_location_connect(loc) != 0))
        return;
    wf_wire_init(&w, WF_UNMADE, 0);
    w.a = wf_le64(origin);
    wf_message_send_control(loc, &w, true);
}

static void tell_group_unmade(const struct wf_comm *c, const struct wf_group *g)
{
    for (int i = 0; i < g->size; i++)
        tell_unmade(wf_links_find(c->wf->links, wf_group_proc(g, i)),
                    c->origin);
}

void wf_comm_tell_unmade(struct wf_comm *c)
{
    if (wf_comm_is_dead(c) && !wf_engines(c->wf))
        return; /* all members learn it from GONE */
    tell_group_unmade(c, c->local);
    if (c->inter)
        tell_group_unmade(c, c->peers);
}

static void pass_unmade_on(struct wf_instance *wf, uint64_t origin)
{
    struct weft_loc *loc;

    for (uint32_t at = 0; (loc = wf_links_next(wf->links, &at));)
        if (loc->host)
            tell_unmade(loc, origin);
}

/* Remember an origin; the oldest one is forgotten, because a process that makes
 * a communicator learns this soon. false: it was known, or no memory. */
static bool add_unmade(struct wf_engine *home, uint64_t origin)
{
    if (find_unmade(home, origin))
        return false;
    if (!home->origins)
        home->origins = malloc(UNMADE_MOST * sizeof *home->origins);
    if (!home->origins) {
        wf_log(home->wf, WF_LOG_ERROR,
               "out of memory for the news that a "
               "communicator is incomplete; collectives may wait for a member");
        return false;
    }
    home->origins[home->unmade++ % UNMADE_MOST] = origin;
    return true;
}

static void end_unmade(struct wf_instance *wf)
{
    wf->losses++;
    end_collectives(wf);
}

static void run_unmade_news(struct wf_engine_task *e)
{
    end_unmade(wf_container(e, struct wf_engine, unmade_news)->wf);
}

void wf_death_init(struct wf_engine *e)
{
    e->unmade_news.run = run_unmade_news;
}

static void tell_engines(struct wf_instance *wf)
{
    for (struct wf_instance *e = wf_home(wf); e; e = wf_engine_after(e))
        if (e != wf)
            wf_engine_task_post(e, &e->engine->unmade_news);
}

static void arrive_unmade(struct weft_loc *from, const struct wf_wire *w)
{
    struct wf_instance *wf = from->wf;
    struct wf_engine *home = wf_home(wf)->engine;
    struct wf_engines *all = wf_engines(wf);
    bool added = false;

    if (!all)
        added = add_unmade(home, wf_le64(w->a));
    else
        WF_SECTION(tasks, all)
            added = add_unmade(home, wf_le64(w->a));
    if (!added)
        return;
    tell_engines(wf);
    end_unmade(wf);
    pass_unmade_on(wf, wf_le64(w->a));
}

void wf_death_take_message(struct weft_loc *from, const struct wf_wire *w)
{
    (w->type == WF_GONE ? arrive_gone : arrive_unmade)(from, w);
}
