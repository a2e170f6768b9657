/* This file writes to mpirun's stdout and stderr without ever blocking the
 * loop.
 *
 * The descriptors are shared with the shell, so mpirun must not set O_NONBLOCK:
 * instead it writes at most PIPE_BUF bytes when poll says that there is room.
 * Files are always writable and cannot be in epoll.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"

enum { SINK_FULL = 1 << 20 };

void wf_sink_open(struct sink *s, int fd, const char *name)
{
    struct stat st;
    memset(s, 0, sizeof(*s));
    s->source.fd = fd;
    s->name = name;
    s->pollable = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode);
}

bool wf_sink_full(const struct sink *s)
{
    return s->have >= SINK_FULL;
}

static bool has_room(const struct sink *s)
{
    struct pollfd p = {s->source.fd, POLLOUT, 0};
    return !s->pollable || (poll(&p, 1, 0) == 1 && p.revents);
}

static void on_writable(struct job *job, struct event_source *source);

/* Report, once, that the job's output is incomplete, and let its status say so,
 * too. The ranks notice it as mpirun did, by a pipe that nobody reads
 * (stdio.c). */
void wf_sink_fail(struct job *job, struct sink *s, const char *why)
{
    if (!s->broken)
        wf_job_say(job,
                   "cannot write to %s: %s; further output of the ranks there "
                   "is lost",
                   s->name, why);
    s->broken = job->output_lost = true;
}

static void flush_sink(struct job *job, struct sink *s)
{
    size_t at = 0;
    while (at < s->have && has_room(s)) {
        size_t n = s->have - at < PIPE_BUF ? s->have - at : PIPE_BUF;
        ssize_t done = write(s->source.fd, s->data + at, n);
        if (done < 0 && (errno == EINTR || errno == EAGAIN))
            break;
        if (done < 0) {
            wf_sink_fail(job, s, strerror(errno));
            at = s->have;
            break;
        }
        at += (size_t)done;
    }
    s->have -= at;
    memmove(s->data, s->data + at, s->have);
    struct epoll_event e = {EPOLLOUT, {.ptr = s}};
    s->source.ready = on_writable;
    if (s->have && !s->armed)
        s->armed = epoll_ctl(job->epoll, EPOLL_CTL_ADD, s->source.fd, &e) == 0;
    if (!s->have && s->armed) {
        epoll_ctl(job->epoll, EPOLL_CTL_DEL, s->source.fd, NULL);
        s->armed = false;
    }
}

static void on_writable(struct job *job, struct event_source *source)
{
    flush_sink(job, (struct sink *)source);
    wf_io_drain(job);
}

void wf_sink_write(struct job *job, struct sink *s, const char *data, size_t n)
{
    if (s->broken)
        return;
    if (s->have + n > s->room) {
        size_t room = (s->have + n) * 2;
        char *grown = realloc(s->data, room);
        if (!grown) {
            /* the output is lost, but not the job */
            wf_sink_fail(job, s, "out of memory");
            return;
        }
        s->data = grown;
        s->room = room;
    }
    memcpy(s->data + s->have, data, n);
    s->have += n;
    flush_sink(job, s);
}
