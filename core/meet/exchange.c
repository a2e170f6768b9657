/* The exchange between the roots of two groups, until each knows the other's.
 *
 *   server                                  client
 *   waits for a proved link           <--   description of its group
 *   description of its group          -->
 *                                     <--   it has it
 *   the client is served                -->
 *
 * Until it has the description of the server the client may give up without any
 * trouble for the server, which then waits for the next one. Then it counts on
 * the server, and the server on it, as soon as each has the last message: both
 * have by then made all that they need to agree with each other. So a client
 * that has said that it has it waits for the answer, or for the end of the
 * link, whatever its limit of time.
 *
 * A server that lacks the memory to serve a client serves the next one that
 * waits. If there is none its call fails: the shortage may last as long as the
 * call does, and the members of its group wait for it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "boot/auth_inside.h"
#include "group/comm.h"
#include "meet/bridge.h"
#include "meet/port.h"
#include "object/error.h"
#include "object/error_class.h"
#include "progress/progress.h"
#include "protocol/death.h"
#include "protocol/endpoints.h"
#include "report/error.h"

enum { WORD = 4 };
static const unsigned char has_it[WORD] = "have", is_served[WORD] = "meet";

enum { LOOK_NS = 50000000 };

static void describe_accept(const void *arg, struct wf_wait *to)
{
    const struct wf_meeting *m = arg;

    to->operation = WF_STATE_ACCEPT;
    to->call = m->call;
    to->comm = m->shown;
}

static void describe_connect(const void *arg, struct wf_wait *to)
{
    const struct wf_meeting *m = arg;

    to->operation = WF_STATE_CONNECT;
    to->call = m->call;
    to->comm = m->shown;
}

static void set_cause(struct wf_meeting *m,
                      void (*describe)(const void *, struct wf_wait *))
{
    wf_port_name_show(m->name, m->shown);
    m->cause = (struct wf_wait_cause){describe, m};
}

/* Waits as wf_meet_wait does; MPI_Comm_join has no cause. */
static bool wait_for(struct wf_meet_state *s, const struct wf_meeting *m,
                     bool (*done)(void *), void *arg, uint64_t deadline)
{
    return wf_meet_wait(s, done, arg, deadline,
                        m->cause.describe ? &m->cause : NULL);
}

static bool has_come(void *arg)
{
    const struct wf_meet_link *l = arg;

    return l->framed || l->state == WF_LINK_OVER;
}

/* Waits for the next frame. False: none comes. */
static bool await_frame(struct wf_meet_state *s, const struct wf_meeting *m,
                        struct wf_meet_link *l, uint64_t deadline)
{
    wf_meet_serve_link(s, l);
    wait_for(s, m, has_come, l, deadline);
    return l->framed;
}

static bool is_flushed(void *arg)
{
    const struct wf_meet_link *l = arg;

    return wf_link_is_flushed(l) || l->state == WF_LINK_OVER;
}

/* Sends a frame. False: it has not left, and never will. */
static bool send_frame(struct wf_meet_state *s, const struct wf_meeting *m,
                       struct wf_meet_link *l, const void *bytes, size_t n)
{
    if (!wf_link_send(l, bytes, n))
        return false;
    wf_meet_serve_link(s, l);
    wait_for(s, m, is_flushed, l, 0);
    return wf_link_is_flushed(l);
}

/* Waits for one of the words. */
static bool await_word(struct wf_meet_state *s, const struct wf_meeting *m,
                       struct wf_meet_link *l, const unsigned char *word,
                       uint64_t deadline)
{
    const unsigned char *frame;
    size_t n;
    bool same;

    if (!await_frame(s, m, l, deadline))
        return false;
    frame = wf_link_frame(l, &n);
    same = n == WORD && memcmp(frame, word, n) == 0;
    wf_link_drop_frame(l);
    return same;
}

void wf_exchange_forget(struct wf_instance *home, struct wf_meeting *m)
{
    wf_bridge_free(m->bridge);
    m->bridge = NULL;
    wf_met_group_drop(home, &m->other);
}

int wf_exchange_adopt(struct wf_instance *home, struct wf_meeting *m)
{
    int rc = wf_describe_adopt(home, m->theirs, m->theirs_n, m->key, &m->other);

    if (rc != MPI_SUCCESS)
        return rc;
    m->bridge = wf_bridge_make(
        home, wf_group_proc(m->other.group, m->other.root), m->key);
    if (m->bridge)
        return MPI_SUCCESS;
    wf_exchange_forget(home, m);
    return MPI_ERR_NO_MEM;
}

