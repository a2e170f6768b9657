/* Selectors of routes: they are parsed once and matched per pair (select.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/select.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/pattern.h"
#include "config/words.h"

static const struct {
    const char *name;
    enum wf_term_key key;
    bool list; /* needs ":" and items */
} keys[] = {
    {"rank", WF_TERM_RANK, true},
    {"host", WF_TERM_HOST, true},
    {"net", WF_TERM_NET, true},
    {"node", WF_TERM_NODE, true},
    {"transport", WF_TERM_TRANSPORT, true},
    {"job", WF_TERM_JOB, true},
    {"local", WF_TERM_LOCAL, false},
    {"remote", WF_TERM_REMOTE, false},
    {"self", WF_TERM_SELF, false},
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Parse "10.1.0.0/24", "fe80::/10", or one address. */
static bool parse_net(const char *text, struct wf_net *net)
{
    char host[INET6_ADDRSTRLEN + 1];
    size_t n = strcspn(text, "/");
    if (n >= sizeof host)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    net->family = strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
    if (inet_pton(net->family, host, net->bytes) != 1)
        return false;
    int most = net->family == AF_INET6 ? 128 : 32;
    net->bits = most;
    if (text[n] == '\0')
        return true;
    struct wf_range bits;
    if (!wf_value_range(text + n + 1, strlen(text + n + 1), &bits) ||
        bits.lo != bits.hi || bits.lo > (uint64_t)most)
        return false;
    net->bits = (int)bits.lo;
    return true;
}

static bool net_has(const struct wf_net *net, const struct wf_net *address)
{
    if (net->family != address->family)
        return false;
    int whole = net->bits / 8, rest = net->bits % 8;
    if (memcmp(net->bytes, address->bytes, (size_t)whole) != 0)
        return false;
    unsigned mask = rest > 0 ? 0xffu << (8 - rest) & 0xffu : 0;
    return ((net->bytes[whole < 16 ? whole : 15] ^
             address->bytes[whole < 16 ? whole : 15]) &
            mask) == 0;
}

/* Whether any of the comma separated addresses is in the net. */
static bool net_has_any(const struct wf_net *net, const char *addresses)
{
    while (addresses != NULL && *addresses != '\0') {
        char one[INET6_ADDRSTRLEN + 5];
        size_t n = strcspn(addresses, ", ");
        struct wf_net address;
        if (n > 0 && n < sizeof one) {
            memcpy(one, addresses, n);
            one[n] = '\0';
            one[strcspn(one, "/%")] = '\0';
            if (parse_net(one, &address) && net_has(net, &address))
                return true;
        }
        addresses += n + (addresses[n] != '\0');
    }
    return false;
}

/* Parse "own" or "other". */
static bool parse_job(const char *text, bool *other)
{
    *other = strcmp(text, "other") == 0;
    return *other || strcmp(text, "own") == 0;
}

static bool parse_item(enum wf_term_key key, const char *text,
                       union wf_term_item *item)
{
    switch (key) {
    case WF_TERM_RANK:
        return wf_value_range(text, strlen(text), &item->range);
    case WF_TERM_NET:
        return parse_net(text, &item->net);
    case WF_TERM_JOB:
        return parse_job(text, &item->other);
    default:
        item->text = text;
        return key == WF_TERM_TRANSPORT || wf_pattern_count(text) > 0;
    }
}

static const char *describe_item(enum wf_term_key key)
{
    switch (key) {
    case WF_TERM_RANK:
        return "a rank, as in rank:3 or rank:0-7";
    case WF_TERM_TRANSPORT:
        return "a transport, as in transport:shm";
    case WF_TERM_NET:
        return "an address or subnet, as in net:10.1.0.0/24";
    case WF_TERM_JOB:
        return "own or other, as in job:other";
    default:
        return "a name, as in host:dsp[1-3] or host:node*";
    }
}

/* The length of the item at `at`, up to a comma that is not in brackets. */
static size_t length_of_item(const char *at)
{
    int depth = 0;
    size_t n = 0;
    for (; at[n] != '\0' && (at[n] != ',' || depth > 0); n++)
        depth += (at[n] == '[') - (at[n] == ']');
    return n;
}

static bool parse_items(struct wf_arena *arena, const char *text,
                        struct wf_term *term, char *why, size_t why_len)
{
    size_t most = 1;
    for (const char *c = text; *c != '\0'; c++)
        most += *c == ',';
    term->items = wf_arena_alloc(arena, most * sizeof *term->items);
    if (term->items == NULL)
        return true; /* the arena reports it */
    for (;;) {
        size_t n = length_of_item(text);
        const char *one = wf_arena_copy(arena, text, n);
        if (n == 0 ||
            !parse_item(term->key, one, &term->items[term->item_count])) {
            snprintf(why, why_len, "'%s' is not %s", one,
                     describe_item(term->key));
            return false;
        }
        term->item_count++;
        if (text[n] == '\0')
            return true;
        text += n + 1;
    }
}

static int find_key(const char *text, size_t n)
{
    for (int i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) == n && strncmp(keys[i].name, text, n) == 0)
            return i;
    }
    return -1;
}

