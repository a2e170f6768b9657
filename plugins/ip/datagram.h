/* Datagram sockets that report errors: an ICMP error about a datagram comes
 * back with the address that the datagram was sent to, so that the end of a
 * process is noticed at once, without a timer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_DATAGRAM_H
#define WF_IP_DATAGRAM_H

#include "ip.h"

/* The way that the datagrams of one link take. */
struct wf_ip_path {
    int socket; /* index of the endpoint's socket */
    struct sockaddr_storage to;
    socklen_t to_len;
};

/* Compares the peer's addresses, not the sockets. */
bool wf_ip_is_same_path(const struct wf_ip_path *, const struct wf_ip_path *);

/* Prepares a socket before it is bound: it reports errors, sends no fragments,
 * and has buffers of `room` bytes, as far as the system allows. */
void wf_ip_datagram_tune(int fd, int family, size_t room);

uint32_t wf_ip_mtu(int fd, const char *interface);

/* Sends a datagram, best effort. An error may be about an earlier datagram:
 * then it tries again, and sets *errors. Returns false only if the socket has
 * no room now. */
bool wf_ip_datagram_send(int fd, const struct wf_ip_path *,
                         const struct iovec *, int n, bool *errors);

/* Receives a datagram. Returns its bytes, or -1 with errno; *from gets the
 * sender in normal form, so that wf_ip_is_same_path can compare it. */
ssize_t wf_ip_datagram_receive(int fd, void *buf, size_t room,
                           struct wf_ip_path *from);

/* Returns the next error that the socket reports; *to gets the destination of
 * the datagram that caused it. 0: there is no more. */
int wf_ip_datagram_error(int fd, struct wf_ip_path *to);

#endif
