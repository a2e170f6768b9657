/* The map: the processes of a job, their ranks, and on which host each is.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* ---- making it ----------------------------------------------------------- */

void wf_map_clear(struct rank *r)
{
    r->bound_cpu = -1;
    r->awaits = -1;
    r->pmi.fd = r->out.source.fd = r->err.source.fd = -1;
    r->state_page = -1;
    r->out.rank = r->err.rank = r;
}

static void describe(struct rank *r, struct app *app, int i)
{
    int left = app->count - i * app->each;
    wf_map_clear(r);
    r->index = app->first_process + i;
    r->id = app->first + i * app->each;
    r->held = left < app->each ? left : app->each;
    r->app = app;
}

static bool reads_input(const struct job *job, const struct rank *r)
{
    int chosen = job->set.stdin_rank;
    return chosen == STDIN_ALL || (chosen >= r->id && chosen < r->id + r->held);
}

/* Processes [first, end) are on this host. */
static void put_on(struct job *job, struct host *h, int first, int end)
{
    int ranks = 0;
    for (int i = first; i < end; i++) {
        struct rank *r = &job->ranks[i];
        r->host = h;
        r->local = ranks;
        r->reads_input = reads_input(job, r);
        ranks += r->held;
    }
    for (int i = first; i < end; i++)
        job->ranks[i].local_count = ranks;
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
    for (int i = 0, first = 0; i < job->hosts.count; i++) {
        int end = wf_host_first(&job->hosts, i + 1, job->count);
        put_on(job, &job->hosts.all[i], first, end);
        first = end;
    }
    return 0;
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

struct rank *wf_job_holder(struct job *job, int rank)
{
    int i = 0;
    while (job->ranks[i].id + job->ranks[i].held <= rank)
        i++;
    return &job->ranks[i];
}

/* ---- showing it ---------------------------------------------------------- */

/* The processes from the i-th on that are on the same host and of the same
 * program; returns the one behind them. */
static int print_block(const struct job *job, int i, FILE *f)
{
    const struct rank *first = &job->ranks[i], *last = first;
    char ranks[48];

    for (; i < job->count && job->ranks[i].host == first->host &&
           job->ranks[i].app == first->app; i++)
        last = &job->ranks[i];
    if (last->id + last->held - 1 > first->id)
        snprintf(ranks, sizeof ranks, "ranks %d-%d", first->id,
                 last->id + last->held - 1);
    else
        snprintf(ranks, sizeof ranks, "rank %d", first->id);
    fprintf(f, "  %-24s %-16s %s\n", first->host->name, ranks,
            first->app->argv[0]);
    return i;
}

void wf_map_print(const struct job *job, FILE *f)
{
    int hosts = job->hosts.count;

    fprintf(f, "mpirun: %d rank%s on %d host%s\n", job->size,
            job->size == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
    for (int i = 0; i < job->count;)
        i = print_block(job, i, f);
    fflush(f);
}