static void explain_key(const char *text, size_t n, char *why, size_t why_len)
{
    struct wf_words words = {.count = 0};
    char word[64], hint[256];
    for (int i = 0; i < KEYS; i++)
        wf_words_add(&words, keys[i].name);
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    snprintf(why, why_len, "'%s' selects nothing%s", word,
             wf_words_hint(&words, word, hint, sizeof hint));
}

/* Parse one term; text holds nothing else. */
static bool parse_term(struct wf_arena *arena, const char *text,
                       struct wf_term *term, char *why, size_t why_len)
{
    term->negate = *text == '!';
    text += term->negate;
    size_t n = strcspn(text, ":");
    int i = find_key(text, n);
    if (i < 0) {
        explain_key(text, n, why, why_len);
        return false;
    }
    term->key = keys[i].key;
    if (keys[i].list != (text[n] == ':')) {
        snprintf(why, why_len,
                 keys[i].list ? "'%s' wants a list: %s:..."
                              : "'%s' stands alone, without ':'",
                 keys[i].name, keys[i].name);
        return false;
    }
    return !keys[i].list ||
           parse_items(arena, text + n + 1, term, why, why_len);
}

static size_t count_terms(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++)
        n += !is_blank(*text) && (text[1] == '\0' || is_blank(text[1]));
    return n;
}

bool wf_select_parse(struct wf_arena *arena, const char *text,
                     struct wf_select *select, char *why, size_t why_len)
{
    size_t most = count_terms(text);
    memset(select, 0, sizeof *select);
    if (most == 0) {
        snprintf(why, why_len, "empty; write * for everything");
        return false;
    }
    select->terms = wf_arena_alloc(arena, most * sizeof *select->terms);
    if (select->terms == NULL)
        return true;
    while (*text != '\0') {
        size_t n = strcspn(text, " \t");
        if (n > 0 && !(n == 1 && *text == '*')) {
            const char *one = wf_arena_copy(arena, text, n);
            if (!parse_term(arena, one, &select->terms[select->term_count++],
                            why, why_len))
                return false;
        }
        text += n + (text[n] != '\0');
    }
    return true;
}

static bool has_reaching(const char *transport,
                         const struct wf_route_candidate *candidates, int n)
{
    if (candidates == NULL)
        return true;
    for (int i = 0; i < n; i++) {
        if (candidates[i].reaches &&
            wf_name_equal(candidates[i].transport, transport))
            return true;
    }
    return false;
}

static bool match_item(enum wf_term_key key, const union wf_term_item *item,
                       const struct wf_route_end *end,
                       const struct wf_route_end *other)
{
    switch (key) {
    case WF_TERM_JOB:
        return item->other == (end->job != other->job);
    case WF_TERM_RANK:
        return wf_range_has(&item->range, end->rank);
    case WF_TERM_HOST:
    case WF_TERM_NODE: /* the core names a node by its host or WEFT_NODE */
        return end->host != NULL &&
               wf_pattern_match_host(item->text, end->host);
    default:
        return net_has_any(&item->net, end->net);
    }
}

static bool match_term(const struct wf_term *term,
                       const struct wf_route_end *end,
                       const struct wf_route_end *other,
                       const struct wf_route_candidate *candidates, int n)
{
    switch (term->key) {
    case WF_TERM_LOCAL:
        return end->node == other->node;
    case WF_TERM_REMOTE:
        return end->node != other->node;
    case WF_TERM_SELF:
        return wf_route_is_self(end, other);
    default:
        break;
    }
    for (int i = 0; i < term->item_count; i++) {
        if (term->key == WF_TERM_TRANSPORT
                ? has_reaching(term->items[i].text, candidates, n)
                : match_item(term->key, &term->items[i], end, other))
            return true;
    }
    return false;
}

bool wf_select_match(const struct wf_select *select,
                     const struct wf_route_end *end,
                     const struct wf_route_end *other,
                     const struct wf_route_candidate *candidates, int n)
{
    for (int i = 0; i < select->term_count; i++) {
        const struct wf_term *term = &select->terms[i];
        /* without candidates a transport: term could hold, either way */
        if (candidates == NULL && term->key == WF_TERM_TRANSPORT)
            continue;
        if (match_term(term, end, other, candidates, n) == term->negate)
            return false;
    }
    return true;
}
