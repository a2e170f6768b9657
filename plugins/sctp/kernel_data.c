/* Messages of the kernel's associations; kernel.h.
 *
 * A message comes in one piece, unless memory is short: then the kernel shows
 * what it has, and the rest later, with pieces of other streams between them.
 * They are put together here, at most one message for each stream.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* SO_SNDBUFFORCE */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h> /* linux/sctp.h lacks it */

#include <linux/sctp.h>
#include <linux/sock_diag.h>

#include "kernel.h"

enum { CONTROL_SHARE = 4 /* of the send buffer, never taken by bulk */ };

struct wf_sctp_part {
    size_t n;
    uint8_t bytes[SCTP_MESSAGE_MAX];
};

/* ---- out ----------------------------------------------------------------- */

static void set_room(struct wf_sctp_sock *s, bool bulk)
{
    int v = (int)(s->room - (bulk ? s->room / CONTROL_SHARE : 0));

    s->full = !bulk;
    setsockopt(s->fd, SOL_SOCKET, s->forced ? SO_SNDBUFFORCE : SO_SNDBUF, &v,
               sizeof v);
}

struct wf_sctp_sock *wf_sctp_sock_new(int fd)
{
    struct wf_sctp_sock *s = calloc(1, sizeof *s);
    int granted = 0;
    socklen_t n = sizeof granted;

    if (!s)
        return NULL;
    s->fd = fd;
    s->full = true;
    getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &granted, &n);
    s->room = (uint32_t)granted / 2; /* the kernel shows twice what was asked */
    granted /= 2;
    s->forced = setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &granted,
                           sizeof granted) == 0;
    return s;
}

void wf_sctp_sock_free(struct wf_sctp_sock *s)
{
    for (int i = 0; s && i < SCTP_STREAMS; i++)
        free(s->part[i]);
    free(s);
}

static bool wait_for_room(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS ||
           error == ENOMEM || error == EINTR || error == EINPROGRESS;
}

int wf_sctp_kernel_send(struct wf_sctp_sock *s, const struct wf_sctp_message *m,
                        const void *data, bool bulk)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof(struct sctp_sndinfo))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(struct sctp_sndinfo)),
                          .cmsg_level = IPPROTO_SCTP,
                          .cmsg_type = SCTP_SNDINFO}};
    struct sctp_sndinfo info = {.snd_sid = m->stream,
                                .snd_ppid = htonl(m->kind)};
    struct iovec v = {.iov_base = (void *)(uintptr_t)data, .iov_len = m->n};
    struct msghdr msg = {.msg_iov = &v,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t n;

    if (s->full == bulk)
        set_room(s, bulk);
    memcpy(CMSG_DATA(&control.head), &info, sizeof info);
    n = sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n == (ssize_t)m->n)
        return WEFT_OK;
    if (n >= 0 || !wait_for_room(errno))
        return WEFT_ELINK;
    s->blocked = true;
    return WEFT_EAGAIN;
}

/* What waits in the socket, with what the kernel needs to keep it. */
uint32_t wf_sctp_kernel_unacked(const struct wf_sctp_sock *s)
{
    uint32_t used[SK_MEMINFO_VARS] = {0};
    socklen_t n = sizeof used;

    if (getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, used, &n) < 0)
        return 0;
    return used[SK_MEMINFO_WMEM_QUEUED];
}

/* ---- in ------------------------------------------------------------------ */

/* The peer has ended the association, or nobody answers any more. */
static enum wf_sctp_event end(int error)
{
    return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH
               ? SCTP_LOST
               : SCTP_DOWN;
}

static enum wf_sctp_event on_change(const struct wf_sctp_sock *s,
                                    const struct sctp_assoc_change *c)
{
    int error = 0;
    socklen_t n = sizeof error;

    switch (c->sac_state) {
    case SCTP_COMM_UP:
        return SCTP_UP;
    case SCTP_COMM_LOST:
    case SCTP_CANT_STR_ASSOC:
        getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &n);
        return end(error);
    default: /* nothing of ours restarts */
        return SCTP_DOWN;
    }
}

