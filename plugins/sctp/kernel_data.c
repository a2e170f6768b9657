/* Messages of the kernel's associations; see kernel.h.
 *
 * A message comes as a whole, unless memory is short: then the kernel delivers
 * the part that it has, and the rest later, with parts of other streams between
 * them. The parts are assembled here, at most one message for each stream.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE /* SO_SNDBUFFORCE */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h> /* linux/sctp.h needs it */

#include <linux/sctp.h>
#include <linux/sock_diag.h>

#include "kernel.h"

enum { CONTROL_SHARE = 4 /* of the send buffer, never taken by bulk */ };

struct wf_sctp_part {
    size_t n;
    uint8_t bytes[SCTP_MESSAGE_MAX];
};

/* ---- out ----------------------------------------------------------------- */

static void set_send_room(struct wf_sctp_sock *s, bool bulk)
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
    s->room =
        (uint32_t)granted / 2; /* the kernel reports twice what was asked for */
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

static bool is_temporary(int error)
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
        set_send_room(s, bulk);
    memcpy(CMSG_DATA(&control.head), &info, sizeof info);
    n = sendmsg(s->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n == (ssize_t)m->n)
        return WEFT_OK;
    if (n >= 0 || !is_temporary(errno))
        return WEFT_ELINK;
    s->blocked = true;
    return WEFT_EAGAIN;
}

uint32_t wf_sctp_kernel_unacked(const struct wf_sctp_sock *s)
{
    uint32_t used[SK_MEMINFO_VARS] = {0};
    socklen_t n = sizeof used;

    if (getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, used, &n) < 0)
        return 0;
    return used[SK_MEMINFO_WMEM_QUEUED];
}

uint64_t wf_sctp_kernel_retransmissions(const struct wf_sctp_sock *s)
{
    struct sctp_assoc_stats stats = {0};
    socklen_t n = sizeof stats;

    if (getsockopt(s->fd, IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &stats, &n) < 0)
        return 0;
    return stats.sas_rtxchunks;
}

/* ---- in ------------------------------------------------------------------ */

/* Returns the event that the end of an association with this error is. */
static enum wf_sctp_event event_of_end(int error)
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
        return event_of_end(error);
    default: /* a restart: this transport never does that */
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
        return SCTP_MESSAGE; /* of no interest; n is 0 */
    s->works = c->spc_state == SCTP_ADDR_AVAILABLE;
    return SCTP_PATH;
}

static enum wf_sctp_event handle_notification(struct wf_sctp_sock *s,
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

static bool read_info(struct msghdr *msg, struct wf_sctp_message *m)
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

/* Appends a part to its message. After the last one buf has the whole
 * message. */
static enum wf_sctp_event assemble_part(struct wf_sctp_sock *s, void *buf,
                                        size_t n, bool last, size_t room,
                                        struct wf_sctp_message *m)
{
    struct wf_sctp_part **at = &s->part[m->stream], *part = *at;

    if (!part && !(part = *at = calloc(1, sizeof *part)))
        return SCTP_DOWN;
    if (n > room - part->n || n > SCTP_MESSAGE_MAX - part->n)
        return SCTP_DOWN; /* this transport never sends that much */
    memcpy(part->bytes + part->n, buf, n);
    part->n += n;
    if (!last)
        return SCTP_MESSAGE; /* m->n is 0: incomplete */
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
        return is_temporary(errno) || errno == ENOTCONN ? SCTP_NOTHING
                                                        : event_of_end(errno);
    if (msg.msg_flags & MSG_NOTIFICATION)
        return handle_notification(s, buf, (size_t)n);
    if (n == 0 || !read_info(&msg, m))
        return SCTP_DOWN; /* the end, or a foreign message */
    if (!last || s->part[m->stream])
        return assemble_part(s, buf, (size_t)n, last, room, m);
    m->n = (size_t)n;
    return SCTP_MESSAGE;
}
