/* Dialling a peer: the call, and when it is made again.
 *
 *   - After a full backlog, or for want of a descriptor or of memory on either
 *     side, a call is made again for a while.
 *   - Nobody listens at the address of a process that has ended: the link goes
 *     down. Where the address was derived, the process may not have been
 *     started yet: until it was connected once it is called again for as long
 *     as start-up may take.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { RETRY_MAX_MS = 64, ABSENCE_LOGGED_MS = 5000 };

/* Dials again after a pause; after_ns 0: twice as long as the last one. */
void wf_shm_dial_later(weft_peer *p, uint64_t after_ns)
{
    if (after_ns == 0) {
        after_ns =
            p->retry_after ? 2 * p->retry_after : SHM_RETRY_FIRST_MS * SHM_MS;
        if (after_ns > RETRY_MAX_MS * SHM_MS)
            after_ns = RETRY_MAX_MS * SHM_MS;
        p->retry_after = after_ns;
    }
    p->state = SHM_WAITING;
    p->retry_at = p->ep->host->now_ns(p->ep->core) + after_ns;
    wf_shm_mark_busy(p);
}

bool wf_shm_dial_again(weft_peer *p)
{
    uint64_t now = p->ep->host->now_ns(p->ep->core);
    if (!p->shortage_since)
        p->shortage_since = now;
    if (now - p->shortage_since >= SHM_SHORTAGE_MAX_MS * SHM_MS)
        return false;
    wf_shm_dial_later(p, 0);
    return true;
}

/* Calls later, if the process may not have been started yet. */
static bool await_start(weft_peer *p)
{
    weft_ep *ep = p->ep;
    uint64_t now = ep->host->now_ns(ep->core), waited;
    if (!ep->start || p->was_up)
        return false;
    if (!p->absent_since)
        p->absent_since = now;
    waited = now - p->absent_since;
    if (waited >= ep->start)
        return false;
    if (!p->absence_logged && waited >= ABSENCE_LOGGED_MS * SHM_MS) {
        p->absence_logged = true;
        ep->host->log(ep->core, 1,
                      "process %u is not there yet; waiting up to %llu s more",
                      p->loc_id,
                      (unsigned long long)((ep->start - waited) / 1000000000));
    }
    wf_shm_dial_later(p, 0);
    return true;
}

/* Says whether an errno is a shortage that may soon be over. */
static bool is_passing_shortage(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOMEM || err == ENOBUFS ||
           err == EAGAIN;
}

const char *wf_shm_remedy_of(int err)
{
    return err == EMFILE   ? " (RLIMIT_NOFILE; raise ulimit -n)"
           : err == ENFILE ? " (raise fs.file-max)"
                           : "";
}

static int send_hello(struct shm_conn *c)
{
    weft_ep *ep = c->ep;
    unsigned char body[16 + WEFT_AUTH_MSG];
    size_t n = 0;
    c->loc_id = c->peer->loc_id;
    memcpy(body, c->peer->address.secret, 16);
    int rc = ep->host->auth_step(ep->core, &c->auth, NULL, 0, body + 16, &n,
                                 &c->loc_id);
    if (rc != WEFT_EAGAIN || n > WEFT_AUTH_MSG)
        return rc == WEFT_ENOMEM ? ENOMEM : EACCES;
    return wf_shm_message_send(c->watch.fd, SHM_HELLO, body, 16 + n, NULL, 0);
}

static void start_handshake(weft_peer *p, int fd)
{
    struct shm_maker maker;
    if (!wf_shm_same_user(fd, &maker)) {
        close(fd);
        wf_shm_fault(p, WEFT_ELINK,
                     "process %u is of user %u and this one of user %u, and "
                     "only one user's share memory: let the [route] of this "
                     "pair say use = tcp",
                     p->loc_id, maker.user, geteuid());
        return;
    }
    wf_shm_note_pid(p, &maker);
    struct shm_conn *c = wf_shm_conn_new(p->ep, fd, true);
    if (!c) {
        close(fd);
        if (!wf_shm_dial_again(p))
            wf_shm_fault(p, WEFT_ENOMEM,
                         "cannot call process %u: out of memory", p->loc_id);
        return;
    }
    c->peer = p;
    int err = send_hello(c);
    if (err && err != EPIPE) { /* EPIPE: a refusal may be there to be read */
        wf_shm_hang_up(c);
        if (is_passing_shortage(err) && wf_shm_dial_again(p))
            return;
        wf_shm_fault(p, err == ENOMEM ? WEFT_ENOMEM : WEFT_ELINK,
                     "cannot greet process %u (pid %u): %s", p->loc_id,
                     p->address.pid, strerror(err));
        return;
    }
    p->conn = c;
    p->state = SHM_DIALLED;
}

/* Ends the link to a process that has not come. A caller that was refused for
 * its user may have been that process. */
static void report_absence(weft_peer *p)
{
    unsigned long long seconds = p->ep->start / 1000000000;
    uid_t caller = p->ep->refused_user;
    if (caller == geteuid())
        wf_shm_fault(p, WEFT_ELINK,
                     "process %u has not come within %llu s "
                     "(core.start_timeout): does it run here, with the same "
                     "job, job key and [rank] sections?",
                     p->loc_id, seconds);
    else
        wf_shm_fault(p, WEFT_ELINK,
                     "process %u has not come within %llu s, but one of user "
                     "%u was refused: if that was it, let the [route] of this "
                     "pair say use = tcp",
                     p->loc_id, seconds, caller);
}

/* Handles a call that was not taken. */
static void handle_failed_call(weft_peer *p, int err)
{
    if (err == EAGAIN) {
        wf_shm_dial_later(p, 0);
        return;
    }
    if ((is_passing_shortage(err) && wf_shm_dial_again(p)) ||
        (err == ECONNREFUSED && await_start(p)))
        return;
    if (p->absent_since && !p->was_up)
        report_absence(p);
    else
        wf_shm_fault(p, WEFT_ELINK,
                     "process %u (pid %u) does not answer: %s; it has ended "
                     "or closed its endpoint",
                     p->loc_id, p->address.pid, strerror(err));
}

/* Starts a call. Progress reports its errors. */
void wf_shm_dial(weft_peer *p)
{
    struct sockaddr_un sa;
    socklen_t len = wf_shm_socket_name(&p->address, &sa);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        int lack = errno;
        if (is_passing_shortage(lack) && wf_shm_dial_again(p))
            return;
        wf_shm_fault(p, WEFT_ESYS, "no socket to call process %u: %s%s",
                     p->loc_id, strerror(lack), wf_shm_remedy_of(lack));
        return;
    }
    int rc;
    do {
        rc = connect(fd, (struct sockaddr *)&sa, len);
    } while (rc != 0 && errno == EINTR);
    if (rc == 0) {
        start_handshake(p, fd);
        return;
    }
    int err = errno;
    close(fd);
    handle_failed_call(p, err);
}
