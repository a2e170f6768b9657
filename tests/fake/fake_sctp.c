/* SCTP of the kernel, where the kernel has none: loaded before a program it
 * answers for the system what plugins/sctp asks of one-to-one sockets. An
 * association is a pair of connected local sockets, a port is a name. Messages,
 * streams, full buffers, refusals and ends are like the kernel's; loss,
 * retransmission, several paths and time-outs are not there.
 *
 * FAKE_SCTP_PIECES=n shows messages in pieces of n bytes, as a kernel that is
 * short of memory does. FAKE_SCTP_MUTE=1: nobody ever gets an answer, as where
 * something on the way drops what is not TCP or UDP. FAKE_SCTP_POOR=n: each nth
 * message out and in is refused once for want of memory.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/sctp.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>

#define TOLD __attribute__((visibility("default")))
enum { FDS = 4096, FRAME_MAX = 1 << 17, FIRST_PORT = 20000, PORTS = 40000 };
enum {
    FRAME_UP = 1,
    FRAME_MESSAGE,
    /* made by a test: */
    FRAME_NOTE,
    FRAME_PIECE, /* of a message, not the last */
    FRAME_BARE   /* a message without a word about it */
};

struct frame {
    uint32_t type, ppid;
    uint16_t stream;
};

struct rest { /* of a message that is shown in pieces */
    struct frame head;
    size_t n, at;
    char bytes[FRAME_MAX];
};

static struct {
    bool ours;
    uint16_t port;
    struct rest *rest;
} fds[FDS];

/* the answer of the next call; 0: the true one */
static struct {
    int send_error, receive_error, so_error;
    ssize_t send_short; /* so many bytes fewer were taken */
} fake_next;

static bool is_ours(int fd)
{
    return fd >= 0 && fd < FDS && fds[fd].ours;
}

static int adopt_item(int fd, uint16_t port)
{
    if (fd < 0 || fd >= FDS)
        return fd;
    free(fds[fd].rest);
    fds[fd].ours = true;
    fds[fd].port = port;
    fds[fd].rest = NULL;
    return fd;
}

static long read_setting(const char *name)
{
    const char *v = getenv(name);

    return v ? atol(v) : 0;
}

/* The next call fails with that, or this one is the nth of a poor kernel. */
static bool fails_with(int *error, unsigned *count, int poor)
{
    long n = read_setting("FAKE_SCTP_POOR");

    errno = *error ? *error : n && ++*count % (unsigned long)n == 0 ? poor : 0;
    *error = 0;
    return errno != 0;
}

/* ---- names --------------------------------------------------------------- */

static socklen_t name_of(uint16_t port, struct sockaddr_un *at)
{
    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(at->sun_path + 1, 40, "fake-sctp-%u",
                                        port));
}

static uint16_t port_of(const struct sockaddr *sa)
{
    return ntohs(sa->sa_family == AF_INET
                     ? ((const struct sockaddr_in *)sa)->sin_port
                     : ((const struct sockaddr_in6 *)sa)->sin6_port);
}

static void set_loopback(uint16_t port, struct sockaddr *sa, socklen_t *n)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    if (!sa)
        return;
    memcpy(sa, &in, *n < sizeof in ? *n : sizeof in);
    *n = sizeof in;
}

/* ---- sockets ------------------------------------------------------------- */

TOLD int socket(int family, int type, int protocol)
{
    if (protocol != IPPROTO_SCTP)
        return (int)syscall(SYS_socket, family, type, protocol);
    return adopt_item((int)syscall(SYS_socket, AF_UNIX,
                              (type & ~SOCK_STREAM) | SOCK_SEQPACKET, 0),
                 0);
}

TOLD int close(int fd)
{
    if (is_ours(fd)) {
        free(fds[fd].rest);
        fds[fd].rest = NULL;
        fds[fd].ours = false;
    }
    return (int)syscall(SYS_close, fd);
}

TOLD int bind(int fd, const struct sockaddr *sa, socklen_t n)
{
    static unsigned next;
    struct sockaddr_un at;
    uint16_t port;
    long rc;

    if (!is_ours(fd))
        return (int)syscall(SYS_bind, fd, sa, n);
    do {
        port = port_of(sa);
        if (port == 0)
            port = (uint16_t)(FIRST_PORT +
                              ((unsigned)getpid() * 31 + next++) % PORTS);
        n = name_of(port, &at);
        rc = syscall(SYS_bind, fd, &at, n);
    } while (rc < 0 && errno == EADDRINUSE && port_of(sa) == 0);
    fds[fd].port = port;
    return (int)rc;
}

TOLD int getsockname(int fd, struct sockaddr *sa, socklen_t *n)
{
    if (!is_ours(fd))
        return (int)syscall(SYS_getsockname, fd, sa, n);
    set_loopback(fds[fd].port, sa, n);
    return 0;
}

/* The connecting side learns now that the association is up: before, the other
 * side had no endpoint that could be told. */
TOLD int accept4(int fd, struct sockaddr *sa, socklen_t *n, int flags)
{
    struct frame up = {.type = FRAME_UP};
    int got;

    if (!is_ours(fd))
        return (int)syscall(SYS_accept4, fd, sa, n, flags);
    if (read_setting("FAKE_SCTP_MUTE")) {
        errno = EAGAIN;
        return -1;
    }
    got = (int)syscall(SYS_accept4, fd, NULL, NULL, flags);
    if (got < 0)
        return -1;
    syscall(SYS_sendto, got, &up, sizeof up, MSG_NOSIGNAL, NULL, 0);
    set_loopback(1, sa, n);
    return adopt_item(got, 0);
}

