/* Dialling a peer at its candidate addresses, the best first.
 *
 * The next candidate starts when the one before it has failed or has been
 * silent for IP_STAGGER_NS; the first that passes the handshake wins. When all
 * have failed the link is broken with a table of what happened to each.
 *
 * A late answer is no failure, because the process may compute for minutes. A
 * process that closes the connection during the handshake is called again a few
 * times, because a busy listener makes room by refusing slow callers.
 *
 * Processes started by hand start seconds apart: one that was never reached and
 * refuses is called again until the time that start-up may take is over.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

#define BACKOFF_NS      5000000u
#define RETRY_ABSENT_NS 100000000u

static void leave_dial_list(weft_peer *p)
{
    weft_peer **at = &p->ep->dialling;
    while (*at && *at != p)
        at = &(*at)->dial_next;
    if (*at)
        *at = p->dial_next;
    p->dial_next = NULL;
}

/* Ends all attempts and frees the candidates. */
void wf_tcp_dial_forget(weft_peer *p)
{
    if (!p->dial)
        return;
    wf_tcp_dial_end(p, NULL);
    wf_ip_alive_end(&p->ep->watch, &p->dial->host);
    leave_dial_list(p);
    free(p->dial);
    p->dial = NULL;
}

/* Closes all attempts but one. */
void wf_tcp_dial_end(weft_peer *p, struct wf_tcp_conn *keep)
{
    for (int i = 0; p->dial && i < p->dial->n; i++) {
        struct wf_tcp_conn *c = p->dial->cand[i].conn;
        if (c && c != keep)
            wf_tcp_conn_close(c);
    }
}

static void describe_candidate(const weft_ep *ep,
                               const struct wf_tcp_candidate *c, char *text,
                               size_t n)
{
    char to[64], from[64] = "any address";
    wf_ip_print_address(&c->at.to, to, sizeof to);
    if (c->at.local >= 0) {
        const struct wf_ip_interface *u = &ep->ip.use[c->at.local];
        char ip[INET6_ADDRSTRLEN] = "?";
        inet_ntop(u->addr.family == 4 ? AF_INET : AF_INET6, u->addr.ip, ip,
                  sizeof ip);
        snprintf(from, sizeof from, "%s %s", u->name, ip);
    }
    snprintf(text, n, "%s -> %s: %s", from, to,
             c->error ? wf_ip_error_text(c->error) : c->what);
}

/* The status with which the link is lost, by this candidate alone. A shortage
 * of this process or of the peer says more than the silence of other
 * addresses. */
static int status_of(const struct wf_tcp_candidate *c)
{
    int shortage = wf_ip_is_shortage(c->error) ? c->error : c->peer_shortage;

    return c->status == WEFT_EAUTH ? WEFT_EAUTH
           : shortage              ? wf_ip_shortage_status(shortage)
                                   : WEFT_ELINK;
}

/* Breaks the link because every candidate has failed; unless the peer has
 * called this process meanwhile. */
static void fail_dial(weft_peer *p)
{
    struct wf_tcp_conn *waiting = p->parked;
    char table[1024] = "";
    size_t at = 0;
    int status = WEFT_ELINK, refused = 0;

    if (waiting) { /* the peer has reached this process */
        p->parked = NULL;
        wf_tcp_dial_forget(p);
        wf_tcp_link_up(p, waiting);
        return;
    }
    for (int i = 0; i < p->dial->n && at < sizeof table; i++) {
        char one[256];
        describe_candidate(p->ep, &p->dial->cand[i], one, sizeof one);
        at += (size_t)snprintf(table + at, sizeof table - at, "%s%s",
                               i ? "; " : "", one);
        refused += p->dial->cand[i].error == ECONNREFUSED;
        if (status != WEFT_EAUTH && status_of(&p->dial->cand[i]) != WEFT_ELINK)
            status = status_of(&p->dial->cand[i]);
    }
    if (refused && refused == p->dial->n)
        status = WEFT_EPEER; /* the host is there, but no process listens */
    wf_ip_break_link(&p->ip, status, "cannot connect to process %u: %s",
                     p->ip.id,
                     p->dial->n ? table
                                : "none of its addresses can be reached "
                                  "from the chosen interfaces");
}

static bool is_decided(const struct wf_tcp_dial *d)
{
    for (int i = 0; i < d->n; i++)
        if (d->cand[i].conn && d->cand[i].conn->state == TCP_VERDICT)
            return true;
    return false;
}

