/* The associations of a peer.
 *
 * There are as many as `associations` says, and more where that helps (spread.c).
 * The first carries the headers, and
 * all carry payload: that of a stream always the same one, so the order of what
 * needs one is that of one association. Each has a congestion window of its
 * own. A lost packet halves one of them instead of all there is, which is what
 * more than one association is good for, and what is unfair about it.
 *
 * Both sides make theirs when the link opens. Where the other has more, the rest
 * are made here when their first packet comes: nothing has to be agreed upon.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sctp.h"

enum { WINDOW_PACKETS = 4 /* at least */ };

uint32_t wf_sctp_share(uint32_t all, uint32_t parts, uint32_t least)
{
    return all / parts < least ? least : all / parts;
}

static struct wf_sctp_strand *add(weft_peer *p, int number)
{
    uint32_t share = number < p->strands ? (uint32_t)p->strands : STRANDS;
    struct wf_sctp_setup setup = {
        .mtu = p->packet,
        .check = p->check,
        .window =
            wf_sctp_share(p->ep->calls.room, share, p->packet * WINDOW_PACKETS),
        .room = wf_sctp_share(SCTP_SEND_ROOM, share, SCTP_SEND_MIN)};
    struct wf_sctp_strand *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->peer = p;
    s->number = (uint8_t)number;
    s->assoc.ctx = s;
    s->assoc.output = wf_sctp_output;
    if (wf_sctp_open(&s->assoc, &setup) < 0) {
        free(s);
        return NULL;
    }
    p->strand[number] = s;
    return s;
}

int wf_sctp_strands_open(weft_peer *p)
{
    p->strands = (int)p->ep->cfg.associations;
    p->spread = (struct wf_sctp_spread){.now = p->strands};
    p->strands_up = 0;
    p->unread = 0;
    for (int i = 0; i < p->strands; i++)
        if (!add(p, i)) {
            wf_sctp_strands_close(p);
            return WEFT_ENOMEM;
        }
    return WEFT_OK;
}

/* A link that is broken leaves nothing to be sent. */
static void close_kernel(const weft_peer *p, struct wf_sctp_strand *s)
{
    if (p->party.state == PARTY_BROKEN || !p->up)
        wf_sctp_kernel_abort(s->sock->fd);
    else
        close(s->sock->fd);
    wf_sctp_sock_free(s->sock);
}

void wf_sctp_strands_close(weft_peer *p)
{
    for (int i = 0; i < STRANDS; i++) {
        struct wf_sctp_strand *s = p->strand[i];
        if (!s)
            continue;
        if (s->sock)
            close_kernel(p, s);
        else
            wf_sctp_close(&s->assoc);
        free(s);
        p->strand[i] = NULL;
    }
}

int wf_sctp_strand_send(struct wf_sctp_strand *s,
                        const struct wf_sctp_message *m, const void *data,
                        bool bulk)
{
    return s->sock ? wf_sctp_kernel_send(s->sock, m, data, bulk)
                   : wf_sctp_send(&s->assoc, m, data, bulk);
}

enum wf_sctp_event wf_sctp_strand_receive(struct wf_sctp_strand *s,
                                          struct wf_sctp_message *m)
{
    uint8_t *to = s->peer->ep->message;

    return s->sock ? wf_sctp_kernel_receive(s->sock, to, SCTP_RBUF, m)
                   : wf_sctp_receive(&s->assoc, to, SCTP_RBUF, m);
}

static uint32_t unacked(struct wf_sctp_strand *s)
{
    return s->sock ? wf_sctp_kernel_unacked(s->sock)
                   : wf_sctp_assoc_unacked(&s->assoc);
}

struct wf_sctp_strand *wf_sctp_strand_at(weft_peer *p, uint32_t number)
{
    if (number >= STRANDS)
        return NULL;
    return p->strand[number] ? p->strand[number] : add(p, (int)number);
}

void wf_sctp_strand_up(struct wf_sctp_strand *s)
{
    weft_peer *p = s->peer;

    if (s->up)
        return;
    s->up = true;
    if (s->number < p->strands && ++p->strands_up == p->strands)
        wf_sctp_up(p);
}

uint32_t wf_sctp_unacked(weft_peer *p)
{
    uint32_t n = 0;

    for (int i = 0; i < STRANDS; i++)
        n += p->strand[i] ? unacked(p->strand[i]) : 0;
    return n;
}

bool wf_sctp_owed(const weft_peer *p)
{
    bool owed = !p->up;

    for (int i = 0; i < STRANDS && !owed; i++)
        owed = p->strand[i] && !p->strand[i]->sock &&
               wf_sctp_assoc_owed(&p->strand[i]->assoc);
    return owed;
}

void wf_sctp_strands_tend(weft_peer *p)
{
    for (int i = 0; i < STRANDS; i++)
        if (p->strand[i] && !p->strand[i]->sock)
            wf_sctp_make_room(&p->strand[i]->assoc);
}
