/* From the proof of identity to the rings.
 *
 *   the listener finds the caller
 *     unknown                   host->locate makes the peer
 *     called by me meanwhile    the call that host->call_stands says
 *     connected already         it must notice the old end first: LATER
 *     else                      makes the segment, sends SETUP, awaits READY
 *
 * A descriptor that arrives is accepted only if it is sealed memory of the
 * right size, so that nothing that a peer does later can fault this process.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include "shm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { CROSSED_RETRY_MS = 1000 };

void wf_shm_refuse_on(int fd, uint32_t code, const char *why)
{
    unsigned char body[SHM_BODY];
    size_t n = strlen(why);
    if (n > sizeof body - 4)
        n = sizeof body - 4;
    memcpy(body, &code, 4);
    memcpy(body + 4, why, n);
    wf_shm_message_send(fd, SHM_REFUSE, body, 4 + n, NULL, 0);
}

/* Tells a caller why it is refused, and ends the connection. */
void wf_shm_refuse(struct shm_conn *c, uint32_t code, const char *why)
{
    wf_shm_refuse_on(c->watch.fd, code, why);
    wf_shm_hang_up(c);
}

static bool is_shortage(uint32_t code)
{
    return code == SHM_NO_FILES || code == SHM_NO_MEMORY;
}

static uint32_t refusal_code_of(const struct shm_message *m)
{
    uint32_t code = SHM_NEVER;
    if (m->len >= 4)
        memcpy(&code, m->body, 4);
    return code;
}

void wf_shm_report_refusal(weft_peer *p, const struct shm_message *m)
{
    uint32_t code = refusal_code_of(m);
    wf_shm_fault(p,
                 code == SHM_NO_FILES    ? WEFT_ESYS
                 : code == SHM_NO_MEMORY ? WEFT_ENOMEM
                                         : WEFT_ELINK,
                 "process %u (pid %u) refused the call: %.*s", p->loc_id,
                 p->address.pid, m->len > 4 ? m->len - 4 : 0,
                 (const char *)m->body + 4);
}

bool wf_shm_handle_refusal(struct shm_conn *c, const struct shm_message *m)
{
    weft_peer *p = c->peer;
    uint32_t code = refusal_code_of(m);
    wf_shm_hang_up(c);
    if (code == SHM_CROSSED)
        wf_shm_dial_later(p, CROSSED_RETRY_MS * SHM_MS);
    else if (code == SHM_LATER)
        wf_shm_dial_later(p, 0);
    else if (!is_shortage(code) || !wf_shm_dial_again(p))
        wf_shm_report_refusal(p, m);
    return false;
}

/* ---- bells ------------------------------------------------------------- */

static uint32_t assign_bell_byte(weft_peer *p)
{
    weft_ep *ep = p->ep;
    for (uint32_t i = 0; i < SHM_BELL_BYTES; i++) {
        if (ep->byte_owner[i])
            continue;
        ep->byte_owner[i] = p;
        if (i >= ep->byte_top)
            ep->byte_top = i + 1;
        return i;
    }
    return SHM_BELL_BYTES;
}

static int send_setup(weft_peer *p, int fd, unsigned type)
{
    weft_ep *ep = p->ep;
    struct shm_setup setup = {.geometry = p->geometry,
                              .byte = p->its_byte,
                              .flags = ep->barrier ? SHM_BARRIER : 0};
    int fds[SHM_FDS] = {ep->page_memory, ep->bell.fd, p->memory};
    return wf_shm_message_send(fd, type, &setup, sizeof setup, fds,
                               type == SHM_SETUP ? 3 : 2);
}

/* Takes over page and bell of the other side. Returns 0, EPROTO, or the errno
 * of a page that cannot be mapped. */
