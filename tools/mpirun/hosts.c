/* This file keeps the list of hosts: see hosts.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "hosts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_named(const struct host *h, const char *name, size_t n)
{
    return strlen(h->name) == n && strncasecmp(h->name, name, n) == 0;
}

struct host *wf_host_append(struct host_list *list, const char *name, size_t n)
{
    size_t size = ((size_t)list->count + 1) * sizeof *list->all;
    struct host *h = realloc(list->all, size);

    if (!h)
        return NULL;
    list->all = h;
    h += list->count;
    *h = (struct host){.name = strndup(name, n), .node = list->count};
    if (!h->name)
        return NULL;
    list->count++;
    return h;
}

bool wf_host_add(struct host_list *list, const char *name, size_t n, int slots)
{
    bool here = wf_host_is_here(name, n);
    struct host *h;

    for (int i = 0; i < list->count; i++) {
        h = &list->all[i];
        if (is_named(h, name, n) || (here && h->here)) {
            h->slots += slots;
            return true;
        }
    }
    h = wf_host_append(list, name, n);
    if (!h)
        return false;
    h->slots = slots;
    h->here = here;
    return true;
}

struct host *wf_host_of_node(const struct host_list *list, int node)
{
    int low = 0, high = list->count;

    while (low < high) {
        int middle = (low + high) / 2;
        if (list->all[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list->count && list->all[low].node == node ? &list->all[low]
                                                            : NULL;
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

bool wf_host_elsewhere(const struct host_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (!list->all[i].here)
            return true;
    return false;
}

int wf_host_first(const struct host_list *list, int hosts, int processes)
{
    long all = slots_before(list, list->count);
    long before = slots_before(list, hosts);

    if (processes > all)
        return (int)(processes * before / all);
    return before < processes ? (int)before : processes;
}
