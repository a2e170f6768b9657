/* What the kernel's TCP allows over loopback: one byte back and forth with
 * both sides polling, and a stream of large writes.
 *
 *   raw_tcp latency CONGESTION MILLISECONDS
 *   raw_tcp stream CONGESTION SIZE MILLISECONDS
 *
 * CONGESTION: an algorithm of tcp(7), or "default" for the system's.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BATCHES = 400, ROUNDS = 40 };

static int prepare(int fd, const char *congestion)
{
    int one = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
        return -1;
    if (strcmp(congestion, "default") == 0)
        return 0;
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion,
                      (socklen_t)strlen(congestion));
}

/* A connected pair over 127.0.0.1. */
static int make_pair(int fd[2], const char *congestion)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    fd[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || fd[0] < 0 ||
        bind(listener, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&a, &len) != 0 ||
        connect(fd[0], (struct sockaddr *)&a, sizeof a) != 0)
        return -1;
    fd[1] = accept(listener, NULL, NULL);
    close(listener);
    return fd[1] < 0 || prepare(fd[0], congestion) || prepare(fd[1], congestion)
               ? -1
               : 0;
}

/* All n bytes; flags MSG_DONTWAIT polls. False at the end of the stream. */
static int receive(int fd, char *buf, size_t n, int flags)
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

static int transmit(int fd, const char *buf, size_t n, int flags)
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

static void latency(int fd, double limit_us)
{
    static double v[BATCHES];
    double begin = now_us();
    char byte = 1;
    int n = 0;

    while (n < BATCHES && now_us() - begin < limit_us) {
        double start = now_us();
        for (int i = 0; i < ROUNDS; i++)
            if (!transmit(fd, &byte, 1, MSG_DONTWAIT) ||
                !receive(fd, &byte, 1, MSG_DONTWAIT))
                return;
        v[n++] = (now_us() - start) / (2 * ROUNDS);
    }
    print_times("half_round_trip_us", 1, v, n);
}

static void echo(int fd)
{
    char byte;

    while (receive(fd, &byte, 1, MSG_DONTWAIT) &&
           transmit(fd, &byte, 1, MSG_DONTWAIT))
        ;
}

/* As mpi_stream does: up to 16 messages or 4 MB, at least 2; a byte back. */
static int window_length(long size)
{
    long fit = (4 << 20) / size;

    return fit > 16 ? 16 : fit > 2 ? (int)fit : 2;
}

static void stream(int fd, long size, double limit_us)
{
    static double v[BATCHES];
    char *buf = malloc((size_t)size), byte;
    double begin = now_us();
    int n = 0, window = window_length(size);

    memset(buf, 1, (size_t)size);
    while (n < BATCHES && (n < 3 || now_us() - begin < limit_us)) {
        double start = now_us();
        for (int i = 0; i < window; i++)
            if (!transmit(fd, buf, (size_t)size, 0))
                return;
        if (!receive(fd, &byte, 1, 0))
            return;
        v[n++] = now_us() - start;
    }
    print_rates("stream_gbs", size, v, n, (double)window * (double)size);
    free(buf);
}

static void drain(int fd, long size)
{
    char *buf = malloc((size_t)size), byte = 1;
    int more = 1, window = window_length(size);

    while (more) {
        for (int i = 0; more && i < window; i++)
            more = receive(fd, buf, (size_t)size, 0);
        more = more && transmit(fd, &byte, 1, 0);
    }
    free(buf);
}

int main(int argc, char **argv)
{
    int is_stream = argc == 5 && strcmp(argv[1], "stream") == 0;
    int fd[2];
    pid_t child;

    if (!is_stream && (argc != 4 || strcmp(argv[1], "latency") != 0))
        return 2;
    if (make_pair(fd, argv[2]) != 0) {
        perror("raw_tcp");
        return 1;
    }
    child = fork();
    if (child < 0)
        return 1;
    bind_rank(child == 0);
    close(fd[child == 0]);
    if (child == 0 && is_stream)
        drain(fd[0], atol(argv[3]));
    else if (child == 0)
        echo(fd[0]);
    else if (is_stream)
        stream(fd[1], atol(argv[3]), atof(argv[4]) * 1e3);
    else
        latency(fd[1], atof(argv[3]) * 1e3);
    if (child == 0)
        _exit(0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