/* Takes the description of the other group from the link. */
static int take_description(struct wf_instance *home, struct wf_meeting *m,
                            struct wf_meet_link *l)
{
    size_t n;
    const unsigned char *bytes = wf_link_frame(l, &n);
    unsigned char *copy = malloc(n ? n : 1);

    if (!copy)
        return wf_error(MPI_ERR_NO_MEM, "no memory for the remote group");
    memcpy(copy, bytes, n);
    wf_link_drop_frame(l);
    free(m->theirs);
    m->theirs = copy;
    m->theirs_n = n;
    memcpy(m->key, l->key, WF_TOKEN);
    return wf_exchange_adopt(home, m);
}

/* ---- server -------------------------------------------------------------- */

/* Gives the client the own group. False: it has gone, or is of no use; or this
 * process lacks memory, as the link says then. */
static bool serve_client(struct wf_meet_state *s, struct wf_meeting *m,
                         struct wf_meet_link *l)
{
    uint64_t deadline = wf_now(s->wf) + WF_LINK_HANDSHAKE_NS;
    int rc;

    wf_error_forget();
    rc = take_description(s->wf, m, l);
    l->starved |= rc == MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS && wf_link_send(l, m->mine, m->mine_n) &&
        await_word(s, m, l, has_it, deadline) &&
        send_frame(s, m, l, is_served, WORD))
        return true;
    wf_log(s->wf, WF_LOG_INFO, "a client at a port is skipped: %s",
           l->why                     ? l->why
           : wf_error_last()->text[0] ? wf_error_last()->text
                                      : "it did not answer");
    wf_exchange_forget(s->wf, m);
    return false;
}

struct waiting_client {
    struct wf_meet_state *s;
    struct wf_port *port;
    struct wf_comm *comm;
    struct wf_meet_link *link;
};

static bool may_stop_waiting(void *arg)
{
    struct waiting_client *w = arg;

    if (!w->link)
        w->link = wf_port_take(w->s, w->port);
    return w->link || w->port->closed || w->port->starved ||
           (w->comm->wf == w->s->wf && wf_comm_is_dead(w->comm));
}

static int fail_accept(const struct waiting_client *w, const char *why)
{
    char shown[WF_PORT_SHOWN];

    if (why)
        return wf_error(MPI_ERR_SPAWN, "%s", why);
    if (!w->port->closed && !w->port->starved)
        return wf_error_class(wf_comm_record_dead(w->comm));
    wf_port_name_show(w->port->name, shown);
    return w->port->closed
               ? wf_error(MPI_ERR_PORT, "port '%s' was closed", shown)
               : wf_error(MPI_ERR_NO_MEM,
                          "no memory or no descriptor for a caller at port "
                          "'%s'",
                          shown);
}

/* Waits for a client. Returns why there is none in *why, or NULL if the port or
 * the communicator says it. */
static bool await_client(struct waiting_client *w, const struct wf_meeting *m,
                         const char **why)
{
    *why = NULL;
    while (!*why && !wait_for(w->s, m, may_stop_waiting, w,
                              m->look ? wf_now(w->s->wf) + LOOK_NS : 0))
        *why = m->look(m->look_arg);
    return w->link != NULL;
}

int wf_exchange_accept(struct wf_instance *home, struct wf_meeting *m)
{
    struct wf_meet_state *s = wf_meet_state(home);
    struct waiting_client w = {s, s ? wf_port_find(s, m->name) : NULL, m->comm,
                               NULL};
    const char *why;
    int rc = MPI_SUCCESS;

    if (!w.port)
        return s ? wf_port_fail_unknown(m->name) : MPI_ERR_OTHER;
    set_cause(m, describe_accept);
    wf_port_get(w.port);
    w.port->starved = false;
    for (bool met = false; !met && rc == MPI_SUCCESS;) {
        w.link = NULL;
        if (!await_client(&w, m, &why)) {
            rc = fail_accept(&w, why);
            continue;
        }
        met = serve_client(s, m, w.link);
        w.port->starved |= w.link->starved;
        wf_meet_end_link(s, w.link);
    }
    wf_port_put(s, w.port);
    return rc;
}