static int take_bell(weft_peer *p, const struct shm_setup *setup, int *fds)
{
    if (fds[0] < 0 || fds[1] < 0 || !wf_shm_is_memory_ok(fds[0], SHM_PAGE))
        return EPROTO;
    p->page = wf_shm_map_memory(fds[0], SHM_PAGE);
    if (!p->page)
        return errno;
    p->bell = fds[1];
    fds[1] = -1;
    p->out.page = p->page;
    p->my_byte = setup->byte;
    p->rung = 0;
    /* No fence is needed if it sleeps with membarrier and reaches my
     * threads. */
    p->out.fence = !((setup->flags & SHM_BARRIER) && p->ep->registered);
    return 0;
}

static bool parse_setup(const struct shm_message *m, struct shm_setup *setup)
{
    if (m->len != sizeof *setup)
        return false;
    memcpy(setup, m->body, sizeof *setup);
    return true;
}

/* Makes the connection that of its peer. */
static void become_peer_socket(struct shm_conn *c)
{
    weft_peer *p = c->peer;
    int fd = c->watch.fd;
    struct epoll_event e = {.events = EPOLLIN | EPOLLRDHUP,
                            .data = {.ptr = &p->watch}};
    int err = epoll_ctl(p->ep->epoll, EPOLL_CTL_MOD, fd, &e) ? errno : 0;
    c->watch.fd = -1;
    p->conn = NULL;
    wf_shm_hang_up(c);
    wf_shm_link_up(p, fd);
    if (err)
        wf_shm_fault(p, WEFT_ELINK, "cannot watch process %u: %s", p->loc_id,
                     strerror(err));
}

static bool fail_handshake(struct shm_conn *c, const char *what)
{
    weft_peer *p = c->peer;
    wf_shm_hang_up(c);
    wf_shm_fault(p, WEFT_ELINK, "process %u (pid %u) %s", p->loc_id,
                 p->address.pid, what);
    return false;
}

/* Ends the handshake because memory of the other side cannot be mapped here.
 * The other side is told so. */
static bool fail_mapping(struct shm_conn *c, const char *what, int err)
{
    weft_peer *p = c->peer;
    char why[128];
    snprintf(why, sizeof why, "cannot map %s: %s", what, strerror(err));
    wf_shm_refuse(c, SHM_NEVER, why);
    wf_shm_fault(p, wf_shm_shortage_status(err), "process %u: %s", p->loc_id,
                 why);
    return false;
}

static bool fail_bell(struct shm_conn *c, int err)
{
    return err == EPROTO ? fail_handshake(c, "sent no usable bell page")
                         : fail_mapping(c, "its bell page", err);
}

/* Dialler: maps what the listener has made, and answers. */
bool wf_shm_handle_setup(struct shm_conn *c, const struct shm_message *m,
                         int *fds)
{
    weft_peer *p = c->peer;
    struct shm_setup setup;
    if (!parse_setup(m, &setup) || !wf_shm_geometry_ok(&setup.geometry) ||
        !wf_shm_is_memory_ok(fds[2], shm_segment_bytes(&setup.geometry)))
        return fail_handshake(c, "sent no usable segment");
    int err = wf_shm_attach(p, fds[2], &setup.geometry, 0);
    if (err)
        return fail_mapping(c, "its segment", err);
    fds[2] = -1;
    err = take_bell(p, &setup, fds);
    if (err)
        return fail_bell(c, err);
    p->its_byte = assign_bell_byte(p);
    if (send_setup(p, c->watch.fd, SHM_READY) != 0) {
        p->state = SHM_IDLE;
        wf_shm_end_connection(p, WEFT_ELINK); /* closes the socket, too */
        if (!wf_shm_dial_again(p))
            wf_shm_fault(p, WEFT_ELINK,
                         "process %u (pid %u) cannot be sent my "
                         "page and bell",
                         p->loc_id, p->address.pid);
        return false;
    }
    become_peer_socket(c);
    return false;
}

void wf_shm_resend_ready(weft_peer *p)
{
    if (send_setup(p, p->watch.fd, SHM_READY) != 0)
        wf_shm_fault(p, WEFT_ELINK,
                     "process %u (pid %u) cannot be sent my page "
                     "and bell",
                     p->loc_id, p->address.pid);
}

