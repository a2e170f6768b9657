/* Reads /etc/hosts: static programs have no resolver, and jobs need none.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "os/hosts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "os/text.h"
#include "weft_transport.h"

static int parse_address(const char *text, int family, void *out, size_t *len)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (family != AF_INET6 && inet_pton(AF_INET, text, &v4.sin_addr) == 1 &&
        *len >= sizeof v4) {
        memcpy(out, &v4, *len = sizeof v4);
        return WEFT_OK;
    }
    if (family != AF_INET && inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 &&
        *len >= sizeof v6) {
        memcpy(out, &v6, *len = sizeof v6);
        return WEFT_OK;
    }
    return WEFT_EUNREACH;
}

static int line_has_name(char *names, const char *host)
{
    char *save = NULL;

    for (char *t = strtok_r(names, " \t\n", &save); t;
         t = strtok_r(NULL, " \t\n", &save))
        if (wf_same_word(t, host))
            return 1;
    return 0;
}

int wf_hosts_lookup(const char *host, int family, void *sockaddr_out,
                    size_t *len)
{
    char line[1024], *address, *save;
    int r = parse_address(host, family, sockaddr_out, len);
    FILE *f = r == WEFT_OK ? NULL : fopen("/etc/hosts", "re");

    while (f && r != WEFT_OK && fgets(line, sizeof line, f)) {
        line[strcspn(line, "#")] = 0;
        address = strtok_r(line, " \t\n", &save);
        if (address && save && line_has_name(save, host))
            r = parse_address(address, family, sockaddr_out, len);
    }
    if (f)
        fclose(f);
    return r;
}
