/* The PMI-1 connection: an inherited descriptor, or TCP to PMI_PORT.
 *
 * The descriptor becomes close-on-exec here: a program that a rank starts must
 * not act for the rank.
 *
 * No resolver is used: PMI_PORT names this host or a numeric address.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "boot/pmi_channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "boot/boot.h"

enum {
    PMI_WAIT_MS = 10,
    PMI_WAITS = 1000,
    PMI_LINE_FIRST = 2048,
    PMI_LINE_MAX = 1 << 20 /* a longer line is not PMI */
};

static int open_fd(struct wf_pmi_channel *c, char *err, size_t err_len)
{
    long fd = wf_boot_env_number("PMI_FD");
    int flags = fd < 0 ? -1 : fcntl((int)fd, F_GETFD);
    if (flags < 0) {
        snprintf(err, err_len,
                 "PMI_FD=%s is not an open descriptor: a program between the "
                 "launcher and this one closed it, or a rank started this "
                 "program; unset PMI_FD to run it alone",
                 getenv("PMI_FD"));
        return WEFT_EUNREACH;
    }
    (void)fcntl((int)fd, F_SETFD, flags | FD_CLOEXEC);
    c->fd = (int)fd;
    return 0;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Parse host:port with a numeric host, "localhost", or this host's name. */
static socklen_t parse_address(const char *text, union address *a)
{
    char host[256], own[256] = "";
    const char *colon = strrchr(text, ':');
    long port = colon ? strtol(colon + 1, NULL, 10) : 0;
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (port <= 0 || port > 65535 || n == 0 || n >= sizeof(host))
        return 0;
    memcpy(host, text, n);
    host[n] = 0;
    (void)gethostname(own, sizeof(own) - 1);
    if (strcmp(host, "localhost") == 0 || strcmp(host, own) == 0)
        strcpy(host, "127.0.0.1");
    memset(a, 0, sizeof(*a));
    if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons((uint16_t)port);
        return sizeof(a->v4);
    }
    if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons((uint16_t)port);
        return sizeof(a->v6);
    }
    return 0;
}

/* Let TCP detect that the launcher's host has failed, which sends nothing. */
static void keep_alive(int fd)
{
    const int on = 1, idle = 30, every = 10, tries = 6;

    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
}

static int open_port(struct wf_pmi_channel *c, char *err, size_t err_len)
{
    union address a;
    const char *text = getenv("PMI_PORT");
    socklen_t len = parse_address(text, &a);
    if (!len) {
        snprintf(err, err_len,
                 "PMI_PORT=%s is not host:port with a numeric host or the "
                 "name of this host",
                 text);
        return WEFT_EINVAL;
    }
    c->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, &a.any, len) < 0) {
        snprintf(err, err_len,
                 "cannot connect to the launcher, PMI_PORT=%s: %s", text,
                 strerror(errno));
        wf_pmi_channel_close(c);
        return WEFT_EUNREACH;
    }
    keep_alive(c->fd);
    return 0;
}

/* Wipe and free the input, which may hold the job key. */
static void wipe_input(struct wf_pmi_channel *c)
{
    if (c->in)
        explicit_bzero(c->in, c->room);
    free(c->in);
    c->in = NULL;
}

static int make_room(struct wf_pmi_channel *c)
{
    if (c->have + 1 < c->room)
        return 0;
    size_t room = c->room ? c->room * 2 : PMI_LINE_FIRST;
    if (room > PMI_LINE_MAX)
        return WEFT_EPROTO;
    char *in = malloc(room);
    if (!in)
        return WEFT_ENOMEM;
    if (c->have)
        memcpy(in, c->in, c->have);
    wipe_input(c);
    c->in = in;
    c->room = room;
    return 0;
}

/* Room for usual lines is allocated first: once a request is sent, lack of
 * memory would lose the answer. */
