/* Asks silent peers and their hosts, and judges: alive.h.
 * OPTIMIZE  size
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
    ENOUGH = 8,     /* unanswered questions that make a silence certain */
    OPEN_MAX = 256, /* connection requests to hosts, per endpoint */
    EARLY = 4,      /* the first question leaves after limit / EARLY */
    OFTEN = 20,     /* the others follow each other after limit / OFTEN */
    FEW = 3,        /* enough questions to a host that never answered */
    TENTHS = 3      /* of the limit: a process seen to run did for so long */
};
#define DEAF_LEAST_NS  1000000000u /* lost data is sent again in less */
#define OFTEN_LEAST_NS 25000000u
#define FIRST_LOOK_NS  100000000u /* until the first answer is read */

void wf_ip_alive_begin(struct wf_ip_alive *a, uint64_t now)
{
    *a = (struct wf_ip_alive){.sign = now, .answer = now};
    for (int i = 0; i < IP_HOST_REQUESTS; i++)
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
    for (int i = 0; i < IP_HOST_REQUESTS; i++)
        end_call(w, a, i);
}

/* ---- time ---------------------------------------------------------------- */

static uint64_t limit_of(const struct wf_ip_watch *w,
                         const struct wf_ip_alive *a)
{
    uint64_t limit = w->every ? w->vanished : 0;

    wf_ip_set_sooner(&limit, a->within);
    return limit;
}

/* Returns the time from the last sign to the first question. */
static uint64_t first_wait(const struct wf_ip_watch *w,
                           const struct wf_ip_alive *a)
{
    uint64_t limit = limit_of(w, a), wait = w->every;

    if (limit)
        wf_ip_set_sooner(&wait, limit / EARLY + 1);
    return wait;
}

static uint64_t next_wait(const struct wf_ip_watch *w,
                          const struct wf_ip_alive *a)
{
    uint64_t limit = limit_of(w, a), wait = limit / OFTEN;

    return !limit                  ? first_wait(w, a)
           : wait > OFTEN_LEAST_NS ? wait
                                   : OFTEN_LEAST_NS;
}

uint64_t wf_ip_alive_deadline(const struct wf_ip_watch *w,
                              const struct wf_ip_alive *a)
{
    uint64_t first = first_wait(w, a);

    if (!first)
        return 0;
    if (!a->asked) /* it must be known early whether the host answers at all */
        return a->sign;
    if ((a->unanswered && a->known) ||
        (a->seen && a->asked < a->seen + limit_of(w, a)))
        return a->asked + next_wait(w, a);
    if (!a->known && !a->answers_read)
        return a->asked + FIRST_LOOK_NS;
    return (a->sign > a->asked ? a->sign : a->asked) + first;
}

/* ---- the host ------------------------------------------------------------ */

static void note_host_answer(struct wf_ip_alive *a, uint64_t called,
                             bool counts)
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

/* Tells whether a connection was refused by ICMP rather than by a TCP segment.
 * A firewall that lets nothing through sends ICMP, too. */
static bool is_refused_by_icmp(int fd)
{
    struct wf_ip_path to;

    return wf_ip_datagram_error(fd, &to) != 0;
}

void wf_ip_alive_read_answers(struct wf_ip_watch *w, struct wf_ip_alive *a,
                              bool counts)
{
    a->answers_read = true;
    for (int i = 0; i < IP_HOST_REQUESTS; i++) {
        struct pollfd p = {.fd = a->fd[i], .events = POLLOUT};
        int error = 0;
        socklen_t n = sizeof error;
        if (p.fd < 0 || poll(&p, 1, 0) < 1)
            continue;
        if (getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 &&
            (error == 0 ||
             (error == ECONNREFUSED && !is_refused_by_icmp(p.fd))))
            note_host_answer(a, a->called[i], counts);
        end_call(w, a, i);
    }
}

/* Starts a connection. Returns 0 if it is established at once, else errno;
 * EAGAIN stands for an error of this system, for want of memory or ports. */
static int call_host(int fd, struct wf_ip_addr to, struct wf_ip_addr from)
{
    struct linger reset = {.l_onoff = 1}; /* if a server does accept it */
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
        return errno; /* this host does not have that address any more */
    n = wf_ip_to_sockaddr(&to, &sa);
    if (connect(fd, (struct sockaddr *)&sa, n) == 0)
        return 0;
    return errno == EADDRNOTAVAIL || errno == ENOBUFS || errno == ENOMEM
               ? EAGAIN
               : errno;
}

