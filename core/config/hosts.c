/* [host]: the table of host names, expanded and hashed.
 *
 * Host ranges and value ranges expand together: the second name of
 * [host dsp[1-3]] has the second of address = 10.0.0.[11-13]. Everything is
 * expanded when the file is read, so that looking up costs an index.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/hosts.h"

#include "config/addresses.h"
#include "config/options.h"
#include "config/pattern.h"
#include "config/ranks.h"
#include "config/sections.h"

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* Allocate the table for n names. The hash index has at least twice as many
 * places. */
static bool reserve_hosts(struct wf_config *c, size_t n)
{
    size_t places = 16;
    while (places < 2 * n)
        places *= 2;
    c->hosts = wf_arena_alloc(&c->arena, (n + 1) * sizeof *c->hosts);
    c->host_index = wf_arena_alloc(&c->arena, places * sizeof *c->host_index);
    c->host_mask = (uint32_t)places - 1;
    c->host_room = n;
    return c->hosts != NULL && c->host_index != NULL;
}

/* The place of the name in the index: its own, or the free one it would get.
 * Places hold 1 + a position in hosts[]; 0 is free. */
static uint32_t *find_index_place(const struct wf_config *c, const char *name)
{
    uint32_t at = hash_name(name) & c->host_mask;
    while (c->host_index[at] != 0 &&
           strcmp(c->hosts[c->host_index[at] - 1].name, name) != 0)
        at = (at + 1) & c->host_mask;
    return &c->host_index[at];
}

struct wf_host_entry *wf_host_find(const struct wf_config *c, const char *name)
{
    uint32_t place = *find_index_place(c, name);
    return place == 0 ? NULL : &c->hosts[place - 1];
}

struct wf_host_entry *wf_host_add(struct wf_config *c, const char *name)
{
    if (c->host_count >= c->host_room)
        return NULL;
    uint32_t *place = find_index_place(c, name);
    struct wf_host_entry *h = &c->hosts[c->host_count];
    h->name = wf_arena_copy(&c->arena, name, strlen(name));
    *place = (uint32_t)++c->host_count;
    return h;
}

static void expand_host_section(struct wf_config *c, const struct wf_section *s)
{
    uint32_t count = wf_pattern_count(s->name);
    if (count == 0)
        wf_problem_add(&c->problems, &s->at,
                       "'%s' is no host name with ranges as in dsp[1-3]",
                       s->name);
    for (uint32_t i = 0; i < count; i++) {
        char name[WF_HOST_NAME_MAX + 1];
        if (!wf_pattern_expand(s->name, i, name, sizeof name)) {
            wf_problem_add(&c->problems, &s->at, "host name '%s' is too long",
                           s->name);
            return;
        }
        const struct wf_host_entry *other = wf_host_find(c, name);
        if (other != NULL) {
            wf_problem_add(&c->problems, &s->at,
                           "host '%s' is already in [host %s] (%s)", name,
                           other->section->name,
                           wf_place_text(c, &other->section->at));
            return;
        }
        struct wf_host_entry *h = wf_host_add(c, name);
        if (h == NULL) {
            wf_problem_add(&c->problems, &s->at, "more than %d hosts",
                           WF_HOSTS_MAX);
            return;
        }
        h->section = s;
        h->index = i;
        h->count = count;
        c->hosts_described++;
    }
}

/* Report unknown keys of [host] and [rank], which have one key of their own and
 * one for each transport. */
static void check_keys(struct wf_config *c, const struct wf_section *s)
{
    enum { MOST = 64 };
    weft_option table[MOST + 2] = {{0}};
    const weft_option *const tables[] = {table};
    int n = 0;
    table[n++].name = s->kind == WF_SECTION_HOST ? "address" : "host";
    for (int t = 0; t < c->transport_count && n < MOST; t++)
        table[n++].name = c->transports[t].name;
    wf_options_unknown(s, tables, 1, "", &c->problems);
}

void wf_hosts_build(struct wf_config *c)
{
    uint64_t names = 0;
    bool any = false;
    for (struct wf_section *s = c->sections; s != NULL; s = s->next) {
        if (s->kind != WF_SECTION_HOST && s->kind != WF_SECTION_RANK)
            continue;
        any = true;
        check_keys(c, s);
        if (s->kind == WF_SECTION_HOST)
            names += wf_pattern_count(s->name);
    }
    if (!any)
        return;
    wf_ranks_reserve(c);
    names = names < WF_HOSTS_MAX ? names : WF_HOSTS_MAX;
    if (!reserve_hosts(c, names + c->rank_count))
        return;
    for (struct wf_section *s = c->sections; s != NULL; s = s->next) {
        if (s->kind == WF_SECTION_HOST)
            expand_host_section(c, s);
    }
    wf_ranks_build(c);
    wf_addresses_build(c);
}
