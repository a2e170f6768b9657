/* Associations of the kernel's SCTP: one-to-one sockets, through its own
 * interface (linux/sctp.h); no library.
 *
 *   kernel.c       sockets: made, bound, connected, accepted, closed
 *   kernel_data.c  messages out and in, and what the kernel has to say
 *   meet.c         which of them belongs to which link
 *
 * Nothing here knows peers or links.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_KERNEL_H
#define WF_SCTP_KERNEL_H

#include "../ip/ip.h"
#include "stack.h"

enum { SCTP_MESSAGE_MAX = 1 << 16 };

struct wf_sctp_kernel_setup {
    const struct wf_ip_place *ip;
    uint32_t window;    /* bytes kept for the peer */
    uint32_t room;      /* bytes that wait to be sent, or for an answer */
    uint32_t packet;    /* 0: what the path carries */
    uint64_t heartbeat; /* of each path, ns */
};

struct wf_sctp_part; /* of a message that the kernel shows in pieces */

struct wf_sctp_sock {
    int fd;
    bool full;    /* the send buffer is set for control, not for bulk */
    bool forced;  /* we may have more buffer than others */
    bool blocked; /* had no room; to be cleared when it has */
    uint32_t room;
    uint32_t waits_for; /* events that epoll was told to look for */
    struct wf_sctp_part *part[SCTP_STREAMS];
    struct wf_ip_addr about; /* SCTP_PATH: this address */
    bool works;              /*            works, or does not */
};

/* Has the kernel SCTP? If not, errno says why. */
bool wf_sctp_kernel_here(void);
/* A socket on all addresses in use, or -1. *port 0: any; becomes its own. */
int wf_sctp_kernel_listen(const struct wf_sctp_kernel_setup *, uint16_t *port);
/* Calls these addresses, and does not wait for the outcome. */
int wf_sctp_kernel_connect(const struct wf_sctp_kernel_setup *,
                           const struct wf_ip_addr *to, int n);
/* Who has called, or -1: nobody. */
int wf_sctp_kernel_accept(int listener, struct wf_ip_addr *from);
/* NULL: no memory; fd stays the caller's. */
struct wf_sctp_sock *wf_sctp_sock_new(int fd);
void wf_sctp_sock_free(struct wf_sctp_sock *); /* not the fd; NULL is fine */
/* What is unsent is dropped, and the peer told. */
void wf_sctp_kernel_abort(int fd);
/* It is up: headers go before payload. */
void wf_sctp_kernel_rank(struct wf_sctp_sock *);

/* As wf_sctp_send() and wf_sctp_receive(), which see. */
int wf_sctp_kernel_send(struct wf_sctp_sock *, const struct wf_sctp_message *,
                        const void *data, bool bulk);
enum wf_sctp_event wf_sctp_kernel_receive(struct wf_sctp_sock *, void *buf,
                                          size_t room,
                                          struct wf_sctp_message *);
uint32_t wf_sctp_kernel_unacked(const struct wf_sctp_sock *);

#endif
