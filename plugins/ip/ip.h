/* What the transports over IP share: addresses, the blob by which a process
 * publishes them, and which interfaces carry a job.
 *
 *   addr.c        text, blobs, which of a peer's addresses are worth trying
 *   interfaces.c  which of our own to use
 *
 * Compiled once, linked into each transport that needs it. Like a transport it
 * includes weft_transport.h and libc, and nothing else.
 *
 * THREADS  no state of its own.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_IP_H
#define WF_IP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "weft_transport.h"

enum {
    IP_ADDRS_MAX = 16, /* addresses one endpoint uses */
    IP_OWN_MAX = 64,
    IP_BLOB_HEAD = 12, /* version, count, spare, machine */
    IP_BLOB_MAX = IP_BLOB_HEAD + IP_ADDRS_MAX * 20
};

struct wf_ip_addr {
    uint8_t family; /* 4 or 6 */
    uint8_t prefix; /* bits of the subnet */
    uint16_t port;  /* host order */
    uint8_t ip[16];
};

struct wf_ip_book {   /* a decoded blob */
    uint64_t machine; /* 0: unknown (address written by hand) */
    int n;
    struct wf_ip_addr addr[IP_ADDRS_MAX];
};

struct wf_ip_interface { /* one address of ours that is in use */
    struct wf_ip_addr addr;
    char name[16];
    uint32_t mbs; /* link speed in MB/s, 0 unknown */
};

/* Where this process is. The caller sets the first part, wf_ip_choose() the
 * second. */
struct wf_ip_place {
    const weft_host *host;
    weft_core *core;
    const char *wanted; /* auto, or a list of names, addresses, subnets */
    bool one_host;
    bool automatic;   /* wanted is auto */
    uint64_t machine; /* wf_ip_machine() */

    int n;
    struct wf_ip_interface use[IP_ADDRS_MAX];
    int own_n; /* every address of this machine, chosen or not */
    struct wf_ip_addr own[IP_OWN_MAX];
};

enum wf_ip_rank { /* of a peer's address; lower is tried first */
    IP_LOOPBACK,
    IP_SUBNET,
    IP_ROUTED,
    IP_USELESS
};

struct wf_ip_candidate {
    struct wf_ip_addr to;
    int local; /* index of our interface in the same subnet or -1 */
    enum wf_ip_rank rank;
};

/* addr.c */
socklen_t wf_ip_to_sockaddr(const struct wf_ip_addr *,
                            struct sockaddr_storage *);
int wf_ip_from_sockaddr(const struct sockaddr *, struct wf_ip_addr *);
void wf_ip_name(const struct wf_ip_addr *, char *text, size_t n);
bool wf_ip_same(const struct wf_ip_addr *, const struct wf_ip_addr *);
bool wf_ip_same_subnet(const struct wf_ip_addr *net, const struct wf_ip_addr *);
bool wf_ip_loopback(const struct wf_ip_addr *);
bool wf_ip_link_local(const struct wf_ip_addr *);
uint64_t wf_ip_machine(void);
int wf_ip_pack(const struct wf_ip_book *, void *buf, size_t *len);
int wf_ip_unpack(const void *buf, size_t len, struct wf_ip_book *);
int wf_ip_candidates(const struct wf_ip_place *, const struct wf_ip_book *,
                     struct wf_ip_candidate *);
int wf_ip_parse(const struct wf_ip_place *, const char *text, void *buf,
                size_t *len);
uint16_t wf_ip_port(const char *text);
int wf_ip_print(const void *addr, size_t len, char *text, size_t n);

/* interfaces.c */
void wf_ip_place(struct wf_ip_place *, const weft_open *, const char *wanted);
int wf_ip_choose(struct wf_ip_place *);
int wf_ip_address(const struct wf_ip_place *, void *buf, size_t *len);
/* The socket bound to use[i] could not be had: leave it out. */
void wf_ip_drop(struct wf_ip_place *, int i);
/* The port that others are told to call, what the options say, or 0: any. */
uint16_t wf_ip_own_port(const weft_open *, int64_t option);

#endif
