/* This program measures what the kernel's sockets allow over loopback.
 *
 *   raw_socket tcp|udp polling|blocking MS         one byte back and forth
 *   raw_socket CONGESTION FIRST LAST FACTOR MS     a TCP stream of writes
 *
 * CONGESTION: an algorithm of tcp(7), or "default" for the system's.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum { ROUNDS = 40, WINDOW = 4 << 20, MESSAGES = 16 };

struct test {
    int fd[2]; /* of the measuring side, of the answering side */
    int flags; /* MSG_DONTWAIT polls */
    long size, window;
    double limit_us;
    char *buf;
};

static struct sockaddr_in bind_loopback(int fd)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0)
        perror("raw_socket: bind");
    return a;
}

static int join_sockets(int fd, struct sockaddr_in to)
{
    return connect(fd, (struct sockaddr *)&to, sizeof to);
}

static int udp_pair(int fd[2])
{
    struct sockaddr_in a[2];

    for (int i = 0; i < 2; i++) {
        fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
        a[i] = bind_loopback(fd[i]);
    }
    return join_sockets(fd[0], a[1]) | join_sockets(fd[1], a[0]);
}

static int prepare_socket(int fd, const char *congestion)
{
    int one = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
        return -1;
    if (strcmp(congestion, "default") == 0)
        return 0;
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
                      (socklen_t)strlen(congestion));
}

static int tcp_pair(int fd[2], const char *congestion)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = bind_loopback(listener);

    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (listen(listener, 1) != 0 || join_sockets(fd[0], a) != 0)
        return -1;
    fd[1] = accept(listener, NULL, NULL);
    close(listener);
    return prepare_socket(fd[0], congestion) |
           prepare_socket(fd[1], congestion);
}

/* Receive all n bytes. Returns false at the end of the stream. */
static int receive_all(int fd, char *buf, size_t n, int flags)
{
    while (n > 0) {
        ssize_t got = recv(fd, buf, n, flags);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return 0;
        if (got > 0) {
            buf += got;
            n -= (size_t)got;
        }
    }
    return 1;
}

static int send_all(int fd, const char *buf, size_t n, int flags)
{
    while (n > 0) {
        ssize_t put = send(fd, buf, n, flags | MSG_NOSIGNAL);
        if (put < 0 && errno != EAGAIN && errno != EINTR)
            return 0;
        if (put > 0) {
            buf += put;
            n -= (size_t)put;
        }
    }
    return 1;
}

static double time_trips(void *what)
{
    struct test *t = what;
    double start = now_us();
    char byte = 1;

    for (int i = 0; i < ROUNDS; i++)
        if (!send_all(t->fd[0], &byte, 1, t->flags) ||
            !receive_all(t->fd[0], &byte, 1, t->flags))
            exit(1);
    return (now_us() - start) / (2 * ROUNDS);
}

static void echo_bytes(struct test *t)
{
    char byte;

    while (receive_all(t->fd[1], &byte, 1, t->flags) &&
           send_all(t->fd[1], &byte, 1, t->flags))
        ;
}

/* Send a window as mpi_stream does: up to 16 messages or 4 MB, at least 2, each
 * with its own buffer; one byte comes back. */
static double one_window(void *what)
{
    struct test *t = what;
    double start = now_us();
    char byte;

    for (long i = 0; i < t->window; i++)
        if (!send_all(t->fd[0], t->buf + i * t->size, (size_t)t->size, 0))
            exit(1);
    if (!receive_all(t->fd[0], &byte, 1, 0))
        exit(1);
    return now_us() - start;
}

static void drain_stream(struct test *t)
{
    char byte = 1;
    int more = 1;

    while (more) {
        for (long i = 0; more && i < t->window; i++)
            more =
                receive_all(t->fd[1], t->buf + i * t->size, (size_t)t->size, 0);
        more = more && send_all(t->fd[1], &byte, 1, 0);
    }
}

static void measure_side(void *what)
{
    static double v[BATCHES];
    struct test *t = what;
    int n =
        repeat_batches(t->size ? one_window : time_trips, t, t->limit_us, v);

    if (t->size)
        print_rates("gbs", t->size, v, n,
                    (double)t->window * (double)t->size / 1e3);
    else
        print_times("us", 1, v, n);
}

static void answer_side(void *what)
{
    struct test *t = what;

    if (t->size)
        drain_stream(t);
    else
        echo_bytes(t);
}

static int time_streams(struct test *t, char **argv)
{
    long last = atol(argv[3]), factor = atol(argv[4]), fit;
    int rc = 0;

    t->buf = allocate_buffer(last < WINDOW / 2 ? WINDOW : 2 * (size_t)last);
    t->limit_us = atof(argv[5]) * 1e3;
    for (t->size = atol(argv[2]); rc == 0 && t->size <= last;
         t->size = next_size(t->size, factor)) {
        fit = WINDOW / t->size;
        t->window = fit > MESSAGES ? MESSAGES : fit > 2 ? fit : 2;
        rc = tcp_pair(t->fd, argv[1]) || in_two(measure_side, answer_side, t);
    }
    return rc;
}

static int measure_latency(struct test *t, char **argv)
{
    int rc = strcmp(argv[1], "udp") == 0 ? udp_pair(t->fd)
                                         : tcp_pair(t->fd, "default");

    t->flags = strcmp(argv[2], "polling") == 0 ? MSG_DONTWAIT : 0;
    t->limit_us = atof(argv[3]) * 1e3;
    return rc || in_two(measure_side, answer_side, t);
}

int main(int argc, char **argv)
{
    struct test t = {.size = 0};
    int rc;

    if (argc != 4 && argc != 6)
        return 2;
    rc = argc == 6 ? time_streams(&t, argv) : measure_latency(&t, argv);
    if (rc != 0)
        perror("raw_socket");
    return rc != 0;
}
