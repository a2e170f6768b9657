/* The map says which processes and ranks a job has and on which host each is.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "job.h"
#include "host_layout.h"

/* ---- making it ----------------------------------------------------------- */

static bool reads_input(const struct job *job, const struct rank *r)
{
    int chosen = job->set.stdin_rank;
    return chosen == STDIN_ALL ||
           (chosen >= r->id && chosen < r->id + r->rank_count);
}

/* Put the processes on their hosts; the ranks of each host are numbered there
 * in their order. */
static void put_on_hosts(struct job *job, const int *host, int *there)
{
    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        r->host = &job->hosts.all[host[i]];
        r->local = there[host[i]];
        r->reads_input = reads_input(job, r);
        there[host[i]] += r->rank_count;
    }
    for (int i = 0; i < job->count; i++)
        job->ranks[i].local_count = there[host[i]];
}

/* Put processes whose part names hosts on those. */
static void use_named_hosts(const struct job *job, int *host)
{
    for (int i = 0; i < job->count; i++) {
        const struct app *app = job->ranks[i].app;
        if (app->on_count)
            host[i] = app->on[(i - app->first_process) % app->on_count];
    }
}

static bool place_ranks(struct job *job)
{
    int *host = calloc((size_t)job->count, sizeof *host);
    int *there = calloc((size_t)job->hosts.count, sizeof *there);
    bool good =
        host && there &&
        wf_host_layout_make(&job->set.place, &job->hosts, job->count, host);

    if (good) {
        use_named_hosts(job, host);
        put_on_hosts(job, host, there);
    }
    free(host);
    free(there);
    return good;
}

void wf_map_clear(struct rank *r)
{
    r->awaited_rank = -1;
    r->pmi.fd = r->out.source.fd = r->err.source.fd = -1;
    r->state_page = -1;
    r->out.rank = r->err.rank = r;
}

static void describe_rank(struct rank *r, struct app *app, int i)
{
    int left = app->count - i * app->each;
    wf_map_clear(r);
    r->index = app->first_process + i;
    r->id = app->first + i * app->each;
    r->rank_count = left < app->each ? left : app->each;
    r->app = app;
}

int wf_map_make(struct job *job)
{
    job->ranks = calloc((size_t)job->count, sizeof(*job->ranks));
    if (!job->ranks)
        return -1;
    for (int a = 0; a < job->app_count; a++) {
        struct app *app = &job->apps[a];
        for (int i = 0; i < app->processes; i++)
            describe_rank(&job->ranks[app->first_process + i], app, i);
    }
    return place_ranks(job) ? 0 : -1;
}

/* ---- asking it ----------------------------------------------------------- */

struct rank *wf_map_rank(const struct job *job, int index)
{
    int low = 0, high = job->count;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (job->ranks[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < job->count && job->ranks[low].index == index
               ? &job->ranks[low]
               : NULL;
}

const struct host *wf_map_overfull(const struct job *job)
{
    for (int h = 0; h < job->hosts.count; h++) {
        int count = 0;
        for (int i = 0; i < job->count; i++)
            count += job->ranks[i].host == &job->hosts.all[h];
        if (count > job->hosts.all[h].slots)
            return &job->hosts.all[h];
    }
    return NULL;
}

struct rank *wf_job_find_holder(struct job *job, int rank)
{
    int low = 0, high = job->count - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (job->ranks[middle].id + job->ranks[middle].rank_count <= rank)
            low = middle + 1;
        else
            high = middle;
    }
    return &job->ranks[low];
}
