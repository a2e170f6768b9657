/* The ports of a rank, and the links by which roots meet: one event source
 * serves them all.
 *
 * LOCK  the API section of the first engine.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MEET_PORTS_H
#define WF_MEET_PORTS_H

#include "group/comm.h"
#include "meet/link.h"
#include "process/event_source.h"
#include "process/rank.h"

struct wf_wait_cause;

struct wf_port {
    struct wf_list link; /* of the rank's ports */
    int fd;              /* listens */
    /* A caller was turned away for want of memory or a descriptor here. */
    bool starved;
    int failures;        /* to accept a caller, since the last success */
    bool paused;         /* no descriptor for callers: until `resume_at` */
    uint64_t resume_at;
    unsigned callers; /* without proof */
    unsigned users;   /* calls that accept here */
    bool closed;      /* freed when the last of them has left */
    struct wf_port_name is;
    char name[MPI_MAX_PORT_NAME];
};

/* The state of this chapter in a rank. */
struct wf_meet_state {
    struct wf_meet base; /* must be first */
    struct wf_instance *wf;
    int epoll;
    struct wf_event_source source;
    struct wf_list ports, links, waits;
    struct wf_comm *parent; /* of wf_parent_set, until its end; or NULL */
    struct wf_comm_kept parent_kept;
};

/* Returns the state of the rank, which is made if there is none. NULL, with the
 * cause recorded: it lacks memory or a descriptor. */
struct wf_meet_state *wf_meet_state(struct wf_instance *);

/* Listen at a port whose socket is bound, and has a name. False: errno says
 * why not. */
bool wf_port_begin(struct wf_meet_state *, struct wf_port *);
/* End a port. Calls that use it see that it is closed. */
void wf_port_end(struct wf_meet_state *, struct wf_port *);
/* Find the port with this name, or NULL. */
struct wf_port *wf_port_find(struct wf_meet_state *, const char *name);
/* Begin and end the use of a port by a call. */
void wf_port_get(struct wf_port *);
void wf_port_put(struct wf_meet_state *, struct wf_port *);

/* Take the first link at a port whose peer is proved and has sent a frame.
 * NULL: there is none. It stays served until wf_meet_end_link. */
struct wf_meet_link *wf_port_take(struct wf_meet_state *, struct wf_port *);

/* Serve a link. False, with the cause recorded: it cannot be watched; it is
 * freed. */
bool wf_meet_add_link(struct wf_meet_state *, struct wf_meet_link *);
/* Serve it at once, and ask for what it waits for. */
void wf_meet_serve_link(struct wf_meet_state *, struct wf_meet_link *);
/* End a link that was taken or added. */
void wf_meet_end_link(struct wf_meet_state *, struct wf_meet_link *);
/* Wait until done(arg), or until the deadline (0: never): false. The cause is
 * for the state page (report/state.h), or NULL. */
bool wf_meet_wait(struct wf_meet_state *, bool (*done)(void *), void *arg,
                  uint64_t deadline, const struct wf_wait_cause *);

/* Drive progress until done(arg), or until the deadline, or until a descriptor
 * becomes readable (false: the deadline came first). */
void wf_meet_drive(struct wf_instance *home, bool (*done)(void *), void *arg,
                   uint64_t deadline);
bool wf_meet_await_fd(struct wf_instance *home, int fd, uint64_t deadline);

#endif
