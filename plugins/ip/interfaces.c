/* Chooses the interfaces that an endpoint uses.
 *
 * DESIGN  An endpoint listens on each chosen address, never on the wildcard.
 * `auto` chooses the interfaces that could carry a job between machines: up,
 * with carrier, not loopback, not point-to-point, not a bridge or veth of a
 * container engine, not link-local. When the core says that the whole job is on
 * one host, only loopback is used.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ip.h"

enum { REPORT = 1024 /* bytes of text */, LIST_TRIES = 4 };

/* Returns why `auto` leaves out a device with that name, or NULL. */

static const char *find_virtual_reason(const char *name)
{
    static const char *const prefixes[] = {
        "docker", "virbr", "veth", "br-", "cni", "podman",  "lxcbr",
        "lxdbr",  "vnet",  "tun",  "tap", "wg",  "flannel", "cali"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return "virtual device of a container engine, hypervisor or VPN";
    return NULL;
}

/* Returns why `auto` leaves out an address, or NULL. */
static const char *find_unfit_reason(const struct wf_ip_endpoint *here,
                                     const struct ifaddrs *ifa,
                                     const struct wf_ip_addr *a)
{
    if (here->one_host)
        return wf_ip_is_loopback(a) ? NULL : "the job is on one host";
    if (ifa->ifa_flags & IFF_LOOPBACK)
        return "loopback";
    if (!(ifa->ifa_flags & IFF_RUNNING))
        return "no carrier";
    if (ifa->ifa_flags & IFF_POINTOPOINT)
        return "point-to-point";
    return find_virtual_reason(ifa->ifa_name);
}

static bool parse_net(const char *word, struct wf_ip_addr *net)
{
    char ip[64];
    const char *slash = strchr(word, '/');
    size_t n = slash ? (size_t)(slash - word) : strlen(word);
    char *end;
    long bits;

    if (n >= sizeof ip)
        return false;
    memset(net, 0, sizeof *net);
    memcpy(ip, word, n);
    ip[n] = '\0';
    if (inet_pton(AF_INET, ip, net->ip) == 1)
        net->family = 4;
    else if (inet_pton(AF_INET6, ip, net->ip) == 1)
        net->family = 6;
    else
        return false;
    net->prefix = net->family == 4 ? 32 : 128;
    if (!slash)
        return true;
    bits = strtol(slash + 1, &end, 10);
    if (end == slash + 1 || *end || bits < 0 || bits > net->prefix)
        return false;
    net->prefix = (uint8_t)bits;
    return true;
}

/* Tells whether the list of names, addresses and subnets contains it. */
static bool is_listed(const char *list, const char *name,
                      const struct wf_ip_addr *a)
{
    char word[64];
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ", ");
        struct wf_ip_addr net;
        if (n > 0 && n < sizeof word) {
            memcpy(word, p, n);
            word[n] = '\0';
            if (strcmp(word, name) == 0 ||
                (parse_net(word, &net) && wf_ip_is_same_subnet(&net, a)))
                return true;
        }
        p += n;
        p += strspn(p, ", ");
    }
    return false;
}

/* Returns the number of bits in a network mask. */
static uint8_t prefix_of(const struct sockaddr *mask, int family)
{
    const uint8_t *p;
    int n, bits = 0;
    if (!mask)
        return family == 4 ? 32 : 128;
    if (family == 4) {
        p = (const uint8_t *)&((const struct sockaddr_in *)mask)->sin_addr;
        n = 4;
    } else {
        p = (const uint8_t *)&((const struct sockaddr_in6 *)mask)->sin6_addr;
        n = 16;
    }
    for (int i = 0; i < n; i++)
        bits += __builtin_popcount(p[i]);
    return (uint8_t)bits;
}

/* Returns the speed of the interface in MB/s; 0: unknown. */
static uint32_t read_link_speed(const char *name)
{
    char path[80], text[16];
    ssize_t n;
    long mbit;
    int fd;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1); /* EINVAL where there is no speed */
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    mbit = strtol(text, NULL, 10); /* scanf adds 90 KB to a static program */
    return mbit > 0 && mbit <= INT32_MAX ? (uint32_t)mbit / 8 : 0;
}

