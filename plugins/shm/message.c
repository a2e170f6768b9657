/* Messages on the socket of a pair: small, whole, with descriptors.
 *
 * The socket is SOCK_SEQPACKET, so a message is read in one piece or not at
 * all. The form of every message is checked here, its meaning by the caller.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    char bytes[CMSG_SPACE(SHM_FDS * sizeof(int))];
    struct cmsghdr align;
};

#define HEAD_BYTES offsetof(struct shm_message, body)

/* Sends a message. Returns 0 or an errno. */
int wf_shm_message_send(int fd, unsigned type, const void *body, size_t len,
                        const int *fds, int fds_n)
{
    struct shm_message m = {.magic = SHM_MESSAGE_MAGIC,
                            .type = (uint16_t)type,
                            .len = (uint16_t)len};
    if (len)
        memcpy(m.body, body, len);
    struct iovec iov = {&m, HEAD_BYTES + len};
    union control control;
    memset(&control, 0, sizeof control);
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fds_n > 0) {
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE((size_t)fds_n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)fds_n * sizeof(int));
        memcpy(CMSG_DATA(c), fds, (size_t)fds_n * sizeof(int));
    }
    ssize_t n;
    do {
        n = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? errno : 0;
}

/* Takes the descriptors that came with a message; the rest of fds stays -1. */
static void take_descriptors(struct msghdr *msg, int *fds)
{
    int n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
            if (n < SHM_FDS)
                fds[n++] = fd;
            else
                close(fd);
        }
    }
}

static bool is_well_formed(const struct shm_message *m, size_t n)
{
    return n >= HEAD_BYTES && m->magic == SHM_MESSAGE_MAGIC &&
           m->len <= SHM_BODY && n == HEAD_BYTES + m->len;
}

static ssize_t receive_message(int fd, struct msghdr *msg)
{
    /* ECONNRESET is reported once when the other side closed with unread
     * messages; what it sent before is still there. */
    for (int tries = 0;; tries++) {
        ssize_t n = recvmsg(fd, msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n >= 0 || (errno != EINTR && (errno != ECONNRESET || tries > 8)))
            return n;
    }
}

/* Receives a message. Returns 1 for a message, with its descriptors (or -1) in
 * fds[SHM_FDS]; 0 if there is none now; -EPIPE at the end of the socket,
 * -EPROTO for garbage, -EMFILE for lost descriptors. */
int wf_shm_message_receive(int fd, struct shm_message *m, int *fds)
{
    for (int i = 0; i < SHM_FDS; i++)
        fds[i] = -1;
    memset(m, 0, sizeof *m);
    union control control;
    struct iovec iov = {m, sizeof *m};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control};
    ssize_t n = receive_message(fd, &msg);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOMEM ||
                       errno == ENOBUFS
                   ? 0 /* epoll reports it again */
                   : -EPIPE;
    take_descriptors(&msg, fds);
    if (n == 0)
        return -EPIPE;
    if (msg.msg_flags & MSG_CTRUNC)
        return -EMFILE;
    return is_well_formed(m, (size_t)n) ? 1 : -EPROTO;
}
