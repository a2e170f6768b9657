/* Questions to silent peers and to their hosts: alive.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "alive.h"
#include "datagram.h"

enum {
    PORT_DISCARD = 9,
    ENOUGH = 8,      /* questions without an answer */
    OPEN_MAX = 256,  /* calls of hosts, per endpoint */
    EARLY = 4,       /* of these parts of the limit one passes before the first */
    OFTEN = 20,      /* question, of these one between the others */
    FEW = 3,         /* the same, of an unknown host */
    TENTHS = 3       /* of the limit are proven when it is seen */
};
#define DEAF_LEAST_NS 1000000000u /* what was lost is sent again in less */
#define OFTEN_LEAST_NS 25000000u
#define FIRST_LOOK_NS 100000000u /* for the answer to the first question */

void wf_ip_alive_begin(struct wf_ip_alive *a, uint64_t now)
{
    *a = (struct wf_ip_alive){.sign = now, .answer = now};
    for (int i = 0; i < IP_ASKS; i++)
        a->fd[i] = -1;
}

static void end_call(struct wf_ip_watch *w, struct wf_ip_alive *a, int i)
{
    if (a->fd[i] < 0)
        return;
    close(a->fd[i]);
    a->fd[i] = -1;
    w->open--;
}

void wf_ip_alive_end(struct wf_ip_watch *w, struct wf_ip_alive *a)
{
    for (int i = 0; i < IP_ASKS; i++)
        end_call(w, a, i);
}

/* ---- time ---------------------------------------------------------------- */

static uint64_t limit_of(const struct wf_ip_watch *w,
                         const struct wf_ip_alive *a)
{
    uint64_t limit = w->every ? w->vanished : 0;

    wf_ip_sooner(&limit, a->within);
    return limit;
}

/* From the last sign to the first question. */
static uint64_t first_wait(const struct wf_ip_watch *w,
                           const struct wf_ip_alive *a)
{
    uint64_t limit = limit_of(w, a), wait = w->every;

    if (limit)
        wf_ip_sooner(&wait, limit / EARLY + 1);
    return wait;
}

static uint64_t next_wait(const struct wf_ip_watch *w,
                          const struct wf_ip_alive *a)
{
    uint64_t limit = limit_of(w, a), wait = limit / OFTEN;

    return !limit ? first_wait(w, a)
                  : wait > OFTEN_LEAST_NS ? wait : OFTEN_LEAST_NS;
}

uint64_t wf_ip_alive_deadline(const struct wf_ip_watch *w,
                              const struct wf_ip_alive *a)
{
    uint64_t first = first_wait(w, a);

    if (!first)
        return 0;
    if (!a->asked) /* whether the host answers at all must be known early */
        return a->sign;
    if ((a->unanswered && a->known) ||
        (a->seen && a->asked < a->seen + limit_of(w, a)))
        return a->asked + next_wait(w, a);
    if (!a->known && !a->looked)
        return a->asked + FIRST_LOOK_NS;
    return (a->sign > a->asked ? a->sign : a->asked) + first;
}

/* ---- the host ------------------------------------------------------------ */

static void answered(struct wf_ip_alive *a, uint64_t called, bool counts)
{
    a->known = true;
    if (called > a->host)
        a->host = called;
    if (!counts)
        return;
    if (called > a->sign)
        a->sign = called;
    a->unanswered = 0;
}

/* A call was refused: by a segment of TCP, or by ICMP? The latter is what a
 * firewall says as well, which lets nothing through. */
static bool refused_by_icmp(int fd)
{
    struct wf_ip_path to;

    return wf_ip_datagram_error(fd, &to) != 0;
}

void wf_ip_alive_hear(struct wf_ip_watch *w, struct wf_ip_alive *a, bool counts)
{
    a->looked = true;
    for (int i = 0; i < IP_ASKS; i++) {
        struct pollfd p = {.fd = a->fd[i], .events = POLLOUT};
        int error = 0;
        socklen_t n = sizeof error;
        if (p.fd < 0 || poll(&p, 1, 0) < 1)
            continue;
        if (getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 &&
            (error == 0 ||
             (error == ECONNREFUSED && !refused_by_icmp(p.fd))))
            answered(a, a->called[i], counts);
        end_call(w, a, i);
    }
}

/* 0: connected. An error of our own, for want of something: EAGAIN. */
static int call(int fd, struct wf_ip_addr to, struct wf_ip_addr from)
{
    struct linger reset = {.l_onoff = 1}; /* if somebody does serve it */
    struct sockaddr_storage sa;
    socklen_t n = wf_ip_to_sockaddr(&from, &sa);
    int on = 1;

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (from.family == 4)
        setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
    else
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&sa, n) < 0)
        return errno; /* that address is ours no longer */
    n = wf_ip_to_sockaddr(&to, &sa);
    if (connect(fd, (struct sockaddr *)&sa, n) == 0)
        return 0;
    return errno == EADDRNOTAVAIL || errno == ENOBUFS || errno == ENOMEM
               ? EAGAIN
               : errno;
}

