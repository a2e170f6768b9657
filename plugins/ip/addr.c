/* Converts addresses to text and blobs, and chooses the addresses of a peer
 * that are worth trying.
 *
 * A blob is the part of a business card about one endpoint: version, count, two
 * spare bytes, a hash that identifies the network namespace of this boot of
 * this machine, and per address: family, prefix, port (little-endian), 16
 * bytes.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ip.h"

enum { BLOB_VERSION = 1, BLOB_ENTRY = 20 };

static size_t address_bytes(const struct wf_ip_addr *a)
{
    return a->family == 4 ? 4 : 16;
}

socklen_t wf_ip_to_sockaddr(const struct wf_ip_addr *a,
                            struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (a->family == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        in->sin_port = htons(a->port);
        memcpy(&in->sin_addr, a->ip, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(a->port);
    memcpy(&in6->sin6_addr, a->ip, 16);
    return sizeof *in6;
}

int wf_ip_from_sockaddr(const struct sockaddr *sa, struct wf_ip_addr *out)
{
    memset(out, 0, sizeof *out);
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
        out->family = 4;
        out->port = ntohs(in->sin_port);
        memcpy(out->ip, &in->sin_addr, 4);
        out->prefix = 32;
        return WEFT_OK;
    }
    if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
        out->family = 6;
        out->port = ntohs(in6->sin6_port);
        memcpy(out->ip, &in6->sin6_addr, 16);
        out->prefix = 128;
        return WEFT_OK;
    }
    return WEFT_ENOTSUP;
}

const char *wf_ip_error_text(int error)
{
    /* for EMFILE the core adds the remedy */
    return error == ENOBUFS || error == ENOMEM
               ? "the system has no memory for sockets; raise "
                 "net.ipv4.tcp_mem, "
                 "net.ipv4.udp_mem, or the memory limit of the job"
               : strerror(error);
}

void wf_ip_print_address(const struct wf_ip_addr *a, char *text, size_t n)
{
    char ip[INET6_ADDRSTRLEN] = "?";
    inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->ip, ip, sizeof ip);
    snprintf(text, n, a->family == 4 ? "%s:%u" : "[%s]:%u", ip, a->port);
}

bool wf_ip_is_same(const struct wf_ip_addr *a, const struct wf_ip_addr *b)
{
    return a->family == b->family &&
           memcmp(a->ip, b->ip, address_bytes(a)) == 0;
}

bool wf_ip_is_same_subnet(const struct wf_ip_addr *net,
                          const struct wf_ip_addr *a)
{
    unsigned whole = net->prefix / 8, rest = net->prefix % 8;
    if (net->family != a->family || net->prefix > 8 * address_bytes(net) ||
        memcmp(net->ip, a->ip, whole) != 0)
        return false;
    return rest == 0 || ((net->ip[whole] ^ a->ip[whole]) >> (8 - rest)) == 0;
}

bool wf_ip_is_loopback(const struct wf_ip_addr *a)
{
    static const uint8_t one[16] = {[15] = 1};
    return a->family == 4 ? a->ip[0] == 127 : memcmp(a->ip, one, 16) == 0;
}

