/* Calls, in both directions, up to the proof of identity. dial.c begins them.
 *
 *   dialler                          listener
 *   connect, HELLO secret + step 1 -> accept: checks user and secret
 *                                 <- AUTH step 2
 *   AUTH step 3                   -> proved: adopt.c goes on
 *                                 <- SETUP segment, page, bell   or REFUSE
 *   READY page, bell              ->
 *
 *   - Nothing waits: after a full backlog the call is made again later.
 *   - A listener that has died refuses the call, and the link goes down.
 *   - There is no time limit: a process that computes answers later; one that
 *     dies closes its sockets.
 *   - A call that fails before the rings exist, for want of a descriptor or of
 *     memory on either side, is made again for SHM_SHORTAGE_MAX_MS. If the
 *     other side has ended, the next call is refused; if it lacks something,
 *     its refusal names it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Makes the abstract name of an endpoint's socket. It needs no file and is gone
 * with the last descriptor. */
socklen_t wf_shm_socket_name(const struct shm_address *a,
                             struct sockaddr_un *sa)
{
    memset(sa, 0, sizeof *sa);
    sa->sun_family = AF_UNIX;
    int n = snprintf(sa->sun_path + 1, sizeof sa->sun_path - 1, "weft-shm-");
    for (size_t i = 0; i < sizeof a->name; i++)
        n += snprintf(sa->sun_path + 1 + n, sizeof sa->sun_path - 1 - (size_t)n,
                      "%02x", a->name[i]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int wf_shm_watch_socket(weft_ep *ep, struct shm_watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data = {.ptr = w}};
    return epoll_ctl(ep->epoll, EPOLL_CTL_ADD, w->fd, &e) == 0 ? 0 : errno;
}

bool wf_shm_same_user(int fd, struct shm_maker *maker)
{
    struct ucred peer = {.pid = 0, .uid = (uid_t)-1};
    socklen_t n = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0;
    *maker = (struct shm_maker){peer.pid, peer.uid};
    return known && peer.uid == geteuid();
}

void wf_shm_note_pid(weft_peer *p, const struct shm_maker *maker)
{
    if (!p->address.pid && maker->pid > 0)
        p->address.pid = (uint32_t)maker->pid;
}

/* ---- connections in the making ----------------------------------------- */

struct shm_conn *wf_shm_conn_new(weft_ep *ep, int fd, bool dialled)
{
    struct shm_conn *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->watch = (struct shm_watch){SHM_CONN, fd};
    c->ep = ep;
    c->dialled = dialled;
    if (wf_shm_watch_socket(ep, &c->watch, EPOLLIN | EPOLLRDHUP) != 0) {
        free(c);
        return NULL;
    }
    c->next = ep->conns;
    ep->conns = c;
    ep->conns_made++;
    return c;
}

/* Ends a connection attempt. Its memory is freed when no event can point to it
 * any more. A connection that became a peer's has given its descriptor away
 * (-1). */
void wf_shm_hang_up(struct shm_conn *c)
{
    weft_ep *ep = c->ep;
    struct shm_conn **at = &ep->conns;
    while (*at && *at != c)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = c->next;
    ep->host->auth_step(ep->core, &c->auth, NULL, 0, NULL, NULL, NULL);
    if (c->watch.fd >= 0)
        close(c->watch.fd);
    if (c->peer && c->peer->conn == c)
        c->peer->conn = NULL;
    c->watch = (struct shm_watch){SHM_DEAD, -1};
    c->next = ep->dead_conns;
    ep->dead_conns = c;
    ep->conns_made--;
}

/* Frees the connections that have ended. */
void wf_shm_free_dead_conns(weft_ep *ep)
{
    while (ep->dead_conns) {
        struct shm_conn *c = ep->dead_conns;
        ep->dead_conns = c->next;
        free(c);
    }
}

/* Ends a connection whose socket has closed, or has sent nonsense, before the
 * rings existed. A dialler calls again for a while. */
static void drop_conn(struct shm_conn *c, const char *what)
{
    weft_peer *p = c->peer;
    wf_shm_hang_up(c);
    if (!p)
        return;
    if (c->dialled) {
        if (!wf_shm_dial_again(p))
            wf_shm_fault(p, WEFT_ELINK, "process %u (pid %u) %s", p->loc_id,
                         p->address.pid, what);
        return;
    }
    p->state = SHM_IDLE; /* it was its call; mine may still be needed */
    wf_shm_end_connection(p, WEFT_ELINK);
    if (p->out.want)
        wf_shm_dial_later(p, SHM_RETRY_FIRST_MS * SHM_MS);
}

/* Ends a connection with a process that is no rank of this job, for good. */
static void drop_foreign_conn(struct shm_conn *c, const char *what)
{
    if (c->peer && c->dialled)
        c->peer->shortage_since = 1; /* so long ago that the limit is over */
    drop_conn(c, what);
}

/* ---- the handshake ----------------------------------------------------- */

/* Ends a handshake for which this process has no memory now. */
static void fail_for_memory(struct shm_conn *c)
{
    weft_peer *p = c->peer;
    if (!c->dialled) {
        wf_shm_refuse(c, SHM_NO_MEMORY, strerror(ENOMEM));
        return;
    }
    wf_shm_hang_up(c);
    if (!wf_shm_dial_again(p))
        wf_shm_fault(p, WEFT_ENOMEM, "cannot call process %u: out of memory",
                     p->loc_id);
}

/* Says whether the caller has ended the call, because mine was taken: then it
 * does not matter that it comes from a job which was left meanwhile. */
static bool has_hung_up(const struct shm_conn *c)
{
    char byte;
    return recv(c->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void fail_authentication(struct shm_conn *c, int rc)
{
    const char *why = rc == WEFT_EAUTH      ? "the job keys differ"
                      : rc == WEFT_EPROTO   ? "it speaks another protocol"
                      : rc == WEFT_EUNREACH ? "it is another process"
                      : rc == WEFT_ENOMEM   ? "out of memory"
                                            : "the handshake failed";
    if (!c->dialled && !has_hung_up(c))
        c->ep->host->log(c->ep->core, 1, "shm: refused a caller: %s", why);
    if (rc == WEFT_ENOMEM) {
        fail_for_memory(c);
        return;
    }
    weft_peer *p = c->peer;
    wf_shm_hang_up(c);
    if (p)
        wf_shm_fault(p, WEFT_ELINK, "process %u (pid %u) cannot be trusted: %s",
                     p->loc_id, p->address.pid, why);
}

/* Takes one step of the key handshake. Returns false if the call has ended. */
static bool step_handshake(struct shm_conn *c, const unsigned char *in,
                           size_t len)
{
    weft_ep *ep = c->ep;
    unsigned char out[WEFT_AUTH_MSG];
    size_t n = 0;
    int rc =
        ep->host->auth_step(ep->core, &c->auth, in, len, out, &n, &c->loc_id);
    int err = 0;
    if (n > 0 && n <= sizeof out)
        err = wf_shm_message_send(c->watch.fd, SHM_AUTH, out, n, NULL, 0);
    if (rc != WEFT_OK && rc != WEFT_EAGAIN) {
        fail_authentication(c, rc);
        return false;
    }
    if (err) {
        drop_conn(c, "cannot be sent a proof of the job key");
        return false;
    }
    if (rc == WEFT_EAGAIN)
        return true;
    c->proved = true;
    if (!c->dialled)
        wf_shm_handle_proof(c);
    return c->watch.kind == SHM_CONN;
}

static bool handle_hello(struct shm_conn *c, const struct shm_message *m)
{
    if (m->len < 16 || memcmp(m->body, c->ep->address.secret, 16) != 0) {
        c->ep->host->log(c->ep->core, 1,
                         "shm: refused a caller that looks for a process that "
                         "has ended");
        wf_shm_hang_up(c);
        return false;
    }
    return step_handshake(c, m->body + 16, m->len - 16u);
}

/* Handles one message. Returns false if the connection has ended or is a peer's
 * now. */
static bool handle_message(struct shm_conn *c, const struct shm_message *m,
                           int *fds)
{
    if (!c->proved && !c->dialled && !c->auth && m->type == SHM_HELLO)
        return handle_hello(c, m);
    if (!c->proved && c->auth && m->type == SHM_AUTH)
        return step_handshake(c, m->body, m->len);
    if ((c->dialled || c->peer) && m->type == SHM_REFUSE)
        return wf_shm_handle_refusal(c, m);
    if (c->proved && c->dialled && m->type == SHM_SETUP)
        return wf_shm_handle_setup(c, m, fds);
    if (c->proved && !c->dialled && c->peer && m->type == SHM_READY)
        return wf_shm_handle_ready(c, m, fds);
    drop_foreign_conn(c, "sent a message out of turn");
    return false;
}

static void close_unused(int *fds)
{
    for (int i = 0; i < SHM_FDS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* Handles a READY whose descriptors could not be received. The dialler counts
 * the pair as connected already, so it is asked for them again, once
 * descriptors may be free here. */
static void wait_to_ask_again(struct shm_conn *c)
{
    weft_peer *p = c->peer;
    uint64_t now = c->ep->host->now_ns(c->ep->core);
    if (p && !p->shortage_since)
        p->shortage_since = now;
    if (!p || now - p->shortage_since >= SHM_SHORTAGE_MAX_MS * SHM_MS) {
        wf_shm_hang_up(c);
        if (p)
            wf_shm_fault(p, WEFT_ELINK,
                         "no descriptor is free for the page and "
                         "the bell of process %u%s",
                         p->loc_id, wf_shm_remedy_of(EMFILE));
        return;
    }
    c->ask_again = true;
    wf_shm_pause_accept(c->ep, strerror(EMFILE));
}

void wf_shm_request_ready(weft_ep *ep)
{
    for (struct shm_conn *c = ep->conns, *next; c; c = next) {
        next = c->next;
        if (!c->ask_again)
            continue;
        c->ask_again = false;
        if (wf_shm_message_send(c->watch.fd, SHM_REPEAT, NULL, 0, NULL, 0))
            wait_to_ask_again(c);
    }
}

static int handle_conn_event(struct shm_conn *c)
{
    for (int n = 0;; n++) {
        struct shm_message m;
        int fds[SHM_FDS];
        int rc = wf_shm_message_receive(c->watch.fd, &m, fds);
        bool goes_on = rc == 1 && handle_message(c, &m, fds);
        close_unused(fds);
        if (goes_on)
            continue;
        if (rc == -EPIPE)
            drop_conn(c, "closed the connection during the handshake");
        else if (rc == -EMFILE && !(c->proved && !c->dialled))
            drop_conn(c, "sent memory for which no descriptor is free here "
                         "(RLIMIT_NOFILE; raise ulimit -n)");
        else if (rc == -EMFILE)
            wait_to_ask_again(c);
        else if (rc < 0)
            drop_foreign_conn(c, "sent garbage during the handshake");
        return n + 1;
    }
}

/* Handles one message on the socket of a pair. Returns 1, or a negative errno
 * if no more are read. */
static int handle_peer_message(weft_peer *p, const struct shm_message *m,
                               int fd)
{
    switch (m->type) {
    case SHM_REPEAT:
        wf_shm_resend_ready(p);
        return 1;
    case SHM_REFUSE:
        /* The listener could not receive SHM_READY. Messages may be in the ring
         * already, so there is no second call. */
        wf_shm_report_refusal(p, m);
        return -EPIPE;
    default:
        return wf_shm_handle_memory(p, m, fd) ? 1 : -EPROTO;
    }
}

/* Reads the socket of a pair. It carries messages about memory, and nothing
 * else until the other side closes it. */
static void handle_peer_event(weft_peer *p)
{
    struct shm_message m;
    int fds[SHM_FDS];
    int rc;
    if (p->watch.fd < 0) /* closed while this event was on its way */
        return;
    do {
        rc = wf_shm_message_receive(p->watch.fd, &m, fds);
        if (rc == 1)
            rc = handle_peer_message(p, &m, fds[0]);
        close_unused(fds);
    } while (rc == 1);
    if (rc == 0 || rc == -EMFILE) /* the pair works without that memory */
        return;
    if (rc != -EPIPE)
        wf_shm_fault(p, WEFT_ELINK, "process %u wrote nonsense to its socket",
                     p->loc_id);
    epoll_ctl(p->ep->epoll, EPOLL_CTL_DEL, p->watch.fd, NULL);
    p->in.eof = true;
    wf_shm_mark_busy(p);
}

static int handle_event(weft_ep *ep, struct shm_watch *w)
{
    switch (w->kind) {
    case SHM_LISTENER:
        return wf_shm_accept(ep);
    case SHM_CONN:
        return handle_conn_event((struct shm_conn *)(void *)w);
    case SHM_PEER:
        handle_peer_event(
            (weft_peer *)(void *)((char *)w -
                                  offsetof(struct weft_peer, watch)));
        return 1;
    default:
        return 0;
    }
}

/* Polls the sockets. Returns the number of events. */
int wf_shm_poll_sockets(weft_ep *ep)
{
    struct epoll_event e[SHM_EVENTS];
    int n = 0, got;
    ep->attend = false;
    if (ep->accept_at)
        wf_shm_resume_accept(ep);
    do {
        got = epoll_wait(ep->epoll, e, SHM_EVENTS, 0);
        for (int i = 0; i < got; i++)
            n += handle_event(ep, e[i].data.ptr);
    } while (got == SHM_EVENTS);
    wf_shm_free_dead_conns(ep);
    return n;
}