static void add_interface(struct wf_ip_endpoint *here,
                          const struct ifaddrs *ifa, const struct wf_ip_addr *a)
{
    struct wf_ip_interface *u = &here->use[here->n++];
    u->addr = *a;
    snprintf(u->name, sizeof u->name, "%s", ifa->ifa_name);
    u->mbs = read_link_speed(ifa->ifa_name);
}

/* Uses an address, or adds to the report why not. */
static void consider_address(struct wf_ip_endpoint *here,
                             const struct ifaddrs *ifa, char *report)
{
    struct wf_ip_addr a;
    const char *why;
    char ip[INET6_ADDRSTRLEN] = "?";
    size_t at = strlen(report);

    if (!ifa->ifa_addr || wf_ip_from_sockaddr(ifa->ifa_addr, &a) < 0)
        return;
    a.prefix = prefix_of(ifa->ifa_netmask, a.family);
    if (here->own_n < IP_OWN_MAX)
        here->own[here->own_n++] = a;
    if (!(ifa->ifa_flags & IFF_UP))
        why = "down";
    else if (wf_ip_is_link_local(&a))
        why = "link-local";
    else if (!here->automatic)
        why = is_listed(here->wanted, ifa->ifa_name, &a)
                  ? NULL
                  : "not in option 'interface'";
    else
        why = find_unfit_reason(here, ifa, &a);
    if (!why && here->n == IP_ADDRS_MAX)
        why = "enough others";
    if (!why) {
        add_interface(here, ifa, &a);
        return;
    }
    inet_ntop(a.family == 4 ? AF_INET : AF_INET6, a.ip, ip, sizeof ip);
    snprintf(report + at, REPORT - at, "%s%s %s: %s", at ? "; " : "",
             ifa->ifa_name, ip, why);
}

/* Repeats getifaddrs(), which gives up at any error of a socket of its own. */
static int list_interfaces(struct ifaddrs **all)
{
    int rc = -1;

    for (int i = 0; i < LIST_TRIES && rc < 0; i++)
        rc = getifaddrs(all);
    return rc;
}

static int survey_interfaces(struct wf_ip_endpoint *here, char *report)
{
    struct ifaddrs *all;
    report[0] = '\0';
    here->own_n = 0;
    if (list_interfaces(&all) < 0) {
        here->host->log(here->core, 0, "cannot list interfaces: %s",
                        wf_ip_error_text(errno));
        return errno == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
    }
    for (struct ifaddrs *i = all; i; i = i->ifa_next)
        consider_address(here, i, report);
    freeifaddrs(all);
    return WEFT_OK;
}

static int identify_machine(struct wf_ip_endpoint *here)
{
    if (!here->machine)
        here->machine = wf_ip_machine_hash();
    if (here->machine)
        return WEFT_OK;
    here->host->log(here->core, 0,
                    "cannot read the boot id of this machine: %s",
                    wf_ip_error_text(errno));
    return errno == ENOMEM ? WEFT_ENOMEM : WEFT_ESYS;
}

/* Uses an interface that another machine is taken to have: of unknown speed,
 * with an address from those that are for documentation. */
static void plan_interface(struct wf_ip_endpoint *here)
{
    here->n = 1;
    here->use[0] = (struct wf_ip_interface){.name = "planned"};
    parse_net("192.0.2.1", &here->use[0].addr);
}

int wf_ip_choose_interfaces(struct wf_ip_endpoint *here)
{
    char report[REPORT];
    int rc;

    if (here->planned) {
        plan_interface(here);
        return WEFT_OK;
    }
    rc = identify_machine(here);
    if (rc == WEFT_OK)
        rc = survey_interfaces(here, report);

    if (rc == WEFT_OK && here->n == 0 && here->automatic && !here->one_host) {
        here->host->log(here->core, 2,
                        "no interface leads to other machines (%s); using "
                        "loopback, which reaches this machine only",
                        report);
        here->one_host = true;
        rc = survey_interfaces(here, report);
    }
    if (rc == WEFT_OK && here->n == 0) {
        here->host->log(here->core, 0,
                        "no usable interface for interface = %s (%s)",
                        here->wanted, report);
        rc = WEFT_EUNREACH;
    }
    return rc;
}