static enum wf_sctp_event on_path(struct wf_sctp_sock *s,
                                  const struct sctp_paddr_change *c)
{
    struct sockaddr_storage at;

    memcpy(&at,
           (const uint8_t *)c + offsetof(struct sctp_paddr_change, spc_aaddr),
           sizeof at);
    if ((c->spc_state != SCTP_ADDR_AVAILABLE &&
         c->spc_state != SCTP_ADDR_UNREACHABLE) ||
        wf_ip_from_sockaddr((struct sockaddr *)&at, &s->about) < 0)
        return SCTP_MESSAGE; /* of no interest: n is 0 */
    s->works = c->spc_state == SCTP_ADDR_AVAILABLE;
    return SCTP_PATH;
}

static enum wf_sctp_event notification(struct wf_sctp_sock *s,
                                       const void *bytes, size_t n)
{
    const union sctp_notification *note = bytes;

    if (n < sizeof note->sn_header)
        return SCTP_DOWN;
    switch (note->sn_header.sn_type) {
    case SCTP_ASSOC_CHANGE:
        return n < sizeof note->sn_assoc_change
                   ? SCTP_DOWN
                   : on_change(s, &note->sn_assoc_change);
    case SCTP_PEER_ADDR_CHANGE:
        return n < sizeof note->sn_paddr_change
                   ? SCTP_DOWN
                   : on_path(s, &note->sn_paddr_change);
    case SCTP_PARTIAL_DELIVERY_EVENT:
        return SCTP_DOWN; /* the rest of a message will not come */
    default:
        return SCTP_MESSAGE;
    }
}

static bool described(struct msghdr *msg, struct wf_sctp_message *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        struct sctp_rcvinfo info;
        if (c->cmsg_level != IPPROTO_SCTP || c->cmsg_type != SCTP_RCVINFO ||
            c->cmsg_len < CMSG_LEN(sizeof info))
            continue;
        memcpy(&info, CMSG_DATA(c), sizeof info);
        m->stream = info.rcv_sid;
        m->kind = ntohl(info.rcv_ppid);
        return m->stream < SCTP_STREAMS;
    }
    return false;
}

/* One more piece; when it is the last, buf has the whole message. */
static enum wf_sctp_event put_together(struct wf_sctp_sock *s, void *buf,
                                       size_t n, bool last, size_t room,
                                       struct wf_sctp_message *m)
{
    struct wf_sctp_part **at = &s->part[m->stream], *part = *at;

    if (!part && !(part = *at = calloc(1, sizeof *part)))
        return SCTP_DOWN;
    if (n > room - part->n || n > SCTP_MESSAGE_MAX - part->n)
        return SCTP_DOWN; /* nobody of ours sends that much */
    memcpy(part->bytes + part->n, buf, n);
    part->n += n;
    if (!last)
        return SCTP_MESSAGE; /* m->n is 0: nothing yet */
    memcpy(buf, part->bytes, part->n);
    m->n = part->n;
    *at = NULL;
    free(part);
    return SCTP_MESSAGE;
}

enum wf_sctp_event wf_sctp_kernel_receive(struct wf_sctp_sock *s, void *buf,
                                          size_t room,
                                          struct wf_sctp_message *m)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof(struct sctp_rcvinfo))];
    } control;
    struct iovec v = {.iov_base = buf, .iov_len = room};
    struct msghdr msg = {.msg_iov = &v,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t n = recvmsg(s->fd, &msg, MSG_DONTWAIT);
    bool last = msg.msg_flags & MSG_EOR;

    m->n = 0;
    if (n < 0)
        return wait_for_room(errno) || errno == ENOTCONN ? SCTP_NOTHING
                                                         : end(errno);
    if (msg.msg_flags & MSG_NOTIFICATION)
        return notification(s, buf, (size_t)n);
    if (n == 0 || !described(&msg, m))
        return SCTP_DOWN; /* the end, or no message of ours */
    if (!last || s->part[m->stream])
        return put_together(s, buf, (size_t)n, last, room, m);
    m->n = (size_t)n;
    return SCTP_MESSAGE;
}
