/* Chooses the stack that carries a link: the kernel's, or libusrsctp inside
 * UDP.
 *
 * Each side offers in the handshake what it has: the port of its listener in
 * the kernel, whether libusrsctp is there, how many associations it wants. Both
 * draw the same conclusion. Where the kernels have SCTP but the network between
 * them lets none of it pass, the dialler finds out and goes over to UDP, and
 * the listener notices it by the first packet that comes there. The listener
 * has sent nothing by then (association_setup.c), so nothing is lost.
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
    OFFER_ASSOCIATIONS = 17, /* shift; the number less one */
    PACKET_ROOM = 64,        /* for the heads of the protocol in a packet */
    FRAGMENT = 16 << 10
};

/* ---- the own stacks ------------------------------------------------------ */

int wf_sctp_find_stacks(weft_ep *ep)
{
    char why[300] = "";
    int error;

    ep->kernel = ep->cfg.stack != STACK_LIBRARY && wf_sctp_kernel_exists();
    error = errno;
    if (ep->cfg.stack != STACK_KERNEL)
        ep->joined = wf_sctp_stack_enter(why, sizeof why) == WEFT_OK;
    if (ep->kernel || ep->joined)
        return WEFT_OK;
    if (ep->cfg.stack == STACK_KERNEL)
        ep->ip.host->log(ep->ip.core, 0,
                         "no SCTP here: this kernel has none: %s",
                         strerror(error));
    else
        ep->ip.host->log(
            ep->ip.core, 0,
            "no SCTP here: the library for it cannot be used: %s%s%s", why,
            ep->cfg.stack == STACK_AUTO ? "; and this kernel has none: " : "",
            ep->cfg.stack == STACK_AUTO ? strerror(error) : "");
    return WEFT_ENOTSUP;
}

void wf_sctp_log_stacks(weft_ep *ep)
{
    ep->ip.host->log(ep->ip.core, 2, "SCTP here: %s",
                     ep->kernel && ep->joined
                         ? "of the kernel; libusrsctp where a peer has no other"
                     : ep->kernel ? "of the kernel"
                                  : "libusrsctp, inside UDP");
}

void wf_sctp_make_offer(weft_ep *ep)
{
    ep->calls.offer = ep->kernel_port | (ep->joined ? OFFER_LIBRARY : 0) |
                      (uint32_t)(ep->cfg.associations - 1)
                          << OFFER_ASSOCIATIONS;
}

/* ---- the common stack ---------------------------------------------------- */

static const char *name_stacks(uint32_t offer)
{
    return offer & OFFER_LIBRARY ? "libusrsctp only"
                                 : "that of its kernel only";
}

static int wanted_assocs(uint32_t offer)
{
    return (int)(offer >> OFFER_ASSOCIATIONS & (ASSOCS_MAX - 1)) + 1;
}

/* Sets the size of a fragment, which fills a packet, or several short ones.
 * Half a fragment on every stream must not fill the window of the peer: none
 * would ever become complete. The kernel delivers messages in part, so there is
 * no such limit. */
static void set_fragment(weft_peer *p)
{
    uint32_t share = p->kernel ? UINT32_MAX : p->room / (2 * BULK_STREAMS);
    uint32_t n = share < FRAGMENT ? share : FRAGMENT;
    uint32_t packet = p->packet - PACKET_ROOM;

    p->fragment = n > packet ? n : packet;
}

int wf_sctp_agree_on_stack(weft_peer *p, const struct wf_ip_call *c)
{
    weft_ep *ep = p->ep;
    uint32_t own = ep->calls.offer, theirs = c->offer;
    int more = wanted_assocs(theirs);

    p->room = c->room;
    p->dialled = c->dialled;
    p->salt = c->salt;
    p->kernel = (own & OFFER_PORT) && (theirs & OFFER_PORT);
    p->kernel_port = (uint16_t)(theirs & OFFER_PORT);
    p->library = own & theirs & OFFER_LIBRARY;
    p->to_connect = wanted_assocs(own) > more ? wanted_assocs(own) : more;
    set_fragment(p);
    if (p->kernel || p->library)
        return WEFT_OK;
    wf_ip_break_link(
        &p->ip, WEFT_ELINK, "no common SCTP: process %u has %s, and here is %s",
        p->ip.id, name_stacks(theirs),
        own & OFFER_LIBRARY ? "libusrsctp only" : "that of the kernel only");
    return WEFT_ELINK;
}

/* ---- going over to UDP --------------------------------------------------- */

static int open_inside_udp(weft_peer *p)
{
    wf_sctp_assocs_close(p);
    p->kernel = false;
    set_fragment(p);
    return wf_sctp_assocs_open(p);
}

void wf_sctp_fall_back_to_udp(weft_peer *p, const char *why)
{
    if (!p->library) {
        wf_ip_break_link(&p->ip, WEFT_ELINK,
                         "SCTP of the kernel does not reach process %u: %s",
                         p->ip.id, why);
        return;
    }
    p->ep->ip.host->log(
        p->ep->ip.core, 1,
        "SCTP of the kernel does not reach process %u (%s); its "
        "packets go inside UDP",
        p->ip.id, why);
    if (open_inside_udp(p) < 0)
        wf_ip_break_link(&p->ip, WEFT_ENOMEM, "out of memory");
}

bool wf_sctp_follow_to_udp(weft_peer *p)
{
    for (int i = 0; i < ASSOCS_MAX; i++)
        if (p->assoc[i] && p->assoc[i]->set_up)
            return false; /* the peer has identified itself there */
    return p->kernel && !p->dialled && p->library && open_inside_udp(p) == 0;
}
