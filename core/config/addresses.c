/* The addresses of a static start: the text that each transport gets for each
 * rank.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/addresses.h"

#include "config/hosts.h"
#include "config/pattern.h"
#include "config/sections.h"

/* The text of a value for the i-th of n names or ranks. */
static const char *expand_value(struct wf_config *c, const struct wf_setting *v,
                                uint32_t i, uint32_t n)
{
    char one[512];
    uint32_t makes = wf_pattern_count(v->value);
    if (makes <= 1) /* one for all; or brackets of an IPv6 address */
        return v->value;
    if (makes == n && wf_pattern_expand(v->value, i, one, sizeof one))
        return wf_arena_copy(&c->arena, one, strlen(one));
    if (i == 0)
        wf_problem_add(&c->problems, &v->value_at,
                       "%s: the range makes %u values for %u names", v->key,
                       makes, n);
    return NULL;
}

/* The ':' before an explicit port, or NULL: "a:7000", "[fe80::1]:7000". */
static const char *find_port_sign(const char *text)
{
    const char *sign = strrchr(text, ':');
    if (sign == NULL || sign[1] == '\0' ||
        sign[1 + strspn(sign + 1, "0123456789")] != '\0')
        return NULL;
    if (memchr(text, ':', (size_t)(sign - text)) != NULL && sign[-1] != ']')
        return NULL;
    return sign;
}

/* The address text with the port of the local_index-th rank of its host. */
static const char *add_port(struct wf_config *c, const char *text,
                            uint64_t port, uint32_t local_index)
{
    const char *sign = find_port_sign(text);
    struct wf_range given;
    if (sign != NULL && wf_value_range(sign + 1, strlen(sign + 1), &given))
        return wf_arena_format(&c->arena, "%.*s:%llu", (int)(sign - text), text,
                               (unsigned long long)(given.lo + local_index));
    if (port == 0)
        return text;
    bool v6 = strchr(text, ':') != NULL && text[0] != '[';
    return wf_arena_format(&c->arena, "%s%s%s:%llu", v6 ? "[" : "", text,
                           v6 ? "]" : "",
                           (unsigned long long)(port + local_index));
}

static uint64_t port_of_transport(const struct wf_config *c, int t)
{
    const struct wf_setting *v =
        wf_setting_find(c->transport_sections[t], "port");
    uint64_t port;
    return v != NULL && wf_value_size(v->value, &port) ? port : 0;
}

static void set_address(struct wf_config *c, struct wf_rank_entry *r, int t,
                        const char *text, const struct wf_setting *v)
{
    r->address[t] = text;
    r->address_where[t] = wf_place_text(c, &v->at);
}

/* Find the address of a rank. The most specific key is used: [rank] TRANSPORT,
 * [host] TRANSPORT, then [host] address for transports that listen on a fixed
 * port. */
static void find_address(struct wf_config *c, struct wf_rank_entry *r, int t)
{
    const char *name = c->transports[t].name;
    const struct wf_setting *v = wf_setting_find(r->section, name);
    uint64_t port = port_of_transport(c, t);
    if (v != NULL) {
        const char *text = expand_value(c, v, r->index, r->count);
        set_address(c, r, t, text, v);
        return;
    }
    if (r->entry == NULL || r->entry->section == NULL)
        return;
    v = wf_setting_find(r->entry->section, name);
    if (v == NULL && port > 0)
        v = wf_setting_find(r->entry->section, "address");
    if (v == NULL)
        return;
    const char *text = expand_value(c, v, r->entry->index, r->entry->count);
    if (text != NULL)
        text = add_port(c, text, port, r->local_index);
    set_address(c, r, t, text, v);
}

void wf_addresses_build(struct wf_config *c)
{
    size_t n = (size_t)c->transport_count;
    for (uint32_t rank = 0; rank < c->rank_count; rank++) {
        struct wf_rank_entry *r = &c->ranks[rank];
        if (r->section == NULL)
            continue;
        r->address = wf_arena_alloc(&c->arena, n * sizeof *r->address);
        r->address_where = wf_arena_alloc(&c->arena, n * sizeof *r->address);
        if (r->address == NULL || r->address_where == NULL)
            return;
        for (int t = 0; t < c->transport_count; t++)
            find_address(c, r, t);
    }
}

void wf_addresses_refuse(const struct wf_config *c, const char *transport,
                         bool derives, struct wf_problems *problems)
{
    for (const struct wf_section *s = c->sections; s != NULL; s = s->next) {
        const struct wf_setting *v = NULL;
        if (s->kind == WF_SECTION_HOST || s->kind == WF_SECTION_RANK)
            v = wf_setting_find(s, transport);
        if (v != NULL)
            wf_problem_add(
                problems, &v->at,
                "%s: this transport takes no address%s; to keep "
                "ranks from it use [route]",
                v->key, derives ? ": ranks of one host find each other" : "");
    }
}

const char *wf_config_address(const struct wf_config *c, uint32_t rank,
                              const char *transport, const char **where)
{
    if (rank >= c->rank_count || c->ranks[rank].address == NULL)
        return NULL;
    for (int t = 0; t < c->transport_count; t++) {
        if (wf_name_equal(c->transports[t].name, transport)) {
            if (where != NULL)
                *where = c->ranks[rank].address_where[t];
            return c->ranks[rank].address[t];
        }
    }
    return NULL;
}

const char *wf_config_host_value(struct wf_config *c, const char *host,
                                 const char *key)
{
    const struct wf_host_entry *h =
        c->host_count > 0 ? wf_host_find(c, host) : NULL;
    const struct wf_setting *v = h != NULL && h->section != NULL
                                     ? wf_setting_find(h->section, key)
                                     : NULL;
    return v != NULL ? expand_value(c, v, h->index, h->count) : NULL;
}

const char *wf_config_host(const struct wf_config *c, uint32_t rank)
{
    return rank < c->rank_count ? c->ranks[rank].host : NULL;
}

uint32_t wf_config_ranks(const struct wf_config *c)
{
    return c->rank_count;
}
