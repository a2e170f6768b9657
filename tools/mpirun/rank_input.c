/* This file forwards input to an agent's rank: see rank_input.h. Bytes that the
 * pipe does not take wait in a buffer; FRAME_MORE allows as many again as it
 * has taken.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "rank_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agent.h"
#include "job.h"

struct rank_input {
    struct event_source source; /* our end of the rank's pipe */
    struct rank *rank;
    size_t have;
    bool armed, ended; /* ended: nothing follows what is here */
    char data[RANK_INPUT_ROOM];
};

static void close_inlet(struct job *job, struct rank_input *in)
{
    wf_job_unwatch(job, &in->source);
    in->have = 0;
}

static void arm_inlet(struct job *job, struct rank_input *in, bool on)
{
    struct epoll_event e = {EPOLLOUT, {.ptr = in}};

    if (on != in->armed)
        (void)epoll_ctl(job->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                        in->source.fd, &e);
    in->armed = on;
}

static void flush_inlet(struct job *job, struct rank_input *in)
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

static void on_writable(struct job *job, struct event_source *s)
{
    flush_inlet(job, (struct rank_input *)s);
}

int wf_rank_input_open(struct job *job, struct rank *r)
{
    struct rank_input *in = calloc(1, sizeof *in);
    int pair[2];

    if (!in || pipe2(pair, O_CLOEXEC) < 0) {
        free(in);
        return -1;
    }
    (void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
    in->source = (struct event_source){pair[1], on_writable};
    in->rank = r;
    r->input = in;
    return pair[0];
}

void wf_rank_input_start(struct job *job, struct rank *r)
{
    if (r->input)
        wf_agent_more(job, r, RANK_INPUT_ROOM);
}

void wf_rank_input_take(struct job *job, struct rank *r, const char *data,
                        size_t n)
{
    struct rank_input *in = r->input;

    if (!in || in->source.fd < 0)
        return;
    if (n > sizeof in->data - in->have)
        n = sizeof in->data - in->have; /* more than we have asked for */
    memcpy(in->data + in->have, data, n);
    in->have += n;
    in->ended |= n == 0;
    flush_inlet(job, in);
}