static void hurry_next_candidate(weft_peer *p)
{
    uint64_t now = wf_tcp_now(p->ep);
    int failed = 0;
    for (int i = 0; i < p->dial->n; i++) {
        struct wf_tcp_candidate *c = &p->dial->cand[i];
        failed += c->failed;
        if (!c->failed && !c->conn && c->tries == 0) {
            c->start_at = now; /* the next progress() starts it */
            return;
        }
    }
    if (failed == p->dial->n)
        fail_dial(p);
}

/* Says whether this is the error of a host or a process that may not be up
 * yet. */
static bool is_absence(int error)
{
    return error == ECONNREFUSED || error == ETIMEDOUT ||
           error == EHOSTUNREACH || error == ENETUNREACH ||
           error == EHOSTDOWN || error == ENETDOWN;
}

static void log_waiting(const weft_peer *p, const struct wf_tcp_candidate *c,
                        uint64_t now)
{
    char text[256];

    describe_candidate(p->ep, c, text, sizeof text);
    p->ep->ip.host->log(
        p->ep->ip.core, 1,
        "process %u is not there yet: %s; waiting up to %llu s "
        "more",
        p->ip.id, text,
        (unsigned long long)((p->dial->until - now) / 1000000000));
}

/* Calls again soon, if a shortage of descriptors or memory has failed the call
 * and has not lasted too long. A shortage of descriptors of the listener has:
 * it has waited for them itself. */
static bool try_soon(weft_peer *p, struct wf_tcp_candidate *c)
{
    uint64_t now = wf_tcp_now(p->ep);
    int shortage = c->error ? c->error : c->peer_shortage;

    if (!wf_ip_is_shortage(shortage) || c->peer_shortage == EMFILE ||
        !wf_ip_retry_shortage(&c->shortage_since, now))
        return false;
    c->tries = 1;
    c->start_at = now + IP_SHORTAGE_RETRY_NS;
    return true;
}

/* Calls again later, if the peer may not be up yet and has not called
 * itself. */
static bool try_later(weft_peer *p, struct wf_tcp_candidate *c)
{
    uint64_t now = wf_tcp_now(p->ep);

    if (!is_absence(c->error) || now >= p->dial->until || p->parked)
        return false;
    if (p->dial->log_at && now >= p->dial->log_at) {
        p->dial->log_at = 0;
        log_waiting(p, c, now);
    }
    c->tries = 1;
    c->start_at = now + RETRY_ABSENT_NS;
    return true;
}

/* Notes that this candidate does not work, or not yet. peer_shortage: an
 * errno. */
static void drop_candidate(struct wf_tcp_conn *conn, int status, int error,
                           int shortage, const char *what)
{
    struct wf_tcp_candidate *c = conn->cand;
    weft_peer *p = conn->peer;
    wf_tcp_conn_close(conn);
    c->status = status;
    c->error = error;
    c->what = what;
    c->peer_shortage = shortage;
    c->failed = !try_soon(p, c) && !try_later(p, c);
    hurry_next_candidate(p);
}

void wf_tcp_dial_failed(struct wf_tcp_conn *conn, int status, int error,
                        const char *what)
{
    drop_candidate(conn, status, error, 0, what);
}

void wf_tcp_dial_retry(struct wf_tcp_conn *conn, const char *what)
{
    struct wf_tcp_candidate *c = conn->cand;
    weft_ep *ep = conn->ep;
    if (c->tries >= TCP_RETRIES) {
        wf_tcp_dial_failed(conn, WEFT_ELINK, 0, what);
        return;
    }
    wf_tcp_conn_close(conn);
    c->start_at = wf_tcp_now(ep) + ((uint64_t)BACKOFF_NS << 2 * (c->tries - 1));
}

/* Handles a call that the listener has refused because of its own shortage. */
void wf_tcp_dial_shortage(struct wf_tcp_conn *conn, unsigned shortage)
{
    bool memory = shortage == TCP_NO_MEMORY;

    drop_candidate(conn, WEFT_ELINK, 0, memory ? ENOMEM : EMFILE,
                   memory ? "the process there has no memory for the call"
                          : "the process there has no descriptor for the call "
                            "(RLIMIT_NOFILE; raise ulimit -n there)");
}

