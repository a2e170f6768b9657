/* This file decides which names and addresses mean this host, without asking a
 * resolver: its own name, the addresses of its interfaces, and what /etc/hosts
 * says of a name.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "hosts.h"
#include "os/hosts.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET)
        return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static bool is_equal(const union address *a, const struct sockaddr *b)
{
    if (!b || a->any.sa_family != b->sa_family)
        return false;
    if (b->sa_family == AF_INET)
        return a->v4.sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return b->sa_family == AF_INET6 &&
           IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr,
                              &((const struct sockaddr_in6 *)(const void *)b)
                                   ->sin6_addr);
}

static bool is_own_address(const union address *a)
{
    struct ifaddrs *all = NULL;
    bool found = is_loopback(a);

    if (!found && getifaddrs(&all) == 0) {
        for (struct ifaddrs *i = all; i && !found; i = i->ifa_next)
            found = is_equal(a, i->ifa_addr);
        freeifaddrs(all);
    }
    return found;
}

/* Returns whether this is the host's own name, in full or up to the first dot
 * if only one of the two has more. */
static bool is_own_name(const char *name)
{
    char own[256] = "";
    size_t head = strcspn(name, "."), own_head;

    (void)gethostname(own, sizeof(own) - 1);
    if (strcasecmp(name, own) == 0)
        return true;
    own_head = strcspn(own, ".");
    return (!name[head] || !own[own_head]) && head == own_head &&
           strncasecmp(name, own, head) == 0;
}

bool wf_host_is_here(const char *name, size_t n)
{
    char text[256];
    union address a;
    size_t len = sizeof a;

    if (n >= sizeof text)
        return false;
    memcpy(text, name, n);
    text[n] = '\0';
    if (strcasecmp(text, "localhost") == 0 || is_own_name(text))
        return true;
    return wf_hosts_lookup(text, 0, &a, &len) == 0 && is_own_address(&a);
}
