/* The map: the processes of a job, their ranks, and on which host each is.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "job.h"

static void place(struct job *job)
{
    int nodes = job->set.nodes ? job->set.nodes : 1;
    int more = job->count % nodes, each = job->count / nodes;
    for (int node = 0, id = 0; node < nodes; node++) {
        int here = each + (node < more), ranks = 0;
        if (job->set.hosts.elsewhere)
            here = wf_host_first(&job->set.hosts, node + 1, job->count) - id;
        for (int i = id; i < id + here; i++) {
            job->ranks[i].node = node;
            job->ranks[i].local = ranks;
            ranks += job->ranks[i].held;
        }
        for (; here > 0; here--)
            job->ranks[id++].local_count = ranks;
    }
}

struct rank *wf_job_holder(struct job *job, int rank)
{
    int i = 0;
    while (job->ranks[i].id + job->ranks[i].held <= rank)
        i++;
    return &job->ranks[i];
}

static void describe(struct rank *r, struct app *app, int i)
{
    int left = app->count - i * app->each;
    r->index = app->first_process + i;
    r->id = app->first + i * app->each;
    r->held = left < app->each ? left : app->each;
    r->app = app;
    r->bound_cpu = -1;
    r->awaits = -1;
    r->pmi.fd = r->out.source.fd = r->err.source.fd = r->ask.fd = -1;
    r->state_page = -1;
}

int wf_map_make(struct job *job)
{
    job->ranks = calloc((size_t)job->count, sizeof(*job->ranks));
    if (!job->ranks)
        return -1;
    for (int a = 0; a < job->app_count; a++) {
        struct app *app = &job->apps[a];
        for (int i = 0; i < app->processes; i++)
            describe(&job->ranks[app->first_process + i], app, i);
    }
    place(job);
    return 0;
}