/* False: it could not be asked. */
static bool ask_host(struct wf_ip_watch *w, struct wf_ip_alive *a, uint64_t now,
                     const struct wf_ip_addr *host,
                     const struct wf_ip_addr *from)
{
    struct wf_ip_addr to = *host, by = *from;
    int i = a->next, fd, rc;

    if (w->local)
        return true;
    if (a->fd[i] < 0 && w->open >= OPEN_MAX)
        return false;
    fd = socket(to.family == 4 ? AF_INET : AF_INET6,
                SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    end_call(w, a, i);
    to.port = PORT_DISCARD;
    by.port = 0;
    rc = call(fd, to, by);
    if (rc == EINPROGRESS) {
        a->fd[i] = fd;
        a->called[i] = now;
        a->next = (i + 1) % IP_ASKS;
        w->open++;
        return true;
    }
    close(fd);
    if (rc == 0 || rc == ECONNREFUSED)
        answered(a, now, true);
    return rc != EAGAIN;
}

void wf_ip_alive_ask(struct wf_ip_watch *w, struct wf_ip_alive *a, uint64_t now,
                     const struct wf_ip_addr *host,
                     const struct wf_ip_addr *from)
{
    a->asked = now;
    a->looked = w->local;
    a->unanswered++;
    a->ignored++;
    if (!ask_host(w, a, now, host, from))
        a->unanswered--;
}

/* ---- a peer that runs ---------------------------------------------------- */

/* Of the time since it was seen, how much it may have computed. */
static uint64_t excused_time(const struct wf_ip_watch *w,
                             const struct wf_ip_alive *a, uint64_t now)
{
    uint64_t then = a->seen ? a->seen : a->answer;
    uint64_t gap = now > then ? now - then : 0;
    uint64_t proven = limit_of(w, a) / 10 * TENTHS;

    return gap > proven ? gap - proven : 0;
}

void wf_ip_alive_runs(const struct wf_ip_watch *w, struct wf_ip_alive *a,
                      uint64_t now)
{
    if (!a->ignored)
        return;
    a->excused += excused_time(w, a, now);
    a->seen = now;
}

/* How long it has run without an answer; 0: that is not known. */
static uint64_t deaf_time(const struct wf_ip_watch *w,
                          const struct wf_ip_alive *a, uint64_t now)
{
    uint64_t ns, most = limit_of(w, a) / 2;

    if (!a->seen || a->ignored < ENOUGH || now < a->answer)
        return 0;
    ns = now - a->answer - a->excused - excused_time(w, a, now);
    return ns >= DEAF_LEAST_NS || ns < most ? ns : most;
}

/* ---- the verdict --------------------------------------------------------- */

/* As long as too little was asked there is no silence as long as a limit. */
uint64_t wf_ip_alive_quiet(const struct wf_ip_watch *w,
                           const struct wf_ip_alive *a, uint64_t now, bool sure)
{
    uint64_t quiet = now > a->sign ? now - a->sign : 0;
    uint64_t most = limit_of(w, a) / 2;

    return sure || quiet < most ? quiet : most;
}

uint64_t wf_ip_alive_silent(const struct wf_ip_watch *w,
                            const struct wf_ip_alive *a, uint64_t now)
{
    uint64_t ignored = deaf_time(w, a, now), quiet;

    if (!a->known)
        return ignored ? ignored : UINT64_MAX;
    quiet = wf_ip_alive_quiet(w, a, now, a->unanswered >= ENOUGH);
    return ignored > quiet ? ignored : quiet;
}

static bool is_due(const struct wf_ip_watch *w, const struct wf_ip_alive *a,
                   uint64_t now)
{
    uint64_t at = wf_ip_alive_deadline(w, a);

    return at && at <= now;
}

uint64_t wf_ip_alive_unknown(const struct wf_ip_watch *w,
                             const struct wf_ip_alive *a, uint64_t now)
{
    return a->known || w->local || a->unanswered < FEW || now < a->sign
               ? 0
               : now - a->sign;
}

static bool has_vanished(const struct wf_ip_watch *w,
                         const struct wf_ip_alive *a, uint64_t now,
                         char why[IP_WHY])
{
    uint64_t silent = wf_ip_alive_silent(w, a, now);
    unsigned long long ms = 1000000;

    if (!w->vanished || silent == UINT64_MAX || silent < w->vanished)
        return false;
    if (deaf_time(w, a, now) >= w->vanished)
        snprintf(why, IP_WHY,
                 "sends packets, but for %llu ms has confirmed none of ours: "
                 "they, or the large ones (MTU), are dropped on the way",
                 (now - a->answer) / ms);
    else
        snprintf(why, IP_WHY,
                 "has vanished: neither it nor its host has answered for %llu "
                 "ms",
                 (now - a->sign) / ms);
    return true;
}

bool wf_ip_alive_turn(struct wf_ip_watch *w, struct wf_ip_alive *a,
                      uint64_t now, void (*ask)(void *ctx, uint64_t now),
                      void *ctx, char why[IP_WHY])
{
    if (!is_due(w, a, now))
        return true;
    wf_ip_alive_hear(w, a, true);
    if (has_vanished(w, a, now, why))
        return false;
    if (is_due(w, a, now))
        ask(ctx, now);
    return true;
}
