/* The ports of a rank, and the links by which roots meet.
 *
 *   source --> epoll --> listening sockets of ports, sockets of links
 *
 * A link whose peer has not proved yet that it has the token counts against
 * CALLERS_MAX of its port; more stay in the kernel's queue. A proved one waits
 * until it is accepted, or until its peer hangs up.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "meet/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "object/error.h"
#include "progress/wait.h"

enum { EVENTS = 64, CALLERS_MAX = 256, BACKLOG = 1024, FAILURES_MAX = 40 };
#define PAUSE_NS 50000000u

/* ---- the event source ---------------------------------------------------- */

static struct wf_meet_state *state_of(wf_source_object *object)
{
    return (struct wf_meet_state *)(void *)object;
}

static void watch_fd(struct wf_meet_state *s, int op, int fd, uint32_t events,
                     void *item)
{
    struct epoll_event e = {.events = events, .data = {.ptr = item}};

    (void)epoll_ctl(s->epoll, op, fd, &e);
}

/* Ask for room in the socket as long as something waits for it. */
static void update_interest(struct wf_meet_state *s, struct wf_meet_link *l)
{
    bool room = l->state == WF_LINK_CALLING || !wf_link_is_flushed(l);
    bool over = l->state == WF_LINK_OVER;

    if (over)
        watch_fd(s, EPOLL_CTL_MOD, l->fd, 0, l);
    else if (room != l->watches_room)
        watch_fd(s, EPOLL_CTL_MOD, l->fd, EPOLLIN | (room ? EPOLLOUT : 0u), l);
    l->watches_room = room;
}

static bool is_unproved(const struct wf_meet_link *l)
{
    return l->state == WF_LINK_CALLED || l->state == WF_LINK_DOUBTED;
}

void wf_meet_serve_link(struct wf_meet_state *s, struct wf_meet_link *l)
{
    bool unproved = is_unproved(l);

    if (l->state != WF_LINK_OVER)
        wf_link_serve(s->wf, l);
    if (unproved && !is_unproved(l) && l->port)
        l->port->callers--;
    update_interest(s, l);
}

void wf_meet_end_link(struct wf_meet_state *s, struct wf_meet_link *l)
{
    if (is_unproved(l) && l->port)
        l->port->callers--;
    watch_fd(s, EPOLL_CTL_DEL, l->fd, 0, NULL);
    wf_list_remove(&l->link);
    wf_link_free(l);
}

bool wf_meet_add_link(struct wf_meet_state *s, struct wf_meet_link *l)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data = {.ptr = l}};

    l->watches_room = true;
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, l->fd, &e) != 0) {
        wf_error(MPI_ERR_OTHER, "a connection cannot be watched: %s",
                 strerror(errno));
        wf_link_free(l);
        return false;
    }
    wf_list_append(&s->links, &l->link);
    return true;
}

static void add_caller(struct wf_meet_state *s, struct wf_port *port, int fd)
{
    struct wf_meet_link *l = wf_link_create(fd, port->is.token, WF_LINK_CALLED);

    port->starved = true;
    if (!l) {
        close(fd);
        return;
    }
    wf_link_set_options(fd);
    l->until = wf_now(s->wf) + WF_LINK_HANDSHAKE_NS;
    l->port = port;
    if (!wf_meet_add_link(s, l))
        return;
    port->starved = false;
    port->callers++;
    wf_meet_serve_link(s, l);
}

static void pause_port(struct wf_meet_state *s, struct wf_port *port)
{
    port->paused = true;
    port->resume_at = wf_now(s->wf) + PAUSE_NS;
    watch_fd(s, EPOLL_CTL_MOD, port->fd, 0, &port->link);
}

static int accept_callers(struct wf_meet_state *s, struct wf_port *port)
{
    int n = 0, fd;

    while (port->callers < CALLERS_MAX) {
        fd = accept4(port->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            port->failures = 0;
            add_caller(s, port, fd);
        } else if (errno != EINTR && errno != ECONNABORTED)
            break;
        n++;
    }
    if (port->callers >= CALLERS_MAX) {
        pause_port(s, port);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
               errno == ENOBUFS) {
        port->starved |= ++port->failures > FAILURES_MAX;
        pause_port(s, port);
    }
    return n;
}

