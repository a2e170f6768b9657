/* Hosts of a job: which is this one, without asking a resolver, and who is where.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "hosts.h"

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

bool wf_host_add(struct host_list *list, const char *name, size_t n, int slots)
{
    struct host *h;

    for (int i = 0; i < list->count; i++)
        if (is(name, n, list->all[i].name)) {
            list->all[i].slots += slots;
            return true;
        }
    h = realloc(list->all, ((size_t)list->count + 1) * sizeof *h);
    if (!h)
        return false;
    list->all = h;
    h += list->count;
    *h = (struct host){.name = strndup(name, n),
                       .slots = slots,
                       .here = wf_host_is_here(name, n)};
    if (!h->name)
        return false;
    list->count++;
    list->elsewhere = list->elsewhere || !h->here;
    return true;
}

static long slots_before(const struct host_list *list, int end)
{
    long n = 0;

    for (int i = 0; i < end; i++)
        n += list->all[i].slots;
    return n;
}

int wf_host_slots(const struct host_list *list)
{
    long n = slots_before(list, list->count);

    return n < 1000000 ? (int)n : 1000000;
}

int wf_host_first(const struct host_list *list, int hosts, int processes)
{
    long all = wf_host_slots(list), before = slots_before(list, hosts);

    if (processes > all)
        return (int)(processes * before / all);
    return before < processes ? (int)before : processes;
}
