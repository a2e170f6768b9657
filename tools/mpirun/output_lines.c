/* This file mixes the output of several ranks in one sink by lines: see
 * output_lines.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "output_lines.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { LINE_WAIT_MS = 1000 };

/* Returns the time after which a stream's unfinished line is given up. A stream
 * that is not read because a sink is full may have more to come. */
static uint64_t time_of_giving_up(const struct stream *s)
{
    if (wf_io_is_paused(s))
        return UINT64_MAX;
    return s->last_write + LINE_WAIT_MS * UINT64_C(1000000);
}

/* Returns the other stream that has begun a line in the sink and may still
 * finish it. */
static struct stream *open_line_of_another(const struct sink *sink,
                                           const struct stream *s)
{
    if (!sink || !sink->in_line_of || sink->in_line_of == s ||
        time_of_giving_up(sink->in_line_of) <= wf_job_now())
        return NULL;
    return sink->in_line_of;
}

static struct stream *find_open_line(const struct stream *s)
{
    struct stream *other = open_line_of_another(s->sink, s);
    return other ? other : open_line_of_another(s->copy, s);
}

static size_t length_of_lines(const struct stream *s)
{
    const char *end = memrchr(s->line, '\n', s->have);
    return end ? (size_t)(end - s->line) + 1 : 0;
}

static void note_line(struct sink *sink, struct stream *s, bool ended)
{
    if (sink)
        sink->in_line_of = ended ? NULL : s;
}

static void put_held(struct job *job, struct stream *s, size_t n)
{
    bool ended;

    if (n == 0)
        return;
    ended = s->line[n - 1] == '\n';
    wf_output_put(job, s, s->line, n);
    note_line(s->sink, s, ended);
    note_line(s->copy, s, ended);
    s->have -= n;
    memmove(s->line, s->line + n, s->have);
}

static void set_held(struct job *job, struct stream *s, bool held)
{
    job->held_streams += held - s->held;
    s->held = held;
}

/* End the line of a stream that has ended; no other stream waits for its
 * rest. */
static void end_line(struct stream *s)
{
    if (s->sink && s->sink->in_line_of == s)
        s->sink->in_line_of = NULL;
    if (s->copy && s->copy->in_line_of == s)
        s->copy->in_line_of = NULL;
    free(s->line);
    s->line = NULL;
    s->room = 0;
}

void wf_lines_pass(struct job *job, struct stream *s)
{
    bool keep_rest = job->held_streams > s->held && !s->ended &&
                     s->have < WF_LINE_ROOM &&
                     time_of_giving_up(s) > wf_job_now();

    if (!find_open_line(s))
        put_held(job, s, keep_rest ? length_of_lines(s) : s->have);
    set_held(job, s, s->have > 0);
    if (s->ended && !s->held)
        end_line(s);
}

void wf_lines_end(struct job *job, struct stream *s)
{
    s->ended = true;
    wf_lines_pass(job, s);
}

static void pass_if_held(struct job *job, struct stream *s)
{
    if (s->held)
        wf_lines_pass(job, s);
}

void wf_lines_pass_all(struct job *job)
{
    int before = job->held_streams;

    if (before == 0)
        return;
    for (int i = 0; i < job->count; i++) {
        pass_if_held(job, &job->ranks[i].out);
        pass_if_held(job, &job->ranks[i].err);
    }
    if (job->held_streams < before)
        wf_io_drain(job); /* read those again that had too much held */
}

static void take_earlier(uint64_t *next, const struct stream *s)
{
    const struct stream *other;

    if (!s->held)
        return;
    other = find_open_line(s);
    uint64_t at = time_of_giving_up(other ? other : s);
    if (!*next || at < *next)
        *next = at;
}

uint64_t wf_lines_next(const struct job *job)
{
    uint64_t next = 0;

    for (int i = 0; job->held_streams > 0 && i < job->count; i++) {
        take_earlier(&next, &job->ranks[i].out);
        take_earlier(&next, &job->ranks[i].err);
    }
    return next;
}
