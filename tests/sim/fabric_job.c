/* Jobs on the simulated fabric: cables that break, time, beginning and end. See
 * fabric.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "instance/instance.h"
#include "config/config.h"
#include "boot/boot.h"
#include "boot/memory.h"
#include "progress/progress.h"
#include "comm/world.h"
#include "group/comm.h"
#include "process/rank.h"
#include "report/error.h"
#include "route/jobs.h"
#include "route/links.h"
#include "sim/fabric_inside.h"

struct sim_counts sim_counts;

/* ---- cables that break --------------------------------------------------- */

static void print_report(weft_peer *p)
{
    int status = p->notice;

    p->notice = 0;
    p->ep->host->peer_down(p->ep->core, p->loc, status, "the cable was cut");
}

static weft_peer *end_of(int fabric, int a, int b)
{
    return world.eps[fabric][a] ? world.eps[fabric][a]->peers[b] : NULL;
}

void sim_trouble(struct sim *s)
{
    int f = (int)sim_random(s, SIM_FABRICS),
        a = (int)sim_random(s, (unsigned)s->n),
        b = (int)sim_random(s, (unsigned)s->n);
    weft_peer *p;

    if (a == b)
        return;
    p = end_of(f, a, b);
    switch (sim_random(s, 4)) {
    case 0:
        if (sim_connected(p))
            sim_disconnect(p, true);
        break;
    case 1:
        world.pairs[f][a < b ? a : b][a < b ? b : a].down = true;
        if (sim_connected(p))
            sim_disconnect(p, true);
        break;
    case 2:
        world.pairs[f][a < b ? a : b][a < b ? b : a].mute = true;
        break;
    default:
        sim_heal(s);
    }
}

void sim_heal(struct sim *s)
{
    for (int f = 0; f < SIM_FABRICS; f++)
        for (int a = 0; a < s->n; a++)
            for (int b = a; b < s->n; b++)
                world.pairs[f][a][b].down = world.pairs[f][a][b].mute = false;
}

static uint64_t sim_now(void *clock)
{
    return world.now += 100; /* no two looks at a clock are the same */
}

/* Something is not acknowledged yet, or a pair has no carrier. */
static bool is_unsettled(const struct sim *s)
{
    struct weft_loc *loc;

    for (int i = 0; i < s->n; i++)
        for (uint32_t at = 0; (loc = wf_links_next(s->ranks[i]->links, &at));)
            if (loc->order &&
                (loc->order->first || loc->order->owed ||
                 loc->order->at < 0 || loc->lane[0].fifo_head))
                return true;
    return false;
}

/* Time passes for everybody. */
static bool wait_a_while(struct sim *s)
{
    if (!world.options.failover || !is_unsettled(s))
        return false;
    world.now += 500000;
    for (int i = 0; i < s->n; i++) {
        wf_progress_request_resume(s->ranks[i]);
        wf_progress_poll(s->ranks[i], UINT32_MAX);
    }
    return true;
}

bool sim_step(struct sim *s)
{
    weft_peer *busy[SIM_FABRICS * SIM_MAX * SIM_MAX], *p;
    int n;
    weft_ep *to;

    if (world.options.failover) {
        world.now += sim_random(s, 20000);
        wf_progress_poll(s->ranks[sim_random(s, (unsigned)s->n)], UINT32_MAX);
    }
    n = sim_busy_channels(busy);

    if (!n && world.options.starve) { /* their progress resumes channels */
        for (int i = 0; i < s->n; i++)
            wf_progress_poll(s->ranks[i], UINT32_MAX);
        n = sim_busy_channels(busy);
    }
    if (!n)
        return wait_a_while(s);
    p = busy[sim_random(s, (unsigned)n)];
    to = world.eps[p->ep->fabric][p->id];
    if (p->notice)
        print_report(p);
    else if (p->reads && (!p->head || sim_random(s, 2)))
        sim_finish_read(p);
    else if (!to || to->dead)
        sim_drop_parcels(p);
    else
        sim_deliver(to, p);
    return true;
}

static void break_channel(weft_ep *e, weft_peer *p)
{
    weft_ep *other = world.eps[e->fabric][p->id];
    weft_peer *back = other ? other->peers[e->id] : NULL;

    if (back)
        sim_lose_landings(back, e);
    sim_drop_parcels(p);
    p->dead = true;
    e->host->peer_down(e->core, p->loc, WEFT_EPEER, "killed by the simulation");
}

void sim_kill(struct sim *s, uint32_t rank)
{
    weft_ep *victim = world.eps[0][rank];

    victim->dead = true;
    for (int i = 0; i < s->n; i++)
        if (world.eps[0][i] && (uint32_t)i != rank &&
            world.eps[0][i]->peers[rank])
            break_channel(world.eps[0][i], world.eps[0][i]->peers[rank]);
    for (int i = 0; i < SIM_MAX; i++)
        if (victim->peers[i])
            sim_drop_parcels(victim->peers[i]);
    for (int i = 0; i < SIM_MAX; i++)
        if (victim->peers[i])
            victim->host->peer_down(victim->core, victim->peers[i]->loc,
                                    WEFT_ESYS, "this process is dead");
}

/* ---- life of a job ------------------------------------------------------- */

static struct wf_config *make_config(const char *more)
{
    struct wf_config *config;
    char text[1024];

