/* The protocol where its library's header was not there to build against:
 * nothing but the reason. wf_sctp_enter() refuses, and no link ever comes to
 * the other functions.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if !__has_include(<usrsctp.h>)
#include <stdio.h>

#include "stack.h"
#include "weft_transport.h"

int wf_sctp_enter(char *why, size_t n)
{
    snprintf(why, n,
             "this transport was built without usrsctp.h (Debian: apt-get "
             "install libusrsctp-dev, then build again)");
    return WEFT_ENOTSUP;
}

void wf_sctp_leave(void)
{
}

void wf_sctp_lock(void)
{
}

void wf_sctp_unlock(void)
{
}

void wf_sctp_tick(uint64_t now)
{
}

int wf_sctp_open(struct wf_sctp_assoc *a, const struct wf_sctp_setup *s)
{
    return WEFT_ENOTSUP;
}

void wf_sctp_close(struct wf_sctp_assoc *a)
{
}

bool wf_sctp_input(struct wf_sctp_assoc *a, const void *packet, size_t n)
{
    return true;
}

int wf_sctp_send(struct wf_sctp_assoc *a, const struct wf_sctp_message *m,
                 const void *data, bool bulk)
{
    return WEFT_ELINK;
}

enum wf_sctp_event wf_sctp_receive(struct wf_sctp_assoc *a, void *buf,
                                   size_t room, struct wf_sctp_message *m)
{
    return SCTP_DOWN;
}

uint32_t wf_sctp_assoc_unacked(struct wf_sctp_assoc *a)
{
    return 0;
}

bool wf_sctp_assoc_owed(struct wf_sctp_assoc *a)
{
    return false;
}

uint32_t wf_sctp_assoc_repeated(struct wf_sctp_assoc *a)
{
    return 0;
}

uint32_t wf_sctp_assoc_rtt_ms(struct wf_sctp_assoc *a)
{
    return 0;
}

void wf_sctp_make_room(struct wf_sctp_assoc *a)
{
}
#endif