static void bind_source(weft_ep *ep, int fd, const struct wf_tcp_candidate *c)
{
    struct sockaddr_storage sa;
    struct wf_ip_addr from;
    int on = 1, local = c->at.local;
    socklen_t n;

    if (wf_ip_is_loopback(&c->at.to))
        return;
    /* an interface that was named is used for outgoing calls as well */
    for (int i = 0; i < ep->ip.n && local < 0 && !ep->ip.automatic; i++)
        if (ep->ip.use[i].addr.family == c->at.to.family)
            local = i;
    if (local < 0)
        return;
    from = ep->ip.use[local].addr;
    from.port = 0;
    n = wf_ip_to_sockaddr(&from, &sa);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    (void)!bind(fd, (struct sockaddr *)&sa, n); /* connect() shows a failure */
}

static void set_buffers(weft_ep *ep, int fd)
{
    int n = (int)ep->cfg.sndbuf;
    if (n > 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
    n = (int)ep->cfg.rcvbuf;
    if (n > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof n);
}

static void start_candidate(weft_peer *p, struct wf_tcp_candidate *c)
{
    weft_ep *ep = p->ep;
    struct sockaddr_storage sa;
    socklen_t n = wf_ip_to_sockaddr(&c->at.to, &sa);
    int fd =
        socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct wf_tcp_conn *conn = NULL;
    int rc;

    if (fd >= 0)
        conn = wf_tcp_conn_new(ep, fd, TCP_CONNECTING, &c->at.to);
    c->tries++;
    if (!conn) {
        c->error = fd < 0 ? errno : ENOMEM;
        c->status = WEFT_ESYS;
        if (fd >= 0)
            close(fd);
        c->failed = !try_soon(p, c);
        hurry_next_candidate(p);
        return;
    }
    conn->dialled = true;
    conn->peer = p;
    conn->cand = c;
    c->conn = conn;
    set_buffers(ep, fd);
    bind_source(ep, fd, c);
    wf_tcp_conn_tune(conn);
    rc = connect(fd, (struct sockaddr *)&sa, n);
    if (rc == 0)
        wf_tcp_conn_event(conn, EPOLLOUT);
    else if (errno == EINPROGRESS || errno == EINTR)
        wf_tcp_conn_set_interest(conn, EPOLLOUT);
    else
        wf_tcp_dial_failed(conn, WEFT_ELINK, errno, NULL);
}

static void start_due_candidates(weft_peer *p, uint64_t now)
{
    for (int i = 0; p->dial && i < p->dial->n && !is_decided(p->dial); i++) {
        struct wf_tcp_candidate *c = &p->dial->cand[i];
        if (!c->failed && !c->conn && c->start_at <= now)
            start_candidate(p, c);
    }
}

/* Starts to dial a peer. progress() reports the outcome. */
void wf_tcp_dial(weft_peer *p)
{
    weft_ep *ep = p->ep;
    struct wf_ip_candidate at[IP_ADDRS_MAX];
    uint64_t now = wf_tcp_now(ep);

    p->dial = calloc(1, sizeof *p->dial);
    if (!p->dial) {
        wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
        return;
    }
    wf_ip_alive_begin(&p->dial->host, now);
    p->ip.state = PEER_DIALLING;
    p->dial_next = ep->dialling;
    ep->dialling = p;
    if (ep->ip.start && !p->ip.was_connected) {
        p->dial->until = now + ep->ip.start;
        p->dial->log_at = now + ep->cfg.connect_timeout;
    }
    p->dial->n = wf_ip_find_candidates(&ep->ip, p->ip.book, at);
    for (int i = 0; i < p->dial->n; i++) {
        p->dial->cand[i].at = at[i];
        p->dial->cand[i].start_at = now + (uint64_t)i * IP_STAGGER_NS;
    }
    if (p->dial->n == 0)
        fail_dial(p);
    else
        start_due_candidates(p, now);
}

void wf_tcp_dial_timers(weft_ep *ep, uint64_t now)
{
    for (weft_peer *p = ep->dialling, *next; p; p = next) {
        next = p->dial_next;
        start_due_candidates(p, now);
    }
}

uint64_t wf_tcp_dial_deadline(const weft_ep *ep)
{
    uint64_t first = 0;
    for (const weft_peer *p = ep->dialling; p; p = p->dial_next)
        for (int i = 0; i < p->dial->n; i++) {
            const struct wf_tcp_candidate *c = &p->dial->cand[i];
            if (!c->failed && !c->conn && (!first || c->start_at < first))
                first = c->start_at;
        }
    return first;
}
