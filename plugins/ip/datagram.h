/* Datagram sockets whose errors are told: what ICMP reports about a datagram
 * comes back with the address that it was sent to, so that a process that has
 * ended is noticed at once, without a timer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_DATAGRAM_H
#define WF_IP_DATAGRAM_H

#include "ip.h"

/* Where datagrams of one link go. */
struct wf_ip_path {
    int socket; /* index */
    struct sockaddr_storage to;
    socklen_t to_len;
};

bool wf_ip_same_path(const struct wf_ip_path *, const struct wf_ip_path *);
/* Before bind: errors are told, no fragments, room for so many bytes. */
void wf_ip_datagram_tune(int fd, int family, size_t room);
uint32_t wf_ip_mtu(int fd, const char *interface);
/* Best effort, and once more if an error was about an earlier datagram: then
 * *errors is set. False only if there is no room now. */
bool wf_ip_datagram_put(int fd, const struct wf_ip_path *, const struct iovec *,
                        int n, bool *errors);
/* The sender becomes *from, in the form that compares. Bytes, or -1. */
ssize_t wf_ip_datagram_get(int fd, void *buf, size_t room,
                           struct wf_ip_path *from);
/* The next error that was told: about datagrams to there. 0: no more. */
int wf_ip_datagram_error(int fd, struct wf_ip_path *to);

#endif