static void resume_ports(struct wf_meet_state *s)
{
    for (struct wf_list *l = s->ports.next; l != &s->ports; l = l->next) {
        struct wf_port *port = wf_container(l, struct wf_port, link);
        if (!port->paused || wf_now(s->wf) < port->resume_at)
            continue;
        port->paused = false;
        watch_fd(s, EPOLL_CTL_MOD, port->fd, EPOLLIN, &port->link);
    }
}

/* End the links at ports that are over, or took too long; nobody else looks at
 * them. */
static void end_stale_links(struct wf_meet_state *s)
{
    uint64_t now = wf_now(s->wf);

    for (struct wf_list *at = s->links.next, *next; at != &s->links;
         at = next) {
        struct wf_meet_link *l = wf_container(at, struct wf_meet_link, link);
        next = at->next;
        if (l->until && l->state != WF_LINK_OPEN && now >= l->until)
            wf_meet_serve_link(s, l);
        if (l->state == WF_LINK_OVER && l->port) {
            wf_log(s->wf, WF_LOG_INFO, "a caller at a port is refused: %s",
                   l->why);
            l->port->starved |= l->starved;
            wf_meet_end_link(s, l);
        }
    }
}

/* A port is watched by its list node, a link by itself; they are told apart by
 * looking for the port. */
static struct wf_port *port_of_item(struct wf_meet_state *s, const void *item)
{
    for (struct wf_list *l = s->ports.next; l != &s->ports; l = l->next)
        if (l == item)
            return wf_container(l, struct wf_port, link);
    return NULL;
}

static int poll_meet(wf_source_object *object, int budget)
{
    struct wf_meet_state *s = state_of(object);
    struct epoll_event e[EVENTS];
    int n = epoll_wait(s->epoll, e, EVENTS, 0), done = 0;

    for (int i = 0; i < n; i++) {
        struct wf_port *port = port_of_item(s, e[i].data.ptr);
        if (port)
            done += accept_callers(s, port);
        else
            wf_meet_serve_link(s, e[i].data.ptr);
        done++;
    }
    resume_ports(s);
    end_stale_links(s);
    return done;
}

static void note_deadline(uint64_t *first, uint64_t at)
{
    if (at && (!*first || at < *first))
        *first = at;
}

/* A call that waits. */
struct wait {
    struct wf_list link;
    struct wf_meet_state *s;
    bool (*done)(void *);
    void *arg;
    uint64_t deadline;
};

static int arm_meet(wf_source_object *object, uint64_t *deadline)
{
    struct wf_meet_state *s = state_of(object);
    uint64_t first = 0;

    for (struct wf_list *at = s->waits.next; at != &s->waits; at = at->next)
        note_deadline(&first, wf_container(at, struct wait, link)->deadline);
    for (struct wf_list *at = s->links.next; at != &s->links; at = at->next) {
        struct wf_meet_link *l = wf_container(at, struct wf_meet_link, link);
        if (l->state != WF_LINK_OPEN && l->state != WF_LINK_OVER)
            note_deadline(&first, l->until);
    }
    for (struct wf_list *at = s->ports.next; at != &s->ports; at = at->next) {
        struct wf_port *port = wf_container(at, struct wf_port, link);
        if (port->paused)
            note_deadline(&first, port->resume_at);
    }
    if (first)
        *deadline = first;
    return WEFT_OK;
}

/* ---- the state ----------------------------------------------------------- */

static void free_port(struct wf_meet_state *s, struct wf_port *port)
{
    for (struct wf_list *at = s->links.next, *next; at != &s->links;
         at = next) {
        struct wf_meet_link *l = wf_container(at, struct wf_meet_link, link);
        next = at->next;
        if (l->port == port)
            wf_meet_end_link(s, l);
    }
    wf_list_remove(&port->link);
    if (port->fd >= 0) {
        watch_fd(s, EPOLL_CTL_DEL, port->fd, 0, NULL);
        close(port->fd);
    }
    explicit_bzero(port, sizeof *port);
    free(port);
}

static void free_state(struct wf_meet *base)
{
    struct wf_meet_state *s = (struct wf_meet_state *)base;

    if (s->parent)
        wf_comm_take_back(s->parent, &s->parent_kept);
    while (!wf_list_empty(&s->ports))
        free_port(s, wf_container(s->ports.next, struct wf_port, link));
    while (!wf_list_empty(&s->links))
        wf_meet_end_link(
            s, wf_container(s->links.next, struct wf_meet_link, link));
    wf_source_remove(s->wf, &s->source);
    close(s->epoll);
    free(s);
}

