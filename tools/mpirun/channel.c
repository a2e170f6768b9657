/* This file sends and receives frames over two descriptors: see channel.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "job.h"

enum { READ_SIZE = 64 << 10 };

/* ---- bytes ------------------------------------------------------------- */

uint32_t wf_number_read(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;

    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
           (uint32_t)b[3] << 24;
}

void wf_number_write(char *p, uint32_t n)
{
    for (int i = 0; i < 4; i++)
        p[i] = (char)(n >> 8 * i);
}

void wf_bytes_take(struct bytes *b, size_t n)
{
    explicit_bzero(b->data + b->at, n);
    b->at += n;
    if (b->at == b->end)
        b->at = b->end = 0;
}

bool wf_bytes_grow(struct bytes *b, size_t n)
{
    size_t have = b->end - b->at, room = b->room ? b->room : READ_SIZE;
    char *more;

    if (b->room - b->end >= n)
        return true;
    while (room < have + n)
        room *= 2;
    more = malloc(room);
    if (!more)
        return false;
    if (have)
        memcpy(more, b->data + b->at, have);
    wf_bytes_free(b);
    *b = (struct bytes){.data = more, .end = have, .room = room};
    return true;
}

void wf_bytes_free(struct bytes *b)
{
    if (b->data)
        explicit_bzero(b->data, b->room);
    free(b->data);
    *b = (struct bytes){.data = NULL};
}

/* ---- in ---------------------------------------------------------------- */

static void fail_channel(struct job *job, struct channel *c, const char *why)
{
    wf_job_unwatch(job, &c->in);
    c->ended(job, c, why);
}

/* Take one frame. Returns false if it is not complete yet, or if the channel
 * has ended. */
static bool take_frame(struct job *job, struct channel *c)
{
    const char *head = c->got.data + c->got.at;
    size_t have = c->got.end - c->got.at, len;
    struct frame f;

    if (have < FRAME_HEAD)
        return false;
    len = wf_number_read(head + 12);
    f.type = (enum frame_type)(unsigned char)head[0];
    if (f.type < FRAME_LAUNCH || f.type > FRAME_LAST || len > FRAME_MOST) {
        fail_channel(job, c, "says what is no frame");
        return false;
    }
    if (have < FRAME_HEAD + len + FRAME_TAIL)
        return false;
    if (head[FRAME_HEAD + len] != '\n') {
        fail_channel(job, c, "says what is no frame");
        return false;
    }
    f.node = (int)wf_number_read(head + 4);
    f.rank = (int)wf_number_read(head + 8);
    f.len = len;
    f.data = c->got.data + c->got.at + FRAME_HEAD;
    c->take(job, c, &f);
    if (c->in.fd < 0) /* it was closed */
        return false;
    wf_bytes_take(&c->got, FRAME_HEAD + len + FRAME_TAIL);
    return true;
}

static void take_frames(struct job *job, struct channel *c)
{
    if (c->greet && c->greet(job, c, &c->got))
        c->greet = NULL;
    while (!c->greet && c->in.fd >= 0 && take_frame(job, c))
        ;
}

/* Returns how many bytes the current frame still needs; at least READ_SIZE. */
static size_t count_wanted(const struct channel *c)
{
    size_t have = c->got.end - c->got.at, len;

    if (c->greet || have < FRAME_HEAD)
        return READ_SIZE;
    len = wf_number_read(c->got.data + c->got.at + 12);
    len += FRAME_HEAD + FRAME_TAIL;
    return len > have + READ_SIZE ? len - have : READ_SIZE;
}

/* Read once. Returns false when nothing more can be read now. */
static bool read_channel(struct job *job, struct channel *c)
{
    ssize_t n;

    if (!wf_bytes_grow(&c->got, count_wanted(c))) {
        fail_channel(job, c, "needs more memory than there is");
        return false;
    }
    n = read(c->in.fd, c->got.data + c->got.end, c->got.room - c->got.end);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        fail_channel(job, c, NULL);
        return false;
    }
    c->got.end += (size_t)n;
    take_frames(job, c);
    return c->in.fd >= 0;
}

static void on_readable(struct job *job, struct event_source *s)
{
    (void)read_channel(job, (struct channel *)s);
}

void wf_channel_drain(struct job *job, struct channel *c)
{
    while (c->in.fd >= 0 && read_channel(job, c))
        ;
}

/* ---- out --------------------------------------------------------------- */

static void arm_output(struct job *job, struct channel *c, bool on)
{
    struct epoll_event e = {EPOLLOUT, {.ptr = &c->out}};

    if (on != c->armed)
        (void)epoll_ctl(job->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
                        c->out.fd, &e);
    c->armed = on;
}

static void close_output(struct job *job, struct channel *c)
{
    if (c->out.fd < 0)
        return;
    arm_output(job, c, false);
    close(c->out.fd);
    c->out.fd = -1;
    wf_bytes_free(&c->left);
}

static void flush_output(struct job *job, struct channel *c)
{
    while (c->out.fd >= 0 && c->left.at < c->left.end) {
        ssize_t n = write(c->out.fd, c->left.data + c->left.at,
                          c->left.end - c->left.at);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0 && errno != EINTR)
            close_output(job, c); /* the end of the input says it, too */
        if (n > 0)
            wf_bytes_take(&c->left, (size_t)n);
    }
    if (c->out.fd >= 0)
        arm_output(job, c, c->left.at < c->left.end);
}

static void on_writable(struct job *job, struct event_source *s)
{
    struct channel *c =
        (struct channel *)((char *)s - offsetof(struct channel, out));

    flush_output(job, c);
}

void wf_channel_send(struct job *job, struct channel *c, enum frame_type type,
                     int node, int rank, const void *data, size_t n)
{
    char head[FRAME_HEAD] = {(char)type};
    size_t whole = FRAME_HEAD + n + FRAME_TAIL;

    if (c->out.fd < 0)
        return;
    if (n > FRAME_MOST || !wf_bytes_grow(&c->left, whole)) {
        close_output(job, c); /* a channel with a gap is none */
        return;
    }
    wf_number_write(head + 4, (uint32_t)node);
    wf_number_write(head + 8, (uint32_t)rank);
    wf_number_write(head + 12, (uint32_t)n);
    memcpy(c->left.data + c->left.end, head, FRAME_HEAD);
    if (n)
        memcpy(c->left.data + c->left.end + FRAME_HEAD, data, n);
    c->left.data[c->left.end + whole - 1] = '\n';
    c->left.end += whole;
    flush_output(job, c);
}

/* ---- life -------------------------------------------------------------- */

int wf_channel_open(struct job *job, struct channel *c, int in, int out)
{
    c->out = (struct event_source){out, on_writable};
    c->armed = false;
    c->got = c->left = (struct bytes){.data = NULL};
    (void)fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    (void)fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
    return wf_job_watch(job, &c->in, in, EPOLLIN, on_readable);
}

void wf_channel_finish(struct job *job, struct channel *c)
{
    flush_output(job, c);
    close_output(job, c);
}

void wf_channel_close(struct job *job, struct channel *c)
{
    close_output(job, c);
    wf_job_unwatch(job, &c->in);
    wf_bytes_free(&c->got);
}
