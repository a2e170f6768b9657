/* This file prints what every rank does, on SIGUSR1 and when --timeout ends the
 * job.
 *
 *   USR1 --> ask those on other hosts --all answered, or a second--> print
 *
 * Ranks on this host are not asked: their pages are read as they are, whatever
 * the ranks do and even if they are stopped. Equal lines are merged. See
 * state_report.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "state_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"

enum {
    ANSWER_NS = 1000000000, /* for a host that may be gone */
    LINES_MANY = 16 /* then peers of collectives are left out to merge lines */
};

/* ---- asking -------------------------------------------------------------- */

void wf_state_report_open(struct rank *r)
{
    r->state_page = wf_state_page_create(r->rank_count);
}

static int still_asked(const struct job *job)
{
    int n = 0;

    for (int i = 0; i < job->count; i++)
        n += job->ranks[i].page_requested;
    return n;
}

static void finish_report(struct job *job);

void wf_state_report_take(struct job *job, struct rank *r, const char *page,
                          size_t n)
{
    if (n == wf_state_bytes((uint64_t)r->rank_count)) {
        free(r->remote_page);
        r->remote_page = malloc(n);
        if (r->remote_page)
            memcpy(r->remote_page, page, n);
    }
    r->page_requested = false;
    if (job->report_deadline && still_asked(job) == 0)
        finish_report(job);
}

void wf_state_report_begin(struct job *job, bool then_end)
{
    job->report_ends_job |= then_end;
    if (job->report_deadline)
        return; /* it was asked for already */
    for (int i = 0; i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        r->page_requested = !r->ended && wf_link_is_up(r->host);
    }
    wf_links_send(job, FRAME_ASK, NULL, 0);
    job->report_deadline = wf_job_now() + ANSWER_NS;
    if (still_asked(job) == 0)
        finish_report(job);
}

void wf_state_report_deadline(struct job *job)
{
    if (job->report_deadline && wf_job_now() >= job->report_deadline)
        finish_report(job);
}

/* ---- printing ------------------------------------------------------------ */

struct group {
    char ranks[200];
    int count, last, from; /* from: of the range that is being written */
    size_t used;
    double least, most; /* seconds */
};

static void end_range(struct group *g)
{
    if (g->from < 0 || g->used >= sizeof g->ranks)
        return;
    g->used += (size_t)snprintf(g->ranks + g->used, sizeof g->ranks - g->used,
                                g->last > g->from ? "%s%d-%d" : "%s%d",
                                g->used ? ", " : "", g->from, g->last);
}

/* Add a line to a group. Ranks come in their order; one with several threads
 * comes more than once. */
static void join_group(struct group *g, const struct rank_state_line *line)
{
    double s = line->state.seconds;

    if (g->count == 0 || s < g->least)
        g->least = s;
    if (g->count == 0 || s > g->most)
        g->most = s;
    if (g->count == 0 || line->rank > g->last + 1) {
        if (g->count)
            end_range(g);
        g->from = line->rank;
    }
    g->count += g->count == 0 || line->rank != g->last;
    g->last = line->rank;
}

static void name_one(const struct job *job, const struct rank_state_line *line,
                     char *text, size_t size)
{
    const struct rank *r = wf_job_find_holder((struct job *)job, line->rank);
    char host[80] = "", thread[40] = "";

    if (job->set.nodes)
        snprintf(host, sizeof host, "node%d, ", r->host->node);
    else if (wf_host_elsewhere(&job->hosts))
        snprintf(host, sizeof host, "host %.64s, ", r->host->name);
    if (line->state.thread)
        snprintf(thread, sizeof thread, ", thread %llu",
                 (unsigned long long)line->state.thread);
    if (line->state.pid)
        snprintf(text, size, "rank %d (%spid %d%s)", line->rank, host,
                 line->state.pid, thread);
    else
        snprintf(text, size, "rank %d", line->rank);
}

static void put_times(const struct rank_state *w, const struct group *g,
                      char *text, size_t size)
{
    const char *s = g->count > 1 ? "" : "s";

    text[0] = 0;
    if (w->kind == WF_STATE_FREE)
        return;
    if (w->kind == WF_STATE_POLLS)
        snprintf(text, size, "; in vain for %.1f s%s", g->most,
                 g->count > 1 ? " at most" : "");
    else if (g->most - g->least < 0.1)
        snprintf(text, size, "; wait%s for %.1f s", s, g->most);
    else
        snprintf(text, size, "; wait%s for %.1f to %.1f s", s, g->least,
                 g->most);
}

static const char *text_of(const struct rank_state_line *line, bool brief)
{
    return brief ? line->brief : line->text;
}

/* Print one line for this rank and all later ones with the same text. */
static void print_group(const struct job *job, struct rank_state_lines *lines,
                        size_t first, bool brief)
{
    struct rank_state_line *one = &lines->list[first];
    struct group g = {.from = -1};
    char who[400], times[80];

    for (size_t i = first; i < lines->n; i++) {
        struct rank_state_line *line = &lines->list[i];
        if (line->shown ||
            strcmp(text_of(line, brief), text_of(one, brief)) != 0)
            continue;
        line->shown = true;
        join_group(&g, line);
    }
    end_range(&g);
    if (g.count > 1)
        snprintf(who, sizeof who, "ranks %s", g.ranks);
    else
        name_one(job, one, who, sizeof who);
    put_times(&one->state, &g, times, sizeof times);
    wf_job_say(job, "%s: %s%s", who, text_of(one, brief), times);
}

static bool has_many_texts(const struct rank_state_lines *lines)
{
    size_t different = 0;

    for (size_t i = 0; i < lines->n && different <= LINES_MANY; i++) {
        size_t k = 0;
        while (k < i && strcmp(lines->list[k].text, lines->list[i].text) != 0)
            k++;
        different += k == i;
    }
    return different > LINES_MANY;
}

static void print_states(struct job *job)
{
    struct rank_state_lines lines = {0};
    bool good = true, brief;

    for (int i = 0; good && i < job->count; i++)
        good = wf_state_report_read(job, &job->ranks[i], &lines);
    if (!good)
        wf_job_say(job, "out of memory: the state of some ranks is missing");
    brief = has_many_texts(&lines);
    for (size_t i = 0; i < lines.n; i++)
        if (!lines.list[i].shown)
            print_group(job, &lines, i, brief);
    free(lines.list);
}

static void finish_report(struct job *job)
{
    bool ends = job->report_ends_job;

    job->report_deadline = 0;
    job->report_ends_job = false;
    print_states(job);
    for (int i = 0; i < job->count; i++)
        job->ranks[i].page_requested = false;
    if (ends)
        wf_end_begin(job, SIGTERM);
}
