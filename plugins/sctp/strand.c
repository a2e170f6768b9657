/* The associations of a peer.
 *
 * There are as many as `associations` says. The first carries the headers, and
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

#include "sctp.h"

enum {
    SEND_ROOM = 4 << 20, /* of all together */
    SEND_MIN = 512 << 10,
    WINDOW_PACKETS = 4 /* at least */
};

static uint32_t at_least(uint32_t n, uint32_t least)
{
    return n < least ? least : n;
}

static struct wf_sctp_strand *add(weft_peer *p, int number)
{
    uint32_t share = number < p->strands ? (uint32_t)p->strands : STRANDS;
    struct wf_sctp_setup setup = {
        .mtu = p->packet,
        .check = p->check,
        .window = at_least(p->ep->calls.room / share,
                           p->packet * WINDOW_PACKETS),
        .room = at_least(SEND_ROOM / share, SEND_MIN)};
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
    p->strands_up = 0;
    p->unread = 0;
    for (int i = 0; i < p->strands; i++)
        if (!add(p, i)) {
            wf_sctp_strands_close(p);
            return WEFT_ENOMEM;
        }
    return WEFT_OK;
}

void wf_sctp_strands_close(weft_peer *p)
{
    for (int i = 0; i < STRANDS; i++) {
        if (!p->strand[i])
            continue;
        wf_sctp_close(&p->strand[i]->assoc);
        free(p->strand[i]);
        p->strand[i] = NULL;
    }
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

    if (s->up || s->number >= p->strands)
        return;
    s->up = true;
    if (++p->strands_up == p->strands)
        wf_sctp_up(p);
}

uint32_t wf_sctp_unacked(weft_peer *p)
{
    uint32_t n = 0;

    for (int i = 0; i < p->strands; i++)
        n += wf_sctp_assoc_unacked(&p->strand[i]->assoc);
    return n;
}

void wf_sctp_strands_tend(weft_peer *p)
{
    for (int i = 0; i < STRANDS; i++)
        if (p->strand[i])
            wf_sctp_make_room(&p->strand[i]->assoc);
}