    snprintf(text, sizeof text,
             "[core]\nlog = error\n%s\n[transport sim]\nplugin = sim\n"
             "enable = yes\n%s%s",
             more ? more : "",
             world.options.failover
                 ? "[transport sim2]\nplugin = sim\nenable = yes\n"
                   "[route default]\n"
                   "use = sim, sim2\nfailback = 20ms\npolicy = "
                 : "[route default]\nuse = sim\n",
             !world.options.failover ? ""
             : world.options.stripe  ? "stripe\n"
                                     : "order\n");
    if (wf_config_from_text(text, &config, stderr) != 0)
        abort();
    return config;
}

uint32_t sim_number_of(uint32_t rank, uint32_t in)
{
    const struct wf_rank *of = world.sim->ranks[rank]->rank;
    uint32_t number = 0;

    if (!wf_job_find(&world.sim->ranks[in]->rank->job,
                     wf_job_name(&of->job, of->id), &number))
        abort();
    return number;
}

/* The rank learns that the other is there, and its business card. */
static void tell_rank(struct wf_instance *wf, const struct wf_instance *other)
{
    struct wf_boot *boot = other->rank->boot;
    struct wf_job *job;
    char key[32];
    void *card;
    size_t n;

    if (wf_jobs_meet(wf, other->rank->job.tag, other->rank->job.size, NULL,
                     &job) != 0)
        abort();
    snprintf(key, sizeof key, "weft.card.%u", other->rank->id);
    if (boot->ops->get(boot, key, &card, &n) != 0 ||
        wf_jobs_note_card(wf, job->first + other->rank->id, NULL, card, n) != 0)
        abort();
    free(card);
}

/* A communicator of all jobs, one after the other. */
static void join_jobs(struct sim *s, int rank)
{
    enum { CONTEXT = 9 }; /* no other has it */
    struct wf_instance *wf = s->ranks[rank];
    uint32_t *procs = malloc((size_t)s->n * sizeof *procs);
    struct wf_group *g;

    if (!procs)
        abort();
    for (int i = 0; i < s->n; i++)
        procs[i] = sim_number_of((uint32_t)i, (uint32_t)rank);
    g = wf_group_create(wf, s->n, procs);
    s->all[rank] = g ? wf_comm_create(wf, g, NULL, CONTEXT, CONTEXT) : NULL;
    if (!s->all[rank])
        abort();
    wf_comm_inherit(s->all[rank], wf->world);
}

static int job_of(const struct sim_options *o, int rank)
{
    int job = 0;

    while (job < SIM_JOBS - 1 && rank >= o->jobs[job])
        rank -= o->jobs[job++];
    return job;
}

static void meet_jobs(struct sim *s, const struct sim_options *o)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->n; k++)
            if (job_of(o, i) != job_of(o, k))
                tell_rank(s->ranks[i], s->ranks[k]);
    for (int i = 0; i < s->n; i++)
        join_jobs(s, i);
}

static void create_boots(const struct sim_options *o, struct wf_boot **boots)
{
    int first = 0;

    if (!o->jobs[0] && wf_boot_memory_create((uint32_t)o->ranks, boots) != 0)
        abort();
    for (int job = 0; job < SIM_JOBS; first += o->jobs[job++])
        if (o->jobs[job] && wf_boot_memory_create((uint32_t)o->jobs[job],
                                                  boots + first) != 0)
            abort();
}

void sim_start(struct sim *s, const struct sim_options *o)
{
    struct wf_boot *boots[SIM_MAX];

    memset(&world, 0, sizeof world);
    *s = (struct sim){.n = o->ranks, .seed = o->seed};
    world.sim = s;
    world.options = *o;
    world.now = 1000000000;
    if (!world.options.max_payload)
        world.options.max_payload = 65536;
    create_boots(o, boots);
    for (int i = 0; i < o->ranks; i++) {
        struct wf_instance_params p = {.boot = boots[i],
                                       .config = make_config(o->config)};
        if (o->failover)
            p.now_ns = sim_now;
        world.opening = (uint32_t)i;
        if (wf_instance_create(&p, &s->ranks[i]) != 0 ||
            wf_world_begin(s->ranks[i]) != 0) {
            fprintf(stderr, "%s\n", wf_error_last()->text);
            abort();
        }
        s->all[i] = s->ranks[i]->world;
    }
    if (o->jobs[0])
        meet_jobs(s, o);
}

void sim_stop(struct sim *s)
{
    while (sim_step(s))
        ;
    for (int i = 0; i < s->n; i++)
        for (struct wf_ordered *o = s->ranks[i]->links->orders; o;
             o = o->next_order) {
            sim_counts.moves += o->counts[WF_ORDER_MOVES];
            sim_counts.resent += o->counts[WF_ORDER_RESENT];
            sim_counts.duplicates += o->counts[WF_ORDER_DUPLICATES];
            sim_counts.damaged += o->counts[WF_ORDER_DAMAGED];
            sim_counts.striped += o->counts[WF_ORDER_STRIPED];
        }
    for (int i = 0; i < s->n; i++) {
        if (s->all[i] != s->ranks[i]->world)
            wf_comm_put(s->all[i]);
        wf_instance_destroy(s->ranks[i]);
    }
}
