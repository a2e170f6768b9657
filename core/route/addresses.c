/* Addresses of static start: which text each transport gets for each rank.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "route/hosts.h"

/* The text of a value for the i-th of n names or ranks. */
static const char *value_expand(struct wf_config *c, const struct wf_setting *v,
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
static const char *port_sign(const char *text)
{
    const char *sign = strrchr(text, ':');
    if (sign == NULL || sign[1] == '\0' ||
        sign[1 + strspn(sign + 1, "0123456789")] != '\0')
        return NULL;
    if (memchr(text, ':', (size_t)(sign - text)) != NULL && sign[-1] != ']')
        return NULL;
    return sign;
}

/* Address text with the port of the local_index-th rank of its host. */
static const char *with_port(struct wf_config *c, const char *text,
                             uint64_t port, uint32_t local_index)
{
    const char *sign = port_sign(text);
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

static uint64_t transport_port(const struct wf_config *c, int t)
{
    const struct wf_setting *v =
        wf_setting_find(c->transport_sections[t], "port");
    uint64_t port;
    return v != NULL && wf_value_size(v->value, &port) ? port : 0;
}

static void address_set(struct wf_config *c, struct wf_rank_entry *r, int t,
                        const char *text, const struct wf_setting *v)
{
    r->address[t] = text;
    r->address_where[t] = wf_place_text(c, &v->at);
}

/* The nearest word wins: [rank] TRANSPORT, [host] TRANSPORT, then [host]
 * address for transports that listen on a fixed port. */
static void address_find(struct wf_config *c, struct wf_rank_entry *r, int t)
{
    const char *name = c->transports[t].name;
    const struct wf_setting *v = wf_setting_find(r->section, name);
    uint64_t port = transport_port(c, t);
    if (v != NULL) {
        const char *text = value_expand(c, v, r->index, r->count);
        address_set(c, r, t, text, v);
        return;
    }
    if (r->entry == NULL || r->entry->section == NULL)
        return;
    v = wf_setting_find(r->entry->section, name);
    if (v == NULL && port > 0)
        v = wf_setting_find(r->entry->section, "address");
    if (v == NULL)
        return;
    const char *text = value_expand(c, v, r->entry->index, r->entry->count);
    if (text != NULL)
        text = with_port(c, text, port, r->local_index);
    address_set(c, r, t, text, v);
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
            address_find(c, r, t);
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

const char *wf_config_host(const struct wf_config *c, uint32_t rank)
{
    return rank < c->rank_count ? c->ranks[rank].host : NULL;
}

uint32_t wf_config_ranks(const struct wf_config *c)
{
    return c->rank_count;
}