/* Listener: finishes the handshake, since the dialler has mapped everything. */
bool wf_shm_handle_ready(struct shm_conn *c, const struct shm_message *m,
                         int *fds)
{
    struct shm_setup setup;
    if (!parse_setup(m, &setup))
        return fail_handshake(c, "sent a malformed answer");
    int err = take_bell(c->peer, &setup, fds);
    if (err)
        return fail_bell(c, err);
    become_peer_socket(c);
    return false;
}

/* ---- the listener's decision ------------------------------------------- */

/* Finds the peer that calls, or NULL. *rc is WEFT_ENOMEM if there is no memory
 * for it. */
static weft_peer *find_caller(struct shm_conn *c, int *rc)
{
    weft_ep *ep = c->ep;
    weft_peer *p = wf_shm_peer_find(ep, c->loc_id);
    if (p || c->loc_id == ep->loc_id || !ep->host->locate)
        return p;
    *rc = ep->host->locate(ep->core, c->loc_id);
    return wf_shm_peer_find(ep, c->loc_id);
}

/* Makes the segment of the pair and sends it to the dialler. */
static void offer_segment(struct shm_conn *c, weft_peer *p)
{
    weft_ep *ep = p->ep;
    const struct shm_geometry *g = &ep->geometry;
    char why[128];
    int fd = wf_shm_make_memory("weft-shm", shm_segment_bytes(g),
                                shm_reserved_bytes(g));
    int err = fd < 0 ? -fd : wf_shm_attach(p, fd, g, 1);
    if (err) {
        if (fd >= 0)
            close(fd);
        snprintf(why, sizeof why,
                 "cannot reserve %u bytes of shared memory "
                 "(memfd) for the pair: %s",
                 shm_reserved_bytes(g), strerror(err));
        wf_shm_refuse(c, SHM_NEVER, why);
        wf_shm_fault(p, wf_shm_shortage_status(err), "process %u: %s",
                     p->loc_id, why);
        return;
    }
    struct shm_maker maker;
    if (wf_shm_same_user(c->watch.fd, &maker))
        wf_shm_note_pid(p, &maker);
    p->its_byte = assign_bell_byte(p);
    c->peer = p;
    p->conn = c;
    p->state = SHM_CALLED;
    if (send_setup(p, c->watch.fd, SHM_SETUP) != 0) {
        wf_shm_hang_up(c);
        p->state = SHM_IDLE;
        wf_shm_end_connection(p, WEFT_ELINK);
        if (p->out.want)
            wf_shm_dial_later(p, SHM_MS);
    }
}

/* Tells whether the call to a peer survives that calls, too. */
static bool call_stands(const weft_peer *p)
{
    const weft_ep *ep = p->ep;

    return WEFT_HAS(ep->host, weft_host, call_stands)
               ? ep->host->call_stands(ep->core, p->loc)
               : ep->loc_id < p->loc_id;
}

/* Decides about a caller that the key handshake has identified. */
void wf_shm_handle_proof(struct shm_conn *c)
{
    int rc = WEFT_OK;
    weft_peer *p = find_caller(c, &rc);
    if (!p && rc == WEFT_ENOMEM) {
        wf_shm_refuse(c, SHM_NO_MEMORY, strerror(ENOMEM));
        return;
    }
    if (!p) {
        wf_shm_refuse(c, SHM_NEVER, "it has no route by shared memory to me");
        return;
    }
    if (p->fault) {
        wf_shm_refuse(c, SHM_NEVER, "the link is going down");
        return;
    }
    switch (p->state) {
    case SHM_DIALLED: /* simultaneous: one call survives */
        if (call_stands(p)) {
            wf_shm_refuse(c, SHM_CROSSED, "my call stands");
            return;
        }
        wf_shm_hang_up(p->conn);
        offer_segment(c, p);
        return;
    case SHM_IDLE:
    case SHM_WAITING:
        offer_segment(c, p);
        return;
    case SHM_CALLED:
    case SHM_UP:
        wf_shm_refuse(c, SHM_LATER, "the old connection has not ended yet");
        return;
    case SHM_DOWN:
        wf_shm_refuse(c, SHM_NEVER, "the link is down");
        return;
    }
}
