/* The associations of a peer.
 *
 * There are as many as the option `associations` says, and more where that
 * helps (spread.c). The first carries the headers, and all carry payload. A
 * stream is always on the same association, so whatever needs an order has that
 * of one association. Each has a congestion window of its own: a lost packet
 * halves one of them instead of the only one, which makes several associations
 * faster, and unfair to others.
 *
 * Both sides open theirs when the link opens. Where the other side has more,
 * the rest are opened here when their first packet comes: nothing has to be
 * agreed upon.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sctp.h"

enum { WINDOW_PACKETS = 4 /* at least */ };

uint32_t wf_sctp_share_of(uint32_t all, uint32_t parts, uint32_t least)
{
    return all / parts < least ? least : all / parts;
}

static struct wf_sctp_assoc *add_user_assoc(weft_peer *p, int number)
{
    uint32_t share =
        number < p->assocs_needed ? (uint32_t)p->assocs_needed : ASSOCS_MAX;
    struct wf_sctp_user_settings setup = {
        .mtu = p->packet,
        .check = p->check,
        .window = wf_sctp_share_of(p->ep->calls.room, share,
                                   p->packet * WINDOW_PACKETS),
        .room = wf_sctp_share_of(SCTP_SEND_ROOM, share, SCTP_SEND_MIN)};
    struct wf_sctp_assoc *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->peer = p;
    s->number = (uint8_t)number;
    s->user.ctx = s;
    s->user.output = wf_sctp_send_packet;
    if (wf_sctp_user_open(&s->user, &setup) < 0) {
        free(s);
        return NULL;
    }
    p->assoc[number] = s;
    return s;
}

int wf_sctp_assocs_open(weft_peer *p)
{
    p->assocs_needed = (int)p->ep->cfg.associations;
    p->spread = (struct wf_sctp_spread){.now = p->assocs_needed};
    p->assocs_up = 0;
    p->unread = 0;
    for (int i = 0; i < p->assocs_needed; i++)
        if (!add_user_assoc(p, i)) {
            wf_sctp_assocs_close(p);
            return WEFT_ENOMEM;
        }
    return WEFT_OK;
}

/* Closes an association of the kernel; that of a broken link drops what is
 * unsent. */
static void close_kernel_assoc(const weft_peer *p, struct wf_sctp_assoc *s)
{
    if (p->ip.state == PEER_BROKEN || !p->up)
        wf_sctp_kernel_abort(s->sock->fd);
    else
        close(s->sock->fd);
    wf_sctp_sock_free(s->sock);
}

uint64_t wf_sctp_assocs_retransmissions(const weft_peer *p)
{
    uint64_t n = 0;

    for (int i = 0; i < ASSOCS_MAX; i++) {
        struct wf_sctp_assoc *s = p->assoc[i];
        if (s)
            n += s->sock ? wf_sctp_kernel_retransmissions(s->sock)
                         : wf_sctp_user_retransmissions(&s->user);
    }
    return n;
}

void wf_sctp_assocs_close(weft_peer *p)
{
    p->ep->count.retransmissions += wf_sctp_assocs_retransmissions(p);
    for (int i = 0; i < ASSOCS_MAX; i++) {
        struct wf_sctp_assoc *s = p->assoc[i];
        if (!s)
            continue;
        if (s->sock)
            close_kernel_assoc(p, s);
        else
            wf_sctp_user_close(&s->user);
        free(s);
        p->assoc[i] = NULL;
    }
}

int wf_sctp_assoc_send(struct wf_sctp_assoc *s, const struct wf_sctp_message *m,
                       const void *data, bool bulk)
{
    return s->sock ? wf_sctp_kernel_send(s->sock, m, data, bulk)
                   : wf_sctp_user_send(&s->user, m, data, bulk);
}

enum wf_sctp_event wf_sctp_assoc_receive(struct wf_sctp_assoc *s,
                                         struct wf_sctp_message *m)
{
    uint8_t *to = s->peer->ep->message;

    return s->sock ? wf_sctp_kernel_receive(s->sock, to, SCTP_RBUF, m)
                   : wf_sctp_user_receive(&s->user, to, SCTP_RBUF, m);
}

static uint32_t unacked_bytes_of(struct wf_sctp_assoc *s)
{
    return s->sock ? wf_sctp_kernel_unacked(s->sock)
                   : wf_sctp_user_unacked(&s->user);
}

struct wf_sctp_assoc *wf_sctp_assoc_get(weft_peer *p, uint32_t number)
{
    if (number >= ASSOCS_MAX)
        return NULL;
    return p->assoc[number] ? p->assoc[number] : add_user_assoc(p, (int)number);
}

void wf_sctp_assoc_mark_up(struct wf_sctp_assoc *s)
{
    weft_peer *p = s->peer;

    if (s->up)
        return;
    s->up = true;
    if (s->number < p->assocs_needed && ++p->assocs_up == p->assocs_needed)
        wf_sctp_link_up(p);
}

uint32_t wf_sctp_unacked_bytes(weft_peer *p)
{
    uint32_t n = 0;

    for (int i = 0; i < ASSOCS_MAX; i++)
        n += p->assoc[i] ? unacked_bytes_of(p->assoc[i]) : 0;
    return n;
}

bool wf_sctp_awaits_ack(const weft_peer *p)
{
    bool owed = !p->up;

    for (int i = 0; i < ASSOCS_MAX && !owed; i++)
        owed = p->assoc[i] && !p->assoc[i]->sock &&
               wf_sctp_user_awaits_ack(&p->assoc[i]->user);
    return owed;
}

void wf_sctp_assocs_make_room(weft_peer *p)
{
    for (int i = 0; i < ASSOCS_MAX; i++)
        if (p->assoc[i] && !p->assoc[i]->sock)
            wf_sctp_user_make_room(&p->assoc[i]->user);
}
