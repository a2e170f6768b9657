/* --stdin all: every rank reads a copy of our input.
 *
 * One buffer. The next read waits until every rank has taken all of it, so the
 * slowest reader sets the pace and nothing is lost or kept in memory.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "job.h"

enum { PUMP_BUFFER = 1 << 16 };

struct outlet {
    struct source source; /* our end of the rank's pipe */
    size_t at;            /* bytes of the buffer already written */
    bool armed;
};

struct stdin_pump {
    struct source input;
    struct outlet *outlets;
    int count;
    size_t have;
    bool watched, ended;
    char data[PUMP_BUFFER];
};

static void run(struct job *job);

static void on_input(struct job *job, struct source *s)
{
    run(job);
}

int wf_pump_open(struct job *job)
{
    job->pump = calloc(1, sizeof(*job->pump));
    if (!job->pump)
        return -1;
    job->pump->outlets =
        calloc((size_t)job->count, sizeof(*job->pump->outlets));
    return job->pump->outlets ? 0 : -1;
}

int wf_pump_add(struct job *job)
{
    int pair[2];
    struct stdin_pump *p = job->pump;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    (void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
    p->outlets[p->count].source.fd = pair[1];
    p->outlets[p->count++].source.ready = on_input;
    return pair[0];
}

static void arm(struct job *job, struct outlet *o, bool on)
{
    struct epoll_event e = {EPOLLOUT, {.ptr = o}};
    if (on != o->armed)
        epoll_ctl(job->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, o->source.fd,
                  &e);
    o->armed = on;
}

/* True when this rank has everything, or wants no more. */
static bool push(struct job *job, struct stdin_pump *p, struct outlet *o)
{
    while (o->source.fd >= 0 && o->at < p->have) {
        ssize_t n = write(o->source.fd, p->data + o->at, p->have - o->at);
        if (n < 0 && errno == EAGAIN) {
            arm(job, o, true);
            return false;
        }
        if (n < 0) {
            wf_job_unwatch(job, &o->source);
            return true;
        }
        o->at += (size_t)n;
    }
    if (o->source.fd >= 0)
        arm(job, o, false);
    return true;
}

static bool push_all(struct job *job, struct stdin_pump *p)
{
    bool done = true, reader = false;
    for (int i = 0; i < p->count; i++) {
        done &= push(job, p, &p->outlets[i]);
        reader |= p->outlets[i].source.fd >= 0;
    }
    p->ended |= !reader;
    return done;
}

static void watch(struct job *job, struct stdin_pump *p, bool on)
{
    struct epoll_event e = {EPOLLIN, {.ptr = p}};
    if (on != p->watched &&
        epoll_ctl(job->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, 0, &e) == 0)
        p->watched = on;
}

/* After the last byte: every rank sees the end of its input. */
static void end(struct job *job, struct stdin_pump *p)
{
    p->ended = true;
    watch(job, p, false);
    for (int i = 0; i < p->count; i++)
        if (p->outlets[i].source.fd >= 0)
            wf_job_unwatch(job, &p->outlets[i].source);
}

/* One read, when the buffer is free. False: no input now, or its end. */
static bool refill(struct job *job, struct stdin_pump *p)
{
    struct pollfd ready = {0, POLLIN, 0};
    if (poll(&ready, 1, 0) != 1) {
        watch(job, p, true);
        return false;
    }
    ssize_t n = read(0, p->data, sizeof(p->data));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0) {
        end(job, p);
        return false;
    }
    p->have = (size_t)n;
    for (int i = 0; i < p->count; i++)
        p->outlets[i].at = 0;
    return true;
}

static void run(struct job *job)
{
    struct stdin_pump *p = job->pump;
    while (!p->ended) {
        if (!push_all(job, p)) {
            watch(job, p, false); /* until the slowest has caught up */
            return;
        }
        if (!p->ended && !refill(job, p))
            return;
    }
    end(job, p);
}

void wf_pump_start(struct job *job)
{
    struct stdin_pump *p = job->pump;
    if (!p || p->count == 0)
        return;
    p->input.ready = on_input;
    run(job);
}
