/* Which stack carries a link: the kernel's, or libusrsctp inside UDP.
 *
 * Each side says in its words of the handshake what it has: the port of its
 * listener in the kernel, whether libusrsctp is there, how many associations it
 * wants. Both draw the same conclusion. Where the kernels have SCTP and what is
 * between them lets none of it pass, the dialler finds out and goes over to
 * UDP, and the listener notices by the first packet that comes there; it has sent
 * nothing by then (meet.c), so nothing is lost.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sctp.h"

enum {
    OFFER_PORT = 0xffff, /* 0: the kernel has no SCTP, or it is not wanted */
    OFFER_LIBRARY = 1 << 16,
    OFFER_ASSOCIATIONS = 17, /* shift; one less than there are */
    PACKET_ROOM = 64,        /* heads of the protocol in a packet */
    FRAGMENT = 16 << 10
};

/* ---- what is here -------------------------------------------------------- */

/* The library need not be there where the kernel has SCTP. */
int wf_sctp_stacks(weft_ep *ep)
{
    char why[300] = "";
    int error;

    ep->kernel = ep->cfg.stack != STACK_LIBRARY && wf_sctp_kernel_here();
    error = errno;
    if (ep->cfg.stack != STACK_KERNEL)
        ep->joined = wf_sctp_enter(why, sizeof why) == WEFT_OK;
    if (ep->kernel || ep->joined)
        return WEFT_OK;
    if (ep->cfg.stack == STACK_KERNEL)
        ep->host->log(ep->core, 0, "no SCTP here: this kernel has none: %s",
                      strerror(error));
    else
        ep->host->log(
            ep->core, 0,
            "no SCTP here: the library for it cannot be used: %s%s%s", why,
            ep->cfg.stack == STACK_AUTO ? "; and this kernel has none: " : "",
            ep->cfg.stack == STACK_AUTO ? strerror(error) : "");
    return WEFT_ENOTSUP;
}

void wf_sctp_tell(weft_ep *ep)
{
    ep->host->log(ep->core, 2, "SCTP here: %s",
                  ep->kernel && ep->joined
                      ? "of the kernel; libusrsctp where a peer has no other"
                  : ep->kernel ? "of the kernel"
                               : "libusrsctp, inside UDP");
}

void wf_sctp_offer(weft_ep *ep)
{
    ep->calls.offer = ep->kernel_port | (ep->joined ? OFFER_LIBRARY : 0) |
                      (uint32_t)(ep->cfg.associations - 1)
                          << OFFER_ASSOCIATIONS;
}

/* ---- what both have ------------------------------------------------------ */

static const char *stacks_of(uint32_t offer)
{
    return offer & OFFER_LIBRARY ? "libusrsctp only"
                                 : "that of its kernel only";
}

static int associations(uint32_t offer)
{
    return (int)(offer >> OFFER_ASSOCIATIONS & (STRANDS - 1)) + 1;
}

/* A fragment fills a packet, or several short ones; but those of all streams,
 * each half there, must not fill the window of the peer: none would ever be
 * whole. The kernel shows messages of which it has only a part. */
static void set_fragment(weft_peer *p)
{
    uint32_t share = p->kernel ? UINT32_MAX : p->room / (2 * BULK);
    uint32_t n = share < FRAGMENT ? share : FRAGMENT;
    uint32_t packet = p->packet - PACKET_ROOM;

    p->fragment = n > packet ? n : packet;
}

int wf_sctp_agree(weft_peer *p, const struct wf_ip_call *c)
{
    weft_ep *ep = p->ep;
    uint32_t mine = ep->calls.offer, his = c->offer;
    int more = associations(his);

    p->room = c->room;
    p->dialled = c->dialled;
    p->salt = c->salt;
    p->kernel = (mine & OFFER_PORT) && (his & OFFER_PORT);
    p->kernel_port = (uint16_t)(his & OFFER_PORT);
    p->library = mine & his & OFFER_LIBRARY;
    p->calls = associations(mine) > more ? associations(mine) : more;
    set_fragment(p);
    if (p->kernel || p->library)
        return WEFT_OK;
    wf_sctp_link_break(
        p, WEFT_ELINK, "no common SCTP: process %u has %s, and here is %s",
        p->party.id, stacks_of(his),
        mine & OFFER_LIBRARY ? "libusrsctp only" : "that of the kernel only");
    return WEFT_ELINK;
}

/* ---- the way back -------------------------------------------------------- */

static int open_inside_udp(weft_peer *p)
{
    wf_sctp_strands_close(p);
    p->kernel = false;
    set_fragment(p);
    return wf_sctp_strands_open(p);
}

void wf_sctp_fall_back(weft_peer *p, const char *why)
{
    if (!p->library) {
        wf_sctp_link_break(p, WEFT_ELINK,
                           "SCTP of the kernel does not reach process %u: %s",
                           p->party.id, why);
        return;
    }
    p->ep->host->log(p->ep->core, 1,
                     "SCTP of the kernel does not reach process %u (%s); its "
                     "packets go inside UDP",
                     p->party.id, why);
    if (open_inside_udp(p) < 0)
        wf_sctp_link_break(p, WEFT_ENOMEM, "out of memory");
}

bool wf_sctp_follow(weft_peer *p)
{
    for (int i = 0; i < STRANDS; i++)
        if (p->strand[i] && p->strand[i]->met)
            return false; /* he has proven himself there */
    return p->kernel && !p->dialled && p->library && open_inside_udp(p) == 0;
}
