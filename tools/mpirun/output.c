/* This file writes the output of ranks, with prefixes, to its sinks: see
 * output.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job.h"
#include "output_files.h"
#include "output_lines.h"

enum {
    LINE_MAX_BYTES = 1 << 24 /* a longer line is cut */
};

void wf_output_conclude(struct output *o)
{
    o->captured = o->prefix || o->time || o->folder || o->out_pattern ||
                  o->err_pattern;
}

static bool by_line(const struct job *job)
{
    return job->set.output.prefix || job->set.output.time;
}

/* ---- sinks --------------------------------------------------------------- */

void wf_output_attach(struct job *job, struct stream *s, bool error)
{
    const struct output *o = &job->set.output;
    struct sink *here = error && !o->merge ? &job->sink_err : &job->sink_out;

    s->sink = wf_output_file_of(job, s->rank, error && !o->merge);
    s->copy = NULL;
    if (!s->sink)
        s->sink = here;
    else if (!o->file_only && o->folder)
        s->copy = here;
}

bool wf_output_full(const struct stream *s)
{
    return wf_sink_full(s->sink) || (s->copy && wf_sink_full(s->copy)) ||
           (s->held && s->have >= WF_LINE_ROOM);
}

bool wf_output_broken(const struct stream *s)
{
    return s->sink->broken && (!s->copy || s->copy->broken);
}

void wf_output_put(struct job *job, struct stream *s, const char *data,
                   size_t n)
{
    wf_sink_write(job, s->sink, data, n);
    if (s->copy)
        wf_sink_write(job, s->copy, data, n);
}

/* ---- lines --------------------------------------------------------------- */

static void put_time(struct job *job, struct stream *s)
{
    char text[40], all[48];
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    wf_output_put(job, s, all,
                  (size_t)snprintf(all, sizeof all, "%s.%03ld ", text,
                                   now.tv_nsec / 1000000));
}

static void put_line(struct job *job, struct stream *s, const char *line,
                     size_t n)
{
    const struct output *o = &job->set.output;

    if (o->prefix && job->label[0] && !strstr(o->prefix, "%g")) {
        wf_output_put(job, s, job->label, strlen(job->label));
        wf_output_put(job, s, ":", 1);
    }
    if (o->prefix) {
        char *text = wf_output_expand(job, o->prefix, s->rank);
        if (text)
            wf_output_put(job, s, text, strlen(text));
        free(text);
    }
    if (o->time)
        put_time(job, s);
    wf_output_put(job, s, line, n);
    if (n == 0 || line[n - 1] != '\n')
        wf_output_put(job, s, "\n", 1);
}

/* Write the complete lines and move the rest to the front. */
static void put_lines(struct job *job, struct stream *s)
{
    size_t at = 0;
    char *end;

    while ((end = memchr(s->line + at, '\n', s->have - at)) != NULL) {
        size_t n = (size_t)(end - s->line) + 1 - at;
        put_line(job, s, s->line + at, n);
        at += n;
    }
    if (at == 0 && s->have >= LINE_MAX_BYTES) {
        put_line(job, s, s->line, s->have);
        at = s->have;
    }
    s->have -= at;
    memmove(s->line, s->line + at, s->have);
}

static bool make_room(struct stream *s, size_t n)
{
    if (s->room - s->have < n) {
        char *line = realloc(s->line, s->room + n + WF_LINE_ROOM);
        if (!line)
            return false;
        s->line = line;
        s->room += n + WF_LINE_ROOM;
    }
    return true;
}

void wf_output_write(struct job *job, struct stream *s, const char *data,
                     size_t n)
{
    if (!make_room(s, n)) {
        wf_sink_fail(job, s->sink, "out of memory");
        return;
    }
    memcpy(s->line + s->have, data, n);
    s->have += n;
    s->last_write = wf_job_now();
    if (by_line(job))
        put_lines(job, s);
    else
        wf_lines_pass(job, s);
}

void wf_output_end(struct job *job, struct stream *s)
{
    if (!by_line(job)) {
        wf_lines_end(job, s);
        return;
    }
    if (s->have)
        put_line(job, s, s->line, s->have);
    free(s->line);
    s->line = NULL;
    s->have = s->room = 0;
}