/* Returns false if the host could not be asked. */
static bool ask_host(struct wf_ip_watch *w, struct wf_ip_alive *a, uint64_t now,
                     const struct wf_ip_addr *host,
                     const struct wf_ip_addr *from)
{
    struct wf_ip_addr to = *host, by = *from;
    int i = a->next_slot, fd, rc;

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
    rc = call_host(fd, to, by);
    if (rc == EINPROGRESS) {
        a->fd[i] = fd;
        a->called[i] = now;
        a->next_slot = (i + 1) % IP_HOST_REQUESTS;
        w->open++;
        return true;
    }
    close(fd);
    if (rc == 0 || rc == ECONNREFUSED)
        note_host_answer(a, now, true);
    return rc != EAGAIN;
}

void wf_ip_alive_ask_host(struct wf_ip_watch *w, struct wf_ip_alive *a,
                          uint64_t now, const struct wf_ip_addr *host,
                          const struct wf_ip_addr *from)
{
    a->asked = now;
    a->answers_read = w->local;
    a->unanswered++;
    a->ignored++;
    if (!ask_host(w, a, now, host, from))
        a->unanswered--;
}

/* ---- a peer that runs ---------------------------------------------------- */

/* Returns how much of the time since the peer was seen it may have computed. */
static uint64_t excused_time(const struct wf_ip_watch *w,
                             const struct wf_ip_alive *a, uint64_t now)
{
    uint64_t then = a->seen ? a->seen : a->answer;
    uint64_t gap = now > then ? now - then : 0;
    uint64_t proven = limit_of(w, a) / 10 * TENTHS;

    return gap > proven ? gap - proven : 0;
}

void wf_ip_alive_note_running(const struct wf_ip_watch *w,
                              struct wf_ip_alive *a, uint64_t now)
{
    if (!a->ignored)
        return;
    a->excused += excused_time(w, a, now);
    a->seen = now;
}

/* Returns how long the peer has run without an answer; 0: that is not known. */
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

uint64_t wf_ip_alive_quiet_ns(const struct wf_ip_watch *w,
                           const struct wf_ip_alive *a, uint64_t now, bool sure)
{
    uint64_t quiet = now > a->sign ? now - a->sign : 0;
    uint64_t most = limit_of(w, a) / 2;

    return sure || quiet < most ? quiet : most;
}

uint64_t wf_ip_alive_silent_ns(const struct wf_ip_watch *w,
                            const struct wf_ip_alive *a, uint64_t now)
{
    uint64_t ignored = deaf_time(w, a, now), quiet;

    if (!a->known)
        return ignored ? ignored : UINT64_MAX;
    quiet = wf_ip_alive_quiet_ns(w, a, now, a->unanswered >= ENOUGH);
    return ignored > quiet ? ignored : quiet;
}

static bool is_due(const struct wf_ip_watch *w, const struct wf_ip_alive *a,
                   uint64_t now)
{
    uint64_t at = wf_ip_alive_deadline(w, a);

    return at && at <= now;
}

uint64_t wf_ip_alive_unknown_ns(const struct wf_ip_watch *w,
                             const struct wf_ip_alive *a, uint64_t now)
{
    return a->known || w->local || a->unanswered < FEW || now < a->sign
               ? 0
               : now - a->sign;
}

static bool has_vanished(const struct wf_ip_watch *w,
                         const struct wf_ip_alive *a, uint64_t now,
                         char why[IP_REASON_BYTES])
{
    uint64_t silent = wf_ip_alive_silent_ns(w, a, now);
    unsigned long long ms = 1000000;

    if (!w->vanished || silent == UINT64_MAX || silent < w->vanished)
        return false;
    if (deaf_time(w, a, now) >= w->vanished)
        snprintf(why, IP_REASON_BYTES,
                 "sends packets, but for %llu ms has confirmed none of ours: "
                 "they, or the large ones (MTU), are dropped on the way",
                 (now - a->answer) / ms);
    else
        snprintf(why, IP_REASON_BYTES,
                 "has vanished: neither it nor its host has answered for %llu "
                 "ms",
                 (now - a->sign) / ms);
    return true;
}

bool wf_ip_alive_check(struct wf_ip_watch *w, struct wf_ip_alive *a,
                      uint64_t now, void (*ask)(void *ctx, uint64_t now),
                      void *ctx, char why[IP_REASON_BYTES])
{
    if (!is_due(w, a, now))
        return true;
    wf_ip_alive_read_answers(w, a, true);
    if (has_vanished(w, a, now, why))
        return false;
    if (is_due(w, a, now))
        ask(ctx, now);
    return true;
}
