/* Hosts of a job: which is this one, without asking a resolver, and who is where.
 *
 * Ranks fill the slots of the hosts in their order; more ranks than slots are
 * spread by the numbers of slots.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
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

bool wf_host_add(struct settings *set, const char *name, size_t n, int slots)
{
    struct host *h;

    for (int i = 0; i < set->host_count; i++)
        if (is(name, n, set->hosts[i].name)) {
            set->hosts[i].slots += slots;
            return true;
        }
    h = realloc(set->hosts, ((size_t)set->host_count + 1) * sizeof *h);
    if (!h)
        return false;
    set->hosts = h;
    h += set->host_count;
    *h = (struct host){.name = strndup(name, n),
                       .slots = slots,
                       .here = wf_host_is_here(name, n)};
    if (!h->name)
        return false;
    set->host_count++;
    set->elsewhere = set->elsewhere || !h->here;
    return true;
}

int wf_host_slots(const struct settings *set)
{
    long n = 0;

    for (int i = 0; i < set->host_count; i++)
        n += set->hosts[i].slots;
    return n < 1000000 ? (int)n : 1000000;
}

int wf_host_first(const struct settings *set, int node, int processes)
{
    long all = wf_host_slots(set), before = 0;

    for (int i = 0; i < node; i++)
        before += set->hosts[i].slots;
    if (processes > all)
        return (int)(processes * before / all);
    return before < processes ? (int)before : processes;
}
