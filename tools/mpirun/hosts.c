/* Is a name this host? Without asking a resolver.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "job.h"

static bool is(const char *name, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(name, word, n) == 0;
}

bool wf_host_is_here(const char *name, size_t n)
{
    char own[256] = "";
    const char *slots = memrchr(name, ':', n);
    if (is(name, n, "::1"))
        return true;
    if (slots) /* name:slots */
        n = (size_t)(slots - name);
    if (is(name, n, "localhost") || (n > 4 && strncmp(name, "127.", 4) == 0))
        return true;
    (void)gethostname(own, sizeof(own) - 1);
    if (is(name, n, own))
        return true;
    /* one of the two may be the fully qualified form */
    const char *dot = memchr(name, '.', n);
    size_t head = dot ? (size_t)(dot - name) : n;
    size_t own_head = strcspn(own, ".");
    return (!dot || !own[own_head]) && own_head == head &&
           strncasecmp(name, own, head) == 0;
}
