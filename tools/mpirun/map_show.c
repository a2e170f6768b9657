/* This file prints which rank is where for --display-map and --dry-run.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "binding.h"
#include "job.h"

static void name_host(const struct job *job, const struct host *h, char *text,
                      size_t size)
{
    if (job->set.nodes)
        snprintf(text, size, "node%d", h->node);
    else
        snprintf(text, size, "%s", h->name);
}

/* Returns whether two processes are unbound ones of one program that follow
 * each other on a host. */
static bool belong_together(const struct rank *a, const struct rank *b)
{
    return a->host == b->host && a->app == b->app && !a->cpus && !b->cpus;
}

static void show_cpus(const struct job *job, const struct rank *r, FILE *f)
{
    char text[600];

    if (r->cpus) {
        wf_binding_text(job, r->cpus, text, sizeof text);
        fprintf(f, "; bound to %s", text);
    } else if (!r->host->here && wf_binding_asked(&job->set.place)) {
        fprintf(f, "; bound there");
    }
}

/* Print the processes from the i-th on that belong together; returns the index
 * behind them. */
static int show_block(const struct job *job, int i, FILE *f)
{
    const struct rank *first = &job->ranks[i], *last = first;
    char host[256], ranks[48];

    for (i++; i < job->count && belong_together(first, &job->ranks[i]); i++)
        last = &job->ranks[i];
    name_host(job, first->host, host, sizeof host);
    if (last->id + last->rank_count - 1 > first->id)
        snprintf(ranks, sizeof ranks, "ranks %d-%d", first->id,
                 last->id + last->rank_count - 1);
    else
        snprintf(ranks, sizeof ranks, "rank %d", first->id);
    fprintf(f, "  %-24s %-16s %s", host, ranks, first->app->argv[0]);
    show_cpus(job, first, f);
    fputc('\n', f);
    return i;
}

void wf_map_show(const struct job *job, FILE *f)
{
    int hosts = job->hosts.count;

    fprintf(f, "mpirun: %d rank%s on %d host%s\n", job->size,
            job->size == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
    for (int i = 0; i < job->count;)
        i = show_block(job, i, f);
    fflush(f);
}
