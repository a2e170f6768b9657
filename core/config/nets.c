/* The numeric addresses of a process, for `net:` selectors. They are taken from
 * the printed form of its endpoints' addresses, without ports.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/nets.h"

#include <stdio.h>
#include <stdlib.h>

#include "process/endpoint.h"
#include "process/instance.h"

enum { TEXT_MAX = 512 };

/* Append one address without brackets and port: "10.0.0.2:7000" and
 * "[fe80::1]:7000" have them. */
static void append_address(char *out, size_t n, const char *one, size_t len)
{
    size_t used = strlen(out);
    const char *end;

    if (len && *one == '[') {
        one++;
        end = memchr(one, ']', len - 1);
    } else
        end = memchr(one, ':', len);
    if (end)
        len = (size_t)(end - one);
    snprintf(out + used, n - used, "%s%.*s", used ? "," : "", (int)len, one);
}

void wf_nets_add(const struct weft_core *core, const void *address, size_t len,
                 char *out, size_t n)
{
    char text[TEXT_MAX];

    if (!WEFT_HAS(core->ops, weft_ops, addr_print) ||
        core->ops->addr_print(address, len, text, sizeof text) < 0 ||
        !(core->attr.caps & WEFT_CAP_REMOTE))
        return;
    for (const char *p = text; *p;) {
        size_t one = strcspn(p, ",");
        append_address(out, n, p, one);
        p += one + (p[one] == ',');
    }
}
