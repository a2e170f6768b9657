/* stdin, stdout and stderr of the ranks.
 *
 * Without tags a rank of this host simply has our own descriptors: no copy, no
 * delay, and input that was typed ahead stays where it is. With tags each rank
 * writes to pipes, and whole lines leave here with the rank in front. Ranks of an
 * agent have pipes, too, and what they write comes here in frames.
 *
 * Input goes to one rank, as the descriptor itself; the others have /dev/null.
 * A rank that reads the terminal stays in our process group, or the kernel
 * would stop it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent.h"
#include "inlet.h"
#include "job.h"
#include "remote.h"

enum {
    STREAM_READ = 1 << 16,
    STREAM_LINE_MAX = 1 << 24 /* a longer line is cut */
};

bool wf_io_input_is_ours(void)
{
    return !isatty(0) || tcgetpgrp(0) == getpgrp();
}

/* 0, 1 and 2 must exist, or pipes would take their numbers. */
int wf_io_open(struct job *job)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd < 0)
        return -1;
    close(fd);
    wf_sink_open(&job->sink_out, 1);
    wf_sink_open(&job->sink_err, 2);
    return wf_pump_open(job);
}

/* ---- tagged output ---------------------------------------------------- */

static void emit(struct job *job, struct stream *s, const char *line, size_t n)
{
    char tag[24];
    int t = snprintf(tag, sizeof(tag), "[%d] ", s->rank->id);
    wf_sink_write(job, s->sink, tag, (size_t)t);
    wf_sink_write(job, s->sink, line, n);
    if (n == 0 || line[n - 1] != '\n')
        wf_sink_write(job, s->sink, "\n", 1);
}

static void end_stream(struct job *job, struct stream *s)
{
    if (s->have)
        emit(job, s, s->line, s->have);
    wf_job_unwatch(job, &s->source);
    free(s->line);
    s->line = NULL;
    s->have = s->room = 0;
}

/* Whole lines out, the rest to the front. */
static void emit_lines(struct job *job, struct stream *s)
{
    size_t at = 0;
    char *end;
    while ((end = memchr(s->line + at, '\n', s->have - at)) != NULL) {
        size_t n = (size_t)(end - s->line) + 1 - at;
        emit(job, s, s->line + at, n);
        at += n;
    }
    if (at == 0 && s->have >= STREAM_LINE_MAX) {
        emit(job, s, s->line, s->have);
        at = s->have;
    }
    s->have -= at;
    memmove(s->line, s->line + at, s->have);
}

static bool make_room(struct stream *s, size_t n)
{
    if (s->room - s->have < n) {
        char *line = realloc(s->line, s->room + n + STREAM_READ);
        if (!line)
            return false;
        s->line = line;
        s->room += n + STREAM_READ;
    }
    return true;
}

/* One read; false: nothing more now. */
static bool read_stream(struct job *job, struct stream *s)
{
    if (s->sink->broken) {
        end_stream(job, s); /* the rank learns it as we did */
        return false;
    }
    if (!make_room(s, STREAM_READ))
        return false;
    ssize_t n = read(s->source.fd, s->line + s->have, STREAM_READ);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        end_stream(job, s);
        return false;
    }
    s->have += (size_t)n;
    emit_lines(job, s);
    return true;
}

static void on_stream(struct job *job, struct source *source)
{
    struct stream *s = (struct stream *)source;
    if (!wf_sink_full(s->sink))
        read_stream(job, s);
    else
        wf_io_pause(job, s, true); /* let the rank feel our slow reader */
}

void wf_io_pause(struct job *job, struct stream *s, bool pause)
{
    struct epoll_event e = {EPOLLIN, {.ptr = s}};
    if (pause == s->paused || s->source.fd < 0)
        return;
    epoll_ctl(job->epoll, pause ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, s->source.fd,
              &e);
    s->paused = pause;
}

/* ---- output of other hosts ---------------------------------------------- */

enum { MORE_LEAST = STREAM_WINDOW / 4 /* bytes for which MORE is worth saying */ };

static int number_of(const struct stream *s)
{
    return s == &s->rank->out ? 1 : 2;
}

/* What was taken may be followed by as much, if that can be written. */
static void ask_more(struct job *job, struct stream *s)
{
    if (s->window < MORE_LEAST || wf_sink_full(s->sink))
        return;
    wf_remote_more(job, s->rank, number_of(s), s->window);
    s->window = 0;
}

void wf_io_take(struct job *job, struct stream *s, const char *data, size_t n)
{
    if (s->sink->broken) {
        wf_remote_shut(job, s->rank, number_of(s));
        return;
    }
    if (!job->set.tag) {
        wf_sink_write(job, s->sink, data, n);
    } else if (make_room(s, n)) {
        memcpy(s->line + s->have, data, n);
        s->have += n;
        emit_lines(job, s);
    }
    s->window += n;
    ask_more(job, s);
}

void wf_io_end(struct job *job, struct rank *r)
{
    end_stream(job, &r->out);
    end_stream(job, &r->err);
}

/* ---- all --------------------------------------------------------------- */

static void drain(struct job *job, struct stream *s)
{
    if (s->rank->host->link) {
        ask_more(job, s);
        return;
    }
    if (!wf_sink_full(s->sink))
        wf_io_pause(job, s, false);
    while (job->alive == 0 && s->source.fd >= 0 && !wf_sink_full(s->sink) &&
           read_stream(job, s))
        ;
}

/* Called when a sink has room again, and when the last process is gone. */
void wf_io_drain(struct job *job)
{
    for (int i = 0; !job->up && i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (r->out.sink)
            drain(job, &r->out);
        if (r->err.sink)
            drain(job, &r->err);
    }
}

bool wf_io_pending(const struct job *job)
{
    if (job->sink_out.have || job->sink_err.have)
        return true;
    for (int i = 0; i < job->count; i++) {
        const struct rank *r = &job->ranks[i];
        if (r->out.source.fd >= 0 || r->err.source.fd >= 0)
            return true;
    }
    return false;
}

/* ---- descriptors of one rank ------------------------------------------ */

static int piped(struct job *job, struct stream *s)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    if (wf_job_watch(job, &s->source, pair[0], EPOLLIN,
                     job->up ? wf_agent_output : on_stream) < 0) {
        close(pair[0]);
        close(pair[1]);
        return -1;
    }
    return pair[1];
}

static int rank_input(struct job *job, struct rank *r)
{
    bool all = job->set.stdin_rank == STDIN_ALL && job->count > 1;
    r->own_group = true;
    if (r->reads_input && job->up)
        return wf_inlet_open(job, r);
    if (r->reads_input && all)
        return wf_pump_add(job);
    if (!r->reads_input || !wf_io_input_is_ours())
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    r->own_group = !isatty(0);
    return 0;
}

/* Where its output is written, however it comes here. */
void wf_io_attach(struct job *job, struct rank *r)
{
    r->out.sink = &job->sink_out;
    r->err.sink = &job->sink_err;
}

/* The descriptors for a new rank; those above 2 are the caller's to close. */
int wf_io_rank(struct job *job, struct rank *r, int child[3])
{
    child[1] = 1;
    child[2] = 2;
    child[0] = rank_input(job, r);
    if (job->set.tag || job->up) {
        wf_io_attach(job, r);
        child[1] = piped(job, &r->out);
        child[2] = piped(job, &r->err);
    }
    return child[0] < 0 || child[1] < 0 || child[2] < 0 ? -1 : 0;
}
