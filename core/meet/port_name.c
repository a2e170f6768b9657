/* The name of a port, as text: see port_name.h.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "meet/port_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/base64.h"

#define HEAD "weft1:"
enum { TOKEN_TEXT = 43, ADDRESS_TEXT = INET6_ADDRSTRLEN + 10 };

static int print_address(const struct sockaddr_storage *at, char *text)
{
    const struct sockaddr_in *v4 = (const void *)at;
    const struct sockaddr_in6 *v6 = (const void *)at;
    bool four = at->ss_family == AF_INET;
    char ip[INET6_ADDRSTRLEN] = "";

    inet_ntop(at->ss_family,
              four ? (const void *)&v4->sin_addr : &v6->sin6_addr, ip,
              sizeof ip);
    return snprintf(text, ADDRESS_TEXT, four ? "%s:%u" : "[%s]:%u", ip,
                    ntohs(four ? v4->sin_port : v6->sin6_port));
}

void wf_port_name_print(const struct wf_port_name *p,
                        char text[MPI_MAX_PORT_NAME])
{
    char token[TOKEN_TEXT + 1], address[ADDRESS_TEXT];
    int n;

    wf_base64_encode(token, p->token, WF_TOKEN);
    n = snprintf(text, MPI_MAX_PORT_NAME, HEAD "%s:%016llx:", token,
                 (unsigned long long)p->node);
    explicit_bzero(token, sizeof token);
    for (int i = 0; i < p->n; i++) {
        int more = print_address(&p->at[i], address);
        if (n + 1 + more >= MPI_MAX_PORT_NAME)
            return;
        n += sprintf(text + n, "%s%s", i ? "," : "", address);
    }
}

/* Parse "IP:PORT" or "[IP]:PORT" of n characters. */
static bool parse_address(const char *text, size_t n,
                          struct sockaddr_storage *at)
{
    struct sockaddr_in *v4 = (void *)at;
    struct sockaddr_in6 *v6 = (void *)at;
    char copy[ADDRESS_TEXT], *ip = copy, *colon, *end;
    unsigned long port;

    if (n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    colon = strrchr(copy, ':');
    if (!colon)
        return false;
    *colon = 0;
    port = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end || port == 0 || port > 65535)
        return false;
    memset(at, 0, sizeof *at);
    if (*ip != '[') {
        at->ss_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        return inet_pton(AF_INET, ip, &v4->sin_addr) == 1;
    }
    if (colon == copy + 1 || colon[-1] != ']')
        return false;
    colon[-1] = 0;
    at->ss_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, ip + 1, &v6->sin6_addr) == 1;
}

static bool parse_addresses(const char *text, struct wf_port_name *p)
{
    for (p->n = 0; *text && p->n < WF_PORT_ADDRESSES; p->n++) {
        size_t n = strcspn(text, ",");
        if (!parse_address(text, n, &p->at[p->n]))
            return false;
        text += n + (text[n] == ',');
    }
    return p->n > 0;
}

bool wf_port_name_parse(const char *text, struct wf_port_name *p)
{
    unsigned char token[WF_TOKEN + 8];
    const char *at = text + strlen(HEAD);
    char *end;

    memset(p, 0, sizeof *p);
    if (strncmp(text, HEAD, strlen(HEAD)) != 0 ||
        strcspn(at, ":") != TOKEN_TEXT ||
        wf_base64_decode(token, at, TOKEN_TEXT) != WF_TOKEN)
        return false;
    memcpy(p->token, token, WF_TOKEN);
    explicit_bzero(token, sizeof token);
    at += TOKEN_TEXT + 1;
    p->node = strtoull(at, &end, 16);
    return end == at + 16 && *end == ':' && parse_addresses(end + 1, p);
}

void wf_port_name_show(const char *text, char shown[WF_PORT_SHOWN])
{
    struct wf_port_name p;
    bool is_name = wf_port_name_parse(text, &p);

    explicit_bzero(p.token, sizeof p.token);
    if (is_name)
        snprintf(shown, WF_PORT_SHOWN, HEAD "...:%.80s",
                 text + strlen(HEAD) + TOKEN_TEXT + 18);
    else
        snprintf(shown, WF_PORT_SHOWN, "%.80s%s", text,
                 strlen(text) > 80 ? "..." : "");
}