int wf_pmi_channel_open(struct wf_pmi_channel *c, char *err, size_t err_len)
{
    memset(c, 0, sizeof(*c));
    c->fd = -1;
    int rc = make_room(c);
    if (rc < 0) {
        snprintf(err, err_len, "no memory to talk with the launcher");
        return rc;
    }
    rc = getenv("PMI_FD") ? open_fd(c, err, err_len)
                          : open_port(c, err, err_len);
    if (rc < 0)
        wf_pmi_channel_close(c);
    return rc;
}

int wf_pmi_channel_adopt(struct wf_pmi_channel *c, int fd)
{
    memset(c, 0, sizeof(*c));
    c->fd = -1;
    int rc = make_room(c);
    if (rc == 0)
        c->fd = fd;
    return rc;
}

/* Wait a while if the system lacks memory or the socket lacks room; false: the
 * error is another one, or it has lasted too long. */
static bool wait_for_room(int fd, int error, int *waits)
{
    struct pollfd out = {.fd = fd, .events = POLLOUT};

    if ((error != ENOBUFS && error != ENOMEM && error != EAGAIN) ||
        ++*waits > PMI_WAITS)
        return false;
    if (poll(&out, 1, PMI_WAIT_MS) > 0) /* room, and no memory to use it */
        poll(NULL, 0, PMI_WAIT_MS);
    return true;
}

static int record_failure(struct wf_pmi_channel *c)
{
    c->error = errno;
    return errno == EPIPE || errno == ECONNRESET ? WEFT_EPEER : WEFT_ESYS;
}

int wf_pmi_channel_send(struct wf_pmi_channel *c, const char *text, size_t n)
{
    int waits = 0;

    while (n) {
        ssize_t sent = send(c->fd, text, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == ENOTSOCK)
            sent = write(c->fd, text, n);
        if (sent < 0 && (errno == EINTR || wait_for_room(c->fd, errno, &waits)))
            continue;
        if (sent < 0)
            return record_failure(c);
        text += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* Return false if nothing comes for as long as is to be waited. */
static bool await_input(const struct wf_pmi_channel *c)
{
    struct pollfd in = {.fd = c->fd, .events = POLLIN};
    int n;

    do
        n = c->wait_ms ? poll(&in, 1, c->wait_ms) : 1;
    while (n < 0 && errno == EINTR);
    return n != 0;
}

/* Read once, as much as there is. */
static int read_once(struct wf_pmi_channel *c)
{
    int rc = make_room(c);
    if (rc < 0)
        return rc;
    if (!await_input(c))
        return WEFT_EAGAIN;
    ssize_t n;
    do
        n = read(c->fd, c->in + c->have, c->room - c->have - 1);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n == 0 ? WEFT_EPEER : record_failure(c);
    c->have += (size_t)n;
    return 0;
}

int wf_pmi_channel_line(struct wf_pmi_channel *c, char **line)
{
    if (c->line) {
        c->have -= c->line;
        memmove(c->in, c->in + c->line, c->have);
        explicit_bzero(c->in + c->have, c->line);
        c->line = 0;
    }
    for (size_t seen = 0;;) {
        char *end =
            c->have > seen ? memchr(c->in + seen, '\n', c->have - seen) : NULL;
        if (end) {
            *end = 0;
            *line = c->in;
            c->line = (size_t)(end - c->in) + 1;
            return 0;
        }
        seen = c->have;
        int rc = read_once(c);
        if (rc < 0)
            return rc;
    }
}

uint32_t wf_pmi_channel_peer(const struct wf_pmi_channel *c)
{
    struct ucred peer = {0};
    socklen_t n = sizeof peer;

    (void)getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &peer, &n);
    return peer.pid > 0 ? (uint32_t)peer.pid : 0;
}

void wf_pmi_channel_close(struct wf_pmi_channel *c)
{
    if (c->fd >= 0)
        close(c->fd);
    wipe_input(c);
    memset(c, 0, sizeof(*c));
    c->fd = -1;
}