bool wf_ip_is_link_local(const struct wf_ip_addr *a)
{
    if (a->family == 4)
        return a->ip[0] == 169 && a->ip[1] == 254;
    return a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

/* FNV-1a is enough to distinguish machines. */
static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

uint64_t wf_ip_machine_hash(void)
{
    char id[64];
    struct stat st;
    uint64_t h = 0xcbf29ce484222325u;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return 0;
    if (fd >= 0) {
        ssize_t n = read(fd, id, sizeof id);
        close(fd);
        if (n > 0)
            h = hash_bytes(h, id, (size_t)n);
    }
    if (stat("/proc/self/ns/net", &st) == 0) {
        uint64_t ns[2] = {st.st_dev, st.st_ino};
        h = hash_bytes(h, ns, sizeof ns);
    }
    return h ? h : 1;
}

int wf_ip_pack_book(const struct wf_ip_book *book, void *buf, size_t *len)
{
    uint8_t *p = buf;
    size_t need = IP_BLOB_HEAD + (size_t)book->n * BLOB_ENTRY;
    size_t room = *len;

    *len = need;
    if (room < need)
        return WEFT_ENOMEM;
    memset(p, 0, need);
    p[0] = BLOB_VERSION;
    p[1] = (uint8_t)book->n;
    for (int i = 0; i < 8; i++)
        p[4 + i] = (uint8_t)(book->machine >> 8 * i);
    p += IP_BLOB_HEAD;
    for (int i = 0; i < book->n; i++, p += BLOB_ENTRY) {
        const struct wf_ip_addr *a = &book->addr[i];
        p[0] = a->family;
        p[1] = a->prefix;
        p[2] = (uint8_t)a->port;
        p[3] = (uint8_t)(a->port >> 8);
        memcpy(p + 4, a->ip, 16);
    }
    return WEFT_OK;
}

int wf_ip_unpack_book(const void *buf, size_t len, struct wf_ip_book *book)
{
    const uint8_t *p = buf;

    memset(book, 0, sizeof *book);
    if (len < IP_BLOB_HEAD || p[0] != BLOB_VERSION || p[1] > IP_ADDRS_MAX ||
        len != IP_BLOB_HEAD + (size_t)p[1] * BLOB_ENTRY)
        return WEFT_EPROTO;
    book->n = p[1];
    for (int i = 0; i < 8; i++)
        book->machine |= (uint64_t)p[4 + i] << 8 * i;
    p += IP_BLOB_HEAD;
    for (int i = 0; i < book->n; i++, p += BLOB_ENTRY) {
        struct wf_ip_addr *a = &book->addr[i];
        a->family = p[0];
        a->prefix = p[1];
        a->port = (uint16_t)(p[2] | p[3] << 8);
        memcpy(a->ip, p + 4, 16);
        if ((a->family != 4 && a->family != 6) || a->port == 0 ||
            a->prefix > (a->family == 4 ? 32 : 128))
            return WEFT_EPROTO;
    }
    return WEFT_OK;
}

/* Tells whether there is a route: connecting a datagram socket asks the kernel
 * and sends nothing. */
static bool has_route(const struct wf_ip_addr *to)
{
    struct sockaddr_storage sa;
    socklen_t n = wf_ip_to_sockaddr(to, &sa);
    int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool ok;
    if (fd < 0) /* a call reports the shortage better than "no way" */
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    ok = connect(fd, (struct sockaddr *)&sa, n) == 0;
    close(fd);
    return ok;
}

static bool is_own(const struct wf_ip_endpoint *here,
                   const struct wf_ip_addr *a)
{
    for (int i = 0; i < here->own_n; i++)
        if (wf_ip_is_same(&here->own[i], a))
            return true;
    return false;
}

/* Rates an address of the peer; *local is the interface in its subnet, or
 * -1. */
static enum wf_ip_rank rate_address(const struct wf_ip_endpoint *here,
                                    const struct wf_ip_book *book,
                                    const struct wf_ip_addr *to, int *local)
{
    bool elsewhere = book->machine != 0 && book->machine != here->machine;
    bool family = false;

    *local = -1;
    /* an address like 172.17.0.1 on both hosts would reach this host only */
    if (elsewhere && (wf_ip_is_loopback(to) || is_own(here, to)))
        return IP_USELESS;
    for (int i = 0; i < here->n; i++) {
        const struct wf_ip_addr *mine = &here->use[i].addr;
        family = family || mine->family == to->family;
        if (*local < 0 && wf_ip_is_same_subnet(mine, to))
            *local = i;
    }
    if (wf_ip_is_loopback(to))
        return IP_LOOPBACK;
    if (*local >= 0)
        return wf_ip_is_loopback(&here->use[*local].addr) ? IP_USELESS
                                                          : IP_SUBNET;
    if (here->one_host && elsewhere)
        return IP_USELESS;
    return (family || book->machine == 0) && has_route(to) ? IP_ROUTED
                                                           : IP_USELESS;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct wf_ip_candidate *x = a, *y = b;
    return (int)x->rank - (int)y->rank;
}

int wf_ip_find_candidates(const struct wf_ip_endpoint *here,
                          const struct wf_ip_book *book,
                          struct wf_ip_candidate *out)
{
    int n = 0;
    for (int i = 0; i < book->n; i++) {
        struct wf_ip_candidate *c = &out[n];
        c->to = book->addr[i];
        c->rank = rate_address(here, book, &c->to, &c->local);
        if (c->rank != IP_USELESS)
            n++;
    }
    qsort(out, (size_t)n, sizeof *out, compare_ranks);
    return n;
}

/* Splits "10.0.0.2:7000", "[::1]:7000" or "host:7000". */
static int split_address(const char *text, char *host, size_t n, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    const char *start = text, *end = colon;
    char *rest;
    unsigned long value;

    if (!colon || colon == text)
        return WEFT_EINVAL;
    if (*text == '[') {
        start = text + 1;
        end = colon - 1;
        if (end <= start || *end != ']')
            return WEFT_EINVAL;
    } else if (memchr(text, ':', (size_t)(colon - text))) {
        return WEFT_EINVAL; /* IPv6 needs its brackets */
    }
    if ((size_t)(end - start) >= n || colon[1] < '0' || colon[1] > '9')
        return WEFT_EINVAL;
    value = strtoul(colon + 1, &rest, 10);
    if (*rest != '\0' || value < 1 || value > 65535)
        return WEFT_EINVAL;
    memcpy(host, start, (size_t)(end - start));
    host[end - start] = '\0';
    *port = (uint16_t)value;
    return WEFT_OK;
}

uint16_t wf_ip_port_of(const char *text)
{
    char host[256];
    uint16_t port;

    return split_address(text, host, sizeof host, &port) == WEFT_OK ? port : 0;
}

int wf_ip_parse_address(weft_ep *ep, const char *text, void *buf, size_t *len)
{
    const struct wf_ip_endpoint *here = (const struct wf_ip_endpoint *)ep;
    char host[256];
    struct wf_ip_book book = {.machine = 0, .n = 1};
    struct wf_ip_addr *a = &book.addr[0];
    struct sockaddr_storage sa;
    size_t n = sizeof sa;
    uint16_t port;
    int rc = split_address(text, host, sizeof host, &port);

    if (rc < 0)
        return rc;
    if (inet_pton(AF_INET, host, a->ip) == 1) {
        a->family = 4;
        a->prefix = 32;
    } else if (inet_pton(AF_INET6, host, a->ip) == 1) {
        a->family = 6;
        a->prefix = 128;
    } else {
        if (!WEFT_HAS(here->host, weft_host, resolve))
            return WEFT_ENOTSUP;
        rc = here->host->resolve(here->core, host, AF_UNSPEC, &sa, &n);
        if (rc < 0)
            return rc;
        rc = wf_ip_from_sockaddr((struct sockaddr *)&sa, a);
        if (rc < 0)
            return rc;
    }
    a->port = port;
    return wf_ip_pack_book(&book, buf, len);
}

int wf_ip_print_book(const void *addr, size_t len, char *text, size_t n)
{
    struct wf_ip_book book;
    size_t at = 0;
    int rc = wf_ip_unpack_book(addr, len, &book);

    if (rc < 0)
        return rc;
    if (n > 0)
        text[0] = '\0';
    for (int i = 0; i < book.n && at < n; i++) {
        char one[64];
        wf_ip_print_address(&book.addr[i], one, sizeof one);
        at += (size_t)snprintf(text + at, n - at, "%s%s", i ? "," : "", one);
    }
    return WEFT_OK;
}
