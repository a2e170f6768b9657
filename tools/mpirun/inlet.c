/* Input of an agent's rank: see inlet.h. What the pipe does not take waits in a
 * buffer; MORE is said for what it has taken.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "inlet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent.h"
#include "job.h"

struct inlet {
    struct source source; /* our end of the rank's pipe */
    struct rank *rank;
    size_t have;
    bool armed, ended; /* ended: nothing follows what is here */
    char data[INLET_ROOM];
};

static void close_inlet(struct job *job, struct inlet *in)
{
    wf_job_unwatch(job, &in->source);
    in->have = 0;
}

static void arm_inlet(struct job *job, struct inlet *in, bool on)
{
    struct epoll_event e = {EPOLLOUT, {.ptr = in}};

    if (on != in->armed)
        (void)epoll_ctl(job->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                        in->source.fd, &e);
    in->armed = on;
}

static void flush_inlet(struct job *job, struct inlet *in)
{
    size_t at = 0;

    while (in->source.fd >= 0 && at < in->have) {
        ssize_t n = write(in->source.fd, in->data + at, in->have - at);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR)
            close_inlet(job, in); /* it does not read any more */
        if (n > 0)
            at += (size_t)n;
    }
    if (in->source.fd < 0)
        return;
    in->have -= at;
    memmove(in->data, in->data + at, in->have);
    if (at)
        wf_agent_more(job, in->rank, at);
    if (in->ended && !in->have)
        close_inlet(job, in);
    else
        arm_inlet(job, in, in->have > 0);
}

static void on_writable(struct job *job, struct source *s)
{
    flush_inlet(job, (struct inlet *)s);
}

int wf_inlet_open(struct job *job, struct rank *r)
{
    struct inlet *in = calloc(1, sizeof *in);
    int pair[2];

    if (!in || pipe2(pair, O_CLOEXEC) < 0) {
        free(in);
        return -1;
    }
    (void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
    in->source = (struct source){pair[1], on_writable};
    in->rank = r;
    r->inlet = in;
    return pair[0];
}

void wf_inlet_start(struct job *job, struct rank *r)
{
    if (r->inlet)
        wf_agent_more(job, r, INLET_ROOM);
}

void wf_inlet_take(struct job *job, struct rank *r, const char *data, size_t n)
{
    struct inlet *in = r->inlet;

    if (!in || in->source.fd < 0)
        return;
    if (n > sizeof in->data - in->have)
        n = sizeof in->data - in->have; /* more than we have asked for */
    memcpy(in->data + in->have, data, n);
    in->have += n;
    in->ended |= n == 0;
    flush_inlet(job, in);
}