static struct wf_meet_state *create_state(struct wf_instance *wf)
{
    struct wf_meet_state *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->base.free = free_state;
    s->wf = wf;
    wf_list_init(&s->ports);
    wf_list_init(&s->links);
    wf_list_init(&s->waits);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->source =
        (struct wf_event_source){.name = "ports",
                                 .object = (wf_source_object *)(void *)s,
                                 .poll = poll_meet,
                                 .arm = arm_meet,
                                 .fd = s->epoll};
    if (s->epoll >= 0 && wf_source_add(wf, &s->source, WF_SOURCE_BIT_ANY) == 0)
        return s;
    if (s->epoll >= 0)
        close(s->epoll);
    free(s);
    return NULL;
}

struct wf_meet_state *wf_meet_state(struct wf_instance *wf)
{
    struct wf_instance *home = wf_home(wf);

    if (!home->rank->meet) {
        struct wf_meet_state *s = create_state(home);
        if (!s) {
            wf_error(MPI_ERR_OTHER, "no memory or no descriptor for a port: %s",
                     strerror(errno));
            return NULL;
        }
        home->rank->meet = &s->base;
    }
    return (struct wf_meet_state *)home->rank->meet;
}

static bool is_wait_over(void *arg)
{
    const struct wait *w = arg;

    return w->done(w->arg) || (w->deadline && wf_now(w->s->wf) >= w->deadline);
}

bool wf_meet_wait(struct wf_meet_state *s, bool (*done)(void *), void *arg,
                  uint64_t deadline, const struct wf_wait_cause *cause)
{
    struct wait w = {{0}, s, done, arg, deadline};

    wf_list_append(&s->waits, &w.link);
    wf_progress_wait(s->wf, UINT32_MAX, is_wait_over, &w, cause);
    wf_list_remove(&w.link);
    return done(arg);
}

void wf_meet_drive(struct wf_instance *home, bool (*done)(void *), void *arg,
                   uint64_t deadline)
{
    wf_progress_poll_until(home, -1, done, arg, deadline);
}

bool wf_meet_await_fd(struct wf_instance *home, int fd, uint64_t deadline)
{
    return wf_progress_poll_until(home, fd, NULL, NULL, deadline);
}

/* ---- ports --------------------------------------------------------------- */

struct wf_port *wf_port_find(struct wf_meet_state *s, const char *name)
{
    for (struct wf_list *l = s->ports.next; l != &s->ports; l = l->next) {
        struct wf_port *port = wf_container(l, struct wf_port, link);
        if (!port->closed && strcmp(port->name, name) == 0)
            return port;
    }
    return NULL;
}

void wf_port_get(struct wf_port *port)
{
    port->users++;
}

void wf_port_put(struct wf_meet_state *s, struct wf_port *port)
{
    if (--port->users == 0 && port->closed)
        free_port(s, port);
}

struct wf_meet_link *wf_port_take(struct wf_meet_state *s, struct wf_port *port)
{
    for (struct wf_list *at = s->links.next; at != &s->links; at = at->next) {
        struct wf_meet_link *l = wf_container(at, struct wf_meet_link, link);
        if (l->port == port && l->state == WF_LINK_OPEN && l->framed) {
            l->port = NULL;
            return l;
        }
    }
    return NULL;
}

void wf_port_end(struct wf_meet_state *s, struct wf_port *port)
{
    port->closed = true;
    if (port->users == 0) {
        free_port(s, port);
        return;
    }
    watch_fd(s, EPOLL_CTL_DEL, port->fd, 0, NULL);
    close(port->fd);
    port->fd = -1;
    if (s->wf->api.on)
        wf_progress_notify(s->wf);
}

bool wf_port_begin(struct wf_meet_state *s, struct wf_port *port)
{
    struct epoll_event e = {.events = EPOLLIN, .data = {.ptr = &port->link}};

    if (listen(port->fd, BACKLOG) != 0 ||
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, port->fd, &e) != 0)
        return false;
    wf_list_append(&s->ports, &port->link);
    return true;
}
