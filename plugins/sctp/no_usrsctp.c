/* Takes the place of stack.c, user_assoc.c and user_packet.c where there was no
 * usrsctp.h to build against. wf_sctp_stack_enter() refuses and says why, and
 * no link ever calls the other functions.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#if !__has_include(<usrsctp.h>)
#include <stdio.h>

#include "stack.h"
#include "weft_transport.h"

int wf_sctp_stack_enter(char *why, size_t n)
{
    snprintf(why, n,
             "this transport was built without usrsctp.h (Debian: apt-get "
             "install libusrsctp-dev, then build again)");
    return WEFT_ENOTSUP;
}

void wf_sctp_stack_leave(void)
{
}

void wf_sctp_stack_lock(void)
{
}

void wf_sctp_stack_unlock(void)
{
}

void wf_sctp_stack_tick(uint64_t now)
{
}

int wf_sctp_user_open(struct wf_sctp_user_assoc *a,
                      const struct wf_sctp_user_settings *s)
{
    return WEFT_ENOTSUP;
}

void wf_sctp_user_close(struct wf_sctp_user_assoc *a)
{
}

bool wf_sctp_user_input(struct wf_sctp_user_assoc *a, const void *packet,
                        size_t n)
{
    return true;
}

int wf_sctp_user_send(struct wf_sctp_user_assoc *a,
                      const struct wf_sctp_message *m, const void *data,
                      bool bulk)
{
    return WEFT_ELINK;
}

enum wf_sctp_event wf_sctp_user_receive(struct wf_sctp_user_assoc *a, void *buf,
                                        size_t room, struct wf_sctp_message *m)
{
    return SCTP_DOWN;
}

uint32_t wf_sctp_user_unacked(struct wf_sctp_user_assoc *a)
{
    return 0;
}

bool wf_sctp_user_awaits_ack(struct wf_sctp_user_assoc *a)
{
    return false;
}

uint32_t wf_sctp_user_take_retransmitted(struct wf_sctp_user_assoc *a)
{
    return 0;
}

uint64_t wf_sctp_user_retransmissions(struct wf_sctp_user_assoc *a)
{
    return 0;
}

uint32_t wf_sctp_user_rtt_ms(struct wf_sctp_user_assoc *a)
{
    return 0;
}

void wf_sctp_user_make_room(struct wf_sctp_user_assoc *a)
{
}
#endif
