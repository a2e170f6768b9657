/* Two processes that share a connected socket meet (MPI-5.0 s11.10.5).
 *
 *   each side   magic, 32 random bytes      -->  the token is the XOR of both
 *               then as at a port: the side with the lesser bytes dials
 *
 * No byte is read that does not belong to this, and none is left unread, so
 * the program may use the socket before and afterwards.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "boot/auth_inside.h"
#include "config/config.h"
#include "core_api.h"
#include "group/comm.h"
#include "meet/members.h"
#include "object/error.h"

enum { MAGIC = 8, SAID = MAGIC + WF_TOKEN };
static const char magic[MAGIC] = "weftjoin";

/* The first words of both sides. */
struct words {
    int fd, error;
    unsigned char mine[SAID], theirs[SAID];
    size_t sent, got;
};

static bool have_words_passed(void *arg)
{
    struct words *w = arg;
    ssize_t n = 0;

    if (w->sent < SAID) {
        n = send(w->fd, w->mine + w->sent, SAID - w->sent,
                 MSG_DONTWAIT | MSG_NOSIGNAL);
        w->sent += n > 0 ? (size_t)n : 0;
    }
    if (n < 0 && !wf_link_error_is_temporary(errno))
        w->error = errno;
    if (w->got < SAID) {
        n = recv(w->fd, w->theirs + w->got, SAID - w->got, MSG_DONTWAIT);
        w->got += n > 0 ? (size_t)n : 0;
        if (n == 0 || (n < 0 && !wf_link_error_is_temporary(errno)))
            w->error = n == 0 ? EPIPE : errno;
    }
    return w->error || (w->sent == SAID && w->got == SAID);
}

/* Exchanges random bytes: an error text, or NULL. */
static const char *exchange_words(struct wf_instance *home, struct words *w,
                                  uint64_t deadline)
{
    memcpy(w->mine, magic, MAGIC);
    if (wf_auth_fill_random(w->mine + MAGIC, WF_TOKEN) != WEFT_OK)
        return "the system has no random bytes";
    while (!have_words_passed(w))
        if (!wf_meet_await_fd(home, w->fd, deadline))
            return "the other process does not call it";
    if (w->error)
        return strerror(w->error);
    if (memcmp(w->theirs, magic, MAGIC) != 0)
        return "the other side has sent something else";
    return memcmp(w->mine, w->theirs, SAID) == 0
               ? "both ends of the socket are of this call"
               : NULL;
}

static int join_by_words(struct wf_meet_state *s, struct wf_meeting *m,
                         const struct words *w, uint64_t deadline)
{
    unsigned char token[WF_TOKEN];
    bool dials = memcmp(w->mine, w->theirs, SAID) < 0;
    struct wf_meet_link *l;

    for (int i = 0; i < WF_TOKEN; i++)
        token[i] = w->mine[MAGIC + i] ^ w->theirs[MAGIC + i];
    l = wf_link_create(m->fd, token, dials ? WF_LINK_CALLING : WF_LINK_CALLED);
    explicit_bzero(token, sizeof token);
    if (!l)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a connection");
    l->own_fd = false;
    l->dialled = dials;
    l->until = deadline;
    if (!wf_meet_add_link(s, l))
        return MPI_ERR_OTHER;
    return wf_exchange_over(s, m, l, deadline);
}

int wf_exchange_join(struct wf_instance *home, struct wf_meeting *m)
{
    struct wf_meet_state *s = wf_meet_state(home);
    uint64_t deadline = wf_now(home) + m->timeout;
    struct words w = {.fd = m->fd};
    const char *why;
    int rc;

    if (!s)
        return MPI_ERR_OTHER;
    why = exchange_words(home, &w, deadline);
    rc = why ? wf_exchange_fail_join(m->fd, why)
             : join_by_words(s, m, &w, deadline);
    explicit_bzero(&w, sizeof w);
    return rc;
}

int wf_mpi_comm_join(struct wf_instance *wf, int fd, MPI_Comm *intercomm)
{
    struct wf_instance *home = wf_home(wf);
    struct wf_meeting m = {.exchange = wf_exchange_join,
                           .fd = fd,
                           .timeout = wf->rank->options->connect_timeout};
    int type;
    socklen_t n = sizeof type;

    *intercomm = MPI_COMM_NULL;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) != 0 ||
        type != SOCK_STREAM)
        return wf_exchange_fail_join(fd, "it is not a connected stream socket");
    return wf_meet(home->self, 0, &m, intercomm);
}