/* ---- client -------------------------------------------------------------- */

/* Gives the server the own group, and takes its. */
static int meet_server(struct wf_meet_state *s, struct wf_meeting *m,
                       struct wf_meet_link *l, uint64_t deadline,
                       const char **why)
{
    int rc;

    *why = "nobody has accepted there in time";
    if (!wf_link_send(l, m->mine, m->mine_n) ||
        !await_frame(s, m, l, deadline)) {
        if (l->state == WF_LINK_OVER)
            *why = "it was closed, or its process has ended";
        return MPI_ERR_PORT;
    }
    rc = take_description(s->wf, m, l);
    if (rc != MPI_SUCCESS)
        return rc;
    *why = "its process has ended";
    return wf_link_send(l, has_it, WORD) && await_word(s, m, l, is_served, 0)
               ? MPI_SUCCESS
               : MPI_ERR_PORT;
}

/* Whether the link leads to another host, where the job's transports reach
 * processes of this one only. */
static bool leads_too_far(const struct wf_meet_state *s,
                          const struct wf_meet_link *l)
{
    return wf_endpoints_are_local(s->wf->rank) && wf_link_leaves_host(l);
}

static const char too_far[] =
    "it leads to another host, and the processes of this job can be reached on "
    "their own host only; core.meet = network in this job lets it meet jobs of "
    "other hosts";

static int fail_connect(const char *name, const char *why)
{
    char shown[WF_PORT_SHOWN];

    wf_port_name_show(name, shown);
    return wf_error(MPI_ERR_PORT, "port '%s': %s", shown, why);
}

int wf_exchange_connect(struct wf_instance *home, struct wf_meeting *m)
{
    struct wf_meet_state *s = wf_meet_state(home);
    uint64_t deadline = wf_now(home) + m->timeout;
    const char *why = NULL;
    struct wf_port_name is;
    struct wf_meet_link *l;
    int rc;

    if (!s)
        return MPI_ERR_OTHER;
    if (!wf_port_name_parse(m->name, &is))
        return fail_connect(m->name, "that is not the name of a port");
    set_cause(m, describe_connect);
    l = wf_port_dial(s, &is, deadline, &m->cause, &why);
    explicit_bzero(is.token, sizeof is.token);
    if (!l)
        return fail_connect(m->name, why);
    wf_error_forget();
    why = too_far;
    rc = leads_too_far(s, l) ? MPI_ERR_PORT
                             : meet_server(s, m, l, deadline, &why);
    wf_meet_end_link(s, l);
    if (rc == MPI_ERR_PORT && !wf_error_last()->text[0])
        fail_connect(m->name, why);
    return rc;
}

/* ---- join ---------------------------------------------------------------- */

int wf_exchange_fail_join(int fd, const char *why)
{
    return wf_error(MPI_ERR_OTHER, "MPI_Comm_join on descriptor %d: %s", fd,
                    why);
}

/* The side that dials is the client. */
static int meet_over(struct wf_meet_state *s, struct wf_meeting *m,
                     struct wf_meet_link *l, uint64_t deadline)
{
    const char *why = NULL;
    int rc;

    wf_meet_serve_link(s, l);
    wait_for(s, m, wf_link_is_decided, l, deadline);
    if (l->state != WF_LINK_OPEN)
        return wf_exchange_fail_join(
            m->fd, l->why ? l->why : "the other side is silent");
    if (leads_too_far(s, l))
        return wf_exchange_fail_join(m->fd, too_far);
    if (!l->dialled)
        rc = await_frame(s, m, l, deadline) && serve_client(s, m, l)
                 ? MPI_SUCCESS
                 : MPI_ERR_OTHER;
    else
        rc = meet_server(s, m, l, deadline, &why);
    if (rc != MPI_SUCCESS && !wf_error_last()->text[0])
        rc = wf_exchange_fail_join(m->fd, l->why ? l->why
                                                 : "the other side has failed");
    return rc == MPI_SUCCESS ? rc : wf_error_class(wf_error_last()->status);
}

int wf_exchange_over(struct wf_meet_state *s, struct wf_meeting *m,
                     struct wf_meet_link *l, uint64_t deadline)
{
    int rc;

    wf_error_forget();
    rc = meet_over(s, m, l, deadline);
    wf_meet_end_link(s, l);
    return rc;
}
