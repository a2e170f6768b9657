/* stdin, stdout and stderr of the ranks.
 *
 * Without tags a rank simply has our own descriptors: no copy, no delay, and
 * input that was typed ahead stays where it is. With tags each rank writes to
 * pipes, and whole lines leave here with the rank in front.
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

#include "job.h"

enum {
    STREAM_READ = 1 << 16,
    STREAM_LINE_MAX = 1 << 24 /* a longer line is cut */
};

/* May the rank with our input read from it? */
static bool input_is_ours(void)
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
    return job->set.stdin_rank == STDIN_ALL ? wf_pump_open(job) : 0;
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

/* One read; false: nothing more now. */
static bool read_stream(struct job *job, struct stream *s)
{
    if (s->sink->broken) {
        end_stream(job, s); /* the rank learns it as we did */
        return false;
    }
    if (s->room - s->have < STREAM_READ) {
        char *line = realloc(s->line, s->room + 2 * STREAM_READ);
        if (!line)
            return false;
        s->line = line;
        s->room += 2 * STREAM_READ;
    }
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
    if (!wf_sink_full(s->sink)) {
        read_stream(job, s);
        return;
    }
    /* the reader of our output is slow: let the rank feel it */
    epoll_ctl(job->epoll, EPOLL_CTL_DEL, s->source.fd, NULL);
    s->paused = true;
}

static void resume(struct job *job, struct stream *s)
{
    struct epoll_event e = {EPOLLIN, {.ptr = s}};
    if (s->paused && s->source.fd >= 0 && !wf_sink_full(s->sink))
        s->paused = epoll_ctl(job->epoll, EPOLL_CTL_ADD, s->source.fd, &e) < 0;
}

/* Called when a sink has room again, and when the last process is gone. */
void wf_io_drain(struct job *job)
{
    for (int i = 0; job->set.tag && i < job->count; i++) {
        struct stream *both[2] = {&job->ranks[i].out, &job->ranks[i].err};
        for (int k = 0; k < 2; k++) {
            resume(job, both[k]);
            while (job->alive == 0 && both[k]->source.fd >= 0 &&
                   !wf_sink_full(both[k]->sink) && read_stream(job, both[k]))
                ;
        }
    }
}

static bool open_stream(const struct stream *s)
{
    return s->source.fd >= 0;
}

bool wf_io_pending(const struct job *job)
{
    if (job->sink_out.have || job->sink_err.have)
        return true;
    for (int i = 0; job->set.tag && i < job->count; i++)
        if (open_stream(&job->ranks[i].out) || open_stream(&job->ranks[i].err))
            return true;
    return false;
}

/* ---- descriptors of one rank ------------------------------------------ */

static int tagged(struct job *job, struct rank *r, struct stream *s,
                  struct sink *sink)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    s->rank = r;
    s->sink = sink;
    if (wf_job_watch(job, &s->source, pair[0], EPOLLIN, on_stream) < 0) {
        close(pair[0]);
        close(pair[1]);
        return -1;
    }
    return pair[1];
}

static int rank_input(struct job *job, struct rank *r)
{
    bool chosen = (job->set.stdin_rank >= r->id &&
                   job->set.stdin_rank < r->id + r->held) ||
                  (job->set.stdin_rank == STDIN_ALL && job->count == 1);
    r->own_group = true;
    if (job->set.stdin_rank == STDIN_ALL && !chosen)
        return wf_pump_add(job);
    if (!chosen || !input_is_ours())
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    r->own_group = !isatty(0);
    return 0;
}

/* The descriptors for a new rank; those above 2 are the caller's to close. */
int wf_io_rank(struct job *job, struct rank *r, int child[3])
{
    child[1] = 1;
    child[2] = 2;
    child[0] = rank_input(job, r);
    if (job->set.tag) {
        child[1] = tagged(job, r, &r->out, &job->sink_out);
        child[2] = tagged(job, r, &r->err, &job->sink_err);
    }
    return child[0] < 0 || child[1] < 0 || child[2] < 0 ? -1 : 0;
}