/* ---- options ------------------------------------------------------------- */

static int make_call(int fd, const struct sockaddr *to)
{
    struct sockaddr_un at;
    socklen_t n = name_of(port_of(to), &at);

    if (syscall(SYS_connect, fd, &at, n) == 0)
        errno = EINPROGRESS;
    return -1;
}

TOLD int setsockopt(int fd, int level, int name, const void *v, socklen_t n)
{
    if (is_ours(fd) && level == IPPROTO_SCTP && name == SCTP_SOCKOPT_CONNECTX)
        return make_call(fd, v);
    if (is_ours(fd) && level != SOL_SOCKET)
        return 0;
    return (int)syscall(SYS_setsockopt, fd, level, name, v, n);
}

TOLD int getsockopt(int fd, int level, int name, void *restrict v,
                    socklen_t *restrict n)
{
    uint32_t used[SK_MEMINFO_VARS] = {0};
    int waits = 0;

    if (is_ours(fd) && level == SOL_SOCKET && name == SO_ERROR &&
        fake_next.so_error) {
        memcpy(v, &fake_next.so_error, sizeof fake_next.so_error);
        fake_next.so_error = 0;
        return 0;
    }
    if (!is_ours(fd) || level != SOL_SOCKET || name != SO_MEMINFO)
        return (int)syscall(SYS_getsockopt, fd, level, name, v, n);
    ioctl(fd, SIOCOUTQ, &waits);
    used[SK_MEMINFO_WMEM_QUEUED] = (uint32_t)waits;
    memcpy(v, used, *n < sizeof used ? *n : sizeof used);
    return 0;
}

/* ---- messages ------------------------------------------------------------ */

TOLD ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    struct frame head = {.type = FRAME_MESSAGE};
    struct iovec v[2] = {{&head, sizeof head}, {0}};
    struct msghdr out = {.msg_iov = v, .msg_iovlen = 2};
    struct sctp_sndinfo info;
    static unsigned count;
    ssize_t n;

    if (!is_ours(fd))
        return syscall(SYS_sendmsg, fd, m, flags);
    if (fails_with(&fake_next.send_error, &count, ENOBUFS))
        return -1;
    memcpy(&info, CMSG_DATA(CMSG_FIRSTHDR(m)), sizeof info);
    head.stream = info.snd_sid;
    head.ppid = info.snd_ppid;
    v[1] = m->msg_iov[0];
    n = syscall(SYS_sendmsg, fd, &out, flags);
    if (n >= 0)
        n -= (ssize_t)sizeof head + fake_next.send_short;
    fake_next.send_short = 0;
    return n;
}

static ssize_t show_up(struct msghdr *m)
{
    struct sctp_assoc_change up = {.sac_type = SCTP_ASSOC_CHANGE,
                                   .sac_length = sizeof up,
                                   .sac_state = SCTP_COMM_UP};

    memcpy(m->msg_iov[0].iov_base, &up, sizeof up);
    m->msg_flags = MSG_NOTIFICATION | MSG_EOR;
    m->msg_controllen = 0;
    return sizeof up;
}

static ssize_t show_state(struct msghdr *m, const struct frame *head, size_t n,
                    bool last)
{
    struct sctp_rcvinfo info = {.rcv_sid = head->stream,
                                .rcv_ppid = head->ppid};
    struct cmsghdr *c = CMSG_FIRSTHDR(m);

    if (head->type == FRAME_UP)
        return show_up(m);
    m->msg_flags = MSG_NOTIFICATION | MSG_EOR;
    if (head->type == FRAME_NOTE)
        return (ssize_t)n;
    if (head->type == FRAME_BARE) {
        m->msg_flags = MSG_EOR;
        m->msg_controllen = 0;
        return (ssize_t)n;
    }
    c->cmsg_level = IPPROTO_SCTP;
    c->cmsg_type = SCTP_RCVINFO;
    c->cmsg_len = CMSG_LEN(sizeof info);
    memcpy(CMSG_DATA(c), &info, sizeof info);
    m->msg_controllen = CMSG_SPACE(sizeof info);
    m->msg_flags = last && head->type == FRAME_MESSAGE ? MSG_EOR : 0;
    return (ssize_t)n;
}

static ssize_t take_next(int fd, struct rest *r, int flags)
{
    struct iovec v[2] = {{&r->head, sizeof r->head}, {r->bytes, FRAME_MAX}};
    struct msghdr in = {.msg_iov = v, .msg_iovlen = 2};
    ssize_t n = syscall(SYS_recvmsg, fd, &in, flags);

    r->at = 0;
    r->n = n > (ssize_t)sizeof r->head ? (size_t)n - sizeof r->head : 0;
    return n;
}

TOLD ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    size_t piece = (size_t)read_setting("FAKE_SCTP_PIECES"), n;
    static unsigned count;
    struct rest *r;

    if (!is_ours(fd))
        return syscall(SYS_recvmsg, fd, m, flags);
    if (fails_with(&fake_next.receive_error, &count, ENOMEM))
        return -1;
    if (!fds[fd].rest && !(fds[fd].rest = calloc(1, sizeof *r)))
        return -1;
    r = fds[fd].rest;
    if (r->at == r->n) {
        ssize_t got = take_next(fd, r, flags);
        if (got <= 0)
            return got;
    }
    n = r->n - r->at;
    if (piece && n > piece)
        n = piece;
    if (n > m->msg_iov[0].iov_len)
        n = m->msg_iov[0].iov_len;
    memcpy(m->msg_iov[0].iov_base, r->bytes + r->at, n);
    r->at += n;
    return show_state(m, &r->head, n, r->at == r->n);
}
