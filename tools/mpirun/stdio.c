/* This file makes stdin, stdout and stderr of the ranks.
 *
 * A rank of this host has mpirun's own descriptors: no copy, no delay, and
 * input that was typed ahead stays where it is. When its output is captured
 * (output.h) it writes to pipes. Ranks of an agent have pipes, too, and their
 * output comes in frames.
 *
 * Input goes to one rank, as the descriptor itself; the others have /dev/null.
 * A rank that reads the terminal stays in mpirun's process group, or the kernel
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
#include "rank_input.h"
#include "job.h"
#include "remote.h"

enum {
    STREAM_READ = 1 << 16
};

bool wf_io_input_is_ours(void)
{
    return !isatty(0) || tcgetpgrp(0) == getpgrp();
}

/* Make sure that descriptors 0, 1 and 2 exist, or pipes would take their
 * numbers. */
int wf_io_open(struct job *job)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd < 0)
        return -1;
    close(fd);
    wf_sink_open(&job->sink_out, 1, "standard output");
    wf_sink_open(&job->sink_err, 2, "standard error");
    return wf_stdin_open(job);
}

int wf_io_leave_input(void)
{
    int none = open("/dev/null", O_RDONLY), rc = none;

    if (none > 0) {
        rc = dup2(none, 0);
        close(none);
    }
    return rc;
}

/* ---- captured output --------------------------------------------------- */

static void end_stream(struct job *job, struct stream *s)
{
    wf_output_end(job, s);
    wf_job_unwatch(job, &s->source);
}

/* Read once; returns false when nothing more can be read now. */
static bool read_stream(struct job *job, struct stream *s)
{
    char data[STREAM_READ];
    if (wf_output_broken(s)) {
        end_stream(job, s); /* the rank learns it as we did */
        return false;
    }
    ssize_t n = read(s->source.fd, data, sizeof(data));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        end_stream(job, s);
        return false;
    }
    wf_output_write(job, s, data, (size_t)n);
    return true;
}

static void on_stream(struct job *job, struct event_source *source)
{
    struct stream *s = (struct stream *)source;
    if (!wf_output_full(s))
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
    s->last_write = wf_job_now();
}

/* ---- output of other hosts ---------------------------------------------- */

enum {
    MORE_LEAST = STREAM_WINDOW / 4 /* bytes for which MORE is worth saying */
};

static int number_of(const struct stream *s)
{
    return s == &s->rank->out ? 1 : 2;
}

/* Allow as many bytes as were taken, if they can be written. */
static void ask_more(struct job *job, struct stream *s)
{
    if (s->window < MORE_LEAST || wf_output_full(s))
        return;
    wf_remote_more(job, s->rank, number_of(s), s->window);
    s->window = 0;
    s->last_write = wf_job_now();
}

bool wf_io_is_paused(const struct stream *s)
{
    return s->paused || s->window >= MORE_LEAST;
}

void wf_io_take(struct job *job, struct stream *s, const char *data, size_t n)
{
    if (wf_output_broken(s)) {
        wf_remote_shut(job, s->rank, number_of(s));
        return;
    }
    wf_output_write(job, s, data, n);
    s->window += n;
    ask_more(job, s);
}

void wf_io_end(struct job *job, struct rank *r)
{
    end_stream(job, &r->out);
    end_stream(job, &r->err);
}

/* ---- all --------------------------------------------------------------- */

static void drain_stream(struct job *job, struct stream *s)
{
    if (s->rank->host->link) {
        ask_more(job, s);
        return;
    }
    if (!wf_output_full(s))
        wf_io_pause(job, s, false);
    while (job->alive == 0 && s->source.fd >= 0 && !wf_output_full(s) &&
           read_stream(job, s))
        ;
}

/* Write what waits: called when a sink has room again and when the last process
 * has ended. */
void wf_io_drain(struct job *job)
{
    for (int i = 0; !job->up && i < job->count; i++) {
        struct rank *r = &job->ranks[i];
        if (r->out.sink)
            drain_stream(job, &r->out);
        if (r->err.sink)
            drain_stream(job, &r->err);
    }
}

bool wf_io_pending(const struct job *job)
{
    if (wf_output_pending(job) || job->held_streams > 0)
        return true;
    for (int i = 0; i < job->count; i++) {
        const struct rank *r = &job->ranks[i];
        if (r->out.source.fd >= 0 || r->err.source.fd >= 0)
            return true;
    }
    return false;
}

/* ---- descriptors of one rank ------------------------------------------ */

static int open_pipe(struct job *job, struct stream *s)
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

static int open_input(struct job *job, struct rank *r)
{
    bool all = job->set.stdin_rank == STDIN_ALL && job->count > 1;
    r->own_group = true;
    if (r->reads_input && job->up)
        return wf_rank_input_open(job, r);
    if (r->reads_input && all)
        return wf_stdin_add_pipe(job);
    if (!r->reads_input || !wf_io_input_is_ours())
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    r->own_group = !isatty(0);
    return 0;
}

/* Attach the rank to the sinks that its output is written to. */
void wf_io_attach(struct job *job, struct rank *r)
{
    wf_output_attach(job, &r->out, false);
    wf_output_attach(job, &r->err, true);
}

/* Make the descriptors for a new rank; the caller closes those above 2. */
int wf_io_rank(struct job *job, struct rank *r, int child[3])
{
    child[1] = 1;
    child[2] = 2;
    child[0] = open_input(job, r);
    if (job->set.output.captured || job->up) {
        wf_io_attach(job, r);
        child[1] = open_pipe(job, &r->out);
        child[2] = job->set.output.merge ? child[1] : open_pipe(job, &r->err);
    } else if (job->set.output.merge) {
        child[2] = child[1];
    }
    return child[0] < 0 || child[1] < 0 || child[2] < 0 ? -1 : 0;
}
