/* This file forwards mpirun's input where the descriptor itself cannot be given
 * away: to every rank (--stdin all), and to a rank on another host.
 *
 * There is one buffer. The next read waits until every rank has taken all of
 * it, so that the slowest reader sets the pace and nothing is lost or kept in
 * memory. A rank on another host takes as much as its agent has room for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "job.h"
#include "remote.h"

enum { STDIN_BUFFER = 1 << 16 };

struct stdin_reader {
    struct event_source source; /* mpirun's end of the rank's pipe */
    struct rank *rank;    /* on another host, without a pipe; else NULL */
    size_t room;          /* bytes that its agent has room for */
    size_t at;            /* bytes of the buffer already written */
    bool armed, open;
};

struct stdin_forward {
    struct event_source input;
    struct stdin_reader *readers;
    int count;
    size_t have;
    bool watched, ended;
    char data[STDIN_BUFFER];
};

static void forward_input(struct job *job);

static void on_input(struct job *job, struct event_source *s)
{
    forward_input(job);
}

int wf_stdin_open(struct job *job)
{
    job->stdin_forward = calloc(1, sizeof(*job->stdin_forward));
    if (!job->stdin_forward)
        return -1;
    job->stdin_forward->readers =
        calloc((size_t)job->count, sizeof(*job->stdin_forward->readers));
    return job->stdin_forward->readers ? 0 : -1;
}

int wf_stdin_add_pipe(struct job *job)
{
    int pair[2];
    struct stdin_forward *p = job->stdin_forward;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    (void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
    p->readers[p->count++] = (struct stdin_reader){
        .source = {pair[1], on_input}, .open = true};
    return pair[0];
}

void wf_stdin_add_remote(struct job *job, struct rank *r)
{
    struct stdin_forward *p = job->stdin_forward;

    p->readers[p->count++] = (struct stdin_reader){
        .source.fd = -1, .rank = r, .open = true};
}

static void watch_pipe(struct job *job, struct stdin_reader *o, bool on)
{
    struct epoll_event e = {EPOLLOUT, {.ptr = o}};
    if (on != o->armed)
        epoll_ctl(job->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, o->source.fd,
                  &e);
    o->armed = on;
}

/* Close a reader, which then sees the end of its input. */
static void close_reader(struct job *job, struct stdin_reader *o)
{
    if (o->open && o->rank)
        wf_remote_input(job, o->rank, NULL, 0);
    o->open = false;
    wf_job_unwatch(job, &o->source);
}

static bool push_remote(struct job *job, struct stdin_forward *p,
                        struct stdin_reader *o)
{
    while (o->open && o->room && o->at < p->have) {
        size_t n = p->have - o->at < o->room ? p->have - o->at : o->room;
        n = n < FRAME_DATA ? n : FRAME_DATA;
        wf_remote_input(job, o->rank, p->data + o->at, n);
        o->at += n;
        o->room -= n;
    }
    return !o->open || (o->room && o->at == p->have);
}

/* Write what the reader has not got yet; returns true if it has everything and
 * would take more, or if it wants none. */
static bool push_input(struct job *job, struct stdin_forward *p,
                       struct stdin_reader *o)
{
    if (o->rank)
        return push_remote(job, p, o);
    while (o->open && o->at < p->have) {
        ssize_t n = write(o->source.fd, p->data + o->at, p->have - o->at);
        if (n < 0 && errno == EAGAIN) {
            watch_pipe(job, o, true);
            return false;
        }
        if (n < 0)
            close_reader(job, o);
        else
            o->at += (size_t)n;
    }
    if (o->open)
        watch_pipe(job, o, false);
    return true;
}

static bool push_all(struct job *job, struct stdin_forward *p)
{
    bool done = true, reader = false;
    for (int i = 0; i < p->count; i++) {
        done &= push_input(job, p, &p->readers[i]);
        reader |= p->readers[i].open;
    }
    p->ended |= !reader;
    return done;
}

static void watch_input(struct job *job, struct stdin_forward *p, bool on)
{
    struct epoll_event e = {EPOLLIN, {.ptr = p}};
    if (on != p->watched &&
        epoll_ctl(job->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, 0, &e) == 0)
        p->watched = on;
}

/* End the input of every rank after the last byte. */
static void end_input(struct job *job, struct stdin_forward *p)
{
    p->ended = true;
    watch_input(job, p, false);
    for (int i = 0; i < p->count; i++)
        close_reader(job, &p->readers[i]);
}

static struct stdin_reader *reader_of(const struct job *job,
                                      const struct rank *r)
{
    struct stdin_forward *p = job->stdin_forward;

    for (int i = 0; i < p->count; i++)
        if (p->readers[i].rank == r)
            return &p->readers[i];
    return NULL;
}

void wf_stdin_add_credit(struct job *job, const struct rank *r, size_t n)
{
    struct stdin_reader *o = reader_of(job, r);

    if (!o)
        return;
    o->room += n;
    if (job->stdin_forward->ended) /* it ended before the rank was there */
        wf_remote_input(job, r, NULL, 0);
    forward_input(job);
}

void wf_stdin_drop_reader(struct job *job, const struct rank *r)
{
    struct stdin_reader *o = reader_of(job, r);

    if (!o)
        return;
    o->open = false;
    forward_input(job);
}

/* Read once when the buffer is free. Returns false if there is no input now, or
 * at its end. */
static bool refill_buffer(struct job *job, struct stdin_forward *p)
{
    struct pollfd ready = {0, POLLIN, 0};
    if (poll(&ready, 1, 0) != 1) {
        watch_input(job, p, true);
        return false;
    }
    ssize_t n = read(0, p->data, sizeof(p->data));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0) {
        end_input(job, p);
        return false;
    }
    p->have = (size_t)n;
    for (int i = 0; i < p->count; i++)
        p->readers[i].at = 0;
    return true;
}

static void forward_input(struct job *job)
{
    struct stdin_forward *p = job->stdin_forward;
    while (!p->ended) {
        if (!push_all(job, p)) {
            /* wait until the slowest has caught up */
            watch_input(job, p, false);
            return;
        }
        if (!p->ended && !refill_buffer(job, p))
            return;
    }
    end_input(job, p);
}

void wf_stdin_start(struct job *job)
{
    struct stdin_forward *p = job->stdin_forward;
    if (!p || p->count == 0)
        return;
    p->input.ready = on_input;
    if (wf_io_input_is_ours())
        forward_input(job);
    else
        end_input(job, p);
}
