/* Associations of the kernel's SCTP: one-to-one sockets, by the kernel's own
 * interface (linux/sctp.h), without a library.
 *
 *   kernel.c             sockets: made, bound, connected, accepted, closed
 *   kernel_data.c        messages out and in, and notifications of the kernel
 *   association_setup.c  which association belongs to which link
 *
 * This interface knows nothing of peers and links.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCTP_KERNEL_H
#define WF_SCTP_KERNEL_H

#include "../ip/ip.h"
#include "stack.h"

enum { SCTP_MESSAGE_MAX = 1 << 16 };

struct wf_sctp_kernel_settings {
    const struct wf_ip_endpoint *ip;
    uint32_t window;    /* bytes kept for the peer */
    uint32_t room;      /* bytes that wait to be sent or acknowledged */
    uint32_t packet;    /* 0: what the path carries */
    uint64_t heartbeat; /* interval on each path, ns */
};

/* The part that has come of a message that the kernel delivers in parts. */
struct wf_sctp_part;

struct wf_sctp_sock {
    int fd;
    bool full;    /* the send buffer is set for control, not for bulk */
    bool forced;  /* SO_SNDBUFFORCE is allowed */
    bool blocked; /* a send found no room; the caller clears it */
    uint32_t room;
    uint32_t waits_for; /* events that epoll watches for */
    struct wf_sctp_part *part[SCTP_STREAMS];
    struct wf_ip_addr about; /* the address of the last SCTP_PATH event */
    bool works;              /* whether it works */
};

/* Tells whether the kernel has SCTP; if not, errno says why. */
bool wf_sctp_kernel_exists(void);
/* Returns a listening socket on all addresses in use, or -1. *port 0 means any,
 * and becomes the port of the socket. */
int wf_sctp_kernel_listen(const struct wf_sctp_kernel_settings *,
                          uint16_t *port);
/* Connects to a peer at these addresses without waiting. Returns a socket, or
 * -1. */
int wf_sctp_kernel_connect(const struct wf_sctp_kernel_settings *,
                           const struct wf_ip_addr *to, int n);
/* Accepts an association. Returns its socket, or -1 if there is none. */
int wf_sctp_kernel_accept(int listener, struct wf_ip_addr *from);
/* Returns NULL if there is no memory. The fd stays the caller's. */
struct wf_sctp_sock *wf_sctp_sock_new(int fd);
/* Frees the object, not its fd; NULL does nothing. */
void wf_sctp_sock_free(struct wf_sctp_sock *);
/* Closes an association; drops what is unsent and tells the peer. */
void wf_sctp_kernel_abort(int fd);
/* Makes headers go before payload; for an association that is up. */
void wf_sctp_kernel_rank_streams(struct wf_sctp_sock *);

/* These do what wf_sctp_user_send() and wf_sctp_user_receive() do. */
int wf_sctp_kernel_send(struct wf_sctp_sock *, const struct wf_sctp_message *,
                        const void *data, bool bulk);
enum wf_sctp_event wf_sctp_kernel_receive(struct wf_sctp_sock *, void *buf,
                                          size_t room,
                                          struct wf_sctp_message *);
/* Returns the bytes in the send buffer, with the kernel's overhead for them. */
uint32_t wf_sctp_kernel_unacked(const struct wf_sctp_sock *);
/* Returns how many chunks the association has sent again. */
uint64_t wf_sctp_kernel_retransmissions(const struct wf_sctp_sock *);

#endif
