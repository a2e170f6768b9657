/* [rank]: the table of ranks, and their distribution over hosts.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/ranks.h"

#include "config/hosts.h"
#include "config/pattern.h"
#include "config/sections.h"

enum { PARTS_MAX = 64 };

/* The ranks of one section, in the order they are written. */
struct covered {
    struct wf_range part[PARTS_MAX];
    int parts;
};

static bool parse_ranks(const struct wf_section *s, struct covered *all)
{
    const char *at = s->name;
    all->parts = 0;
    while (*at != '\0') {
        size_t length = strcspn(at, ", ");
        struct wf_range part;
        if (length > 0) {
            if (all->parts == PARTS_MAX || !wf_value_range(at, length, &part) ||
                part.hi >= WF_RANKS_MAX)
                return false;
            all->part[all->parts++] = part;
        }
        at += length + (at[length] != '\0');
    }
    return all->parts > 0;
}

/* Step to the rank after `rank` in part k, or to the first of the next part;
 * false: there is none. */
static bool next_rank(const struct covered *all, int *k, uint64_t *rank)
{
    const struct wf_range *part = &all->part[*k];
    if (part->hi - *rank >= part->step) {
        *rank += part->step;
        return true;
    }
    if (++*k == all->parts)
        return false;
    *rank = all->part[*k].lo;
    return true;
}

void wf_ranks_reserve(struct wf_config *c)
{
    struct covered all;
    for (struct wf_section *s = c->sections; s != NULL; s = s->next) {
        if (s->kind != WF_SECTION_RANK)
            continue;
        if (!parse_ranks(s, &all)) {
            wf_problem_add(&c->problems, &s->at,
                           "'%s' is no list of ranks as in 0-3,8 or 0-14:2 "
                           "(below %d)",
                           s->name, WF_RANKS_MAX);
            continue;
        }
        for (int i = 0; i < all.parts; i++) {
            if (all.part[i].hi >= c->rank_count)
                c->rank_count = (uint32_t)all.part[i].hi + 1;
        }
    }
    c->ranks = wf_arena_alloc(&c->arena, c->rank_count * sizeof *c->ranks);
    if (c->ranks == NULL)
        c->rank_count = 0;
}

/* Assign its ranks to a section; returns their number, 0: one is taken. */
static uint32_t claim_ranks(struct wf_config *c, const struct wf_section *s,
                            const struct covered *all)
{
    uint32_t index = 0;
    int k = 0;
    uint64_t rank = all->part[0].lo;
    do {
        struct wf_rank_entry *r = &c->ranks[rank];
        if (r->section != NULL) {
            wf_problem_add(&c->problems, &s->at,
                           "rank %llu is already in [rank %s] (%s)",
                           (unsigned long long)rank, r->section->name,
                           wf_place_text(c, &r->section->at));
            return 0;
        }
        r->section = s;
        r->index = index++;
    } while (next_rank(all, &k, &rank));
    return index;
}

/* The host= of a [rank] section: names in order, and how ranks are distributed
 * over them. */
struct deal {
    const char *list; /* patterns between blanks or commas */
    uint32_t names;
    bool cyclic;
};

static const char *next_pattern(const char *at, char *buf, size_t n)
{
    int depth = 0;
    size_t used = 0;
    while (*at == ' ' || *at == ',')
        at++;
    for (; *at != '\0' && (depth > 0 || (*at != ' ' && *at != ',')); at++) {
        depth += (*at == '[') - (*at == ']');
        if (used + 1 < n)
            buf[used++] = *at;
    }
    buf[used] = '\0';
    return used > 0 ? at : NULL;
}

static bool parse_deal(struct wf_config *c, const struct wf_setting *v,
                       struct deal *deal)
{
    char pattern[WF_HOST_NAME_MAX + 1];
    const char *at = v->value;
    deal->names = 0;
    deal->cyclic = strncmp(at, "cyclic ", 7) == 0;
    if (deal->cyclic || strncmp(at, "block ", 6) == 0)
        at = strchr(at, ' ');
    deal->list = at;
    while ((at = next_pattern(at, pattern, sizeof pattern)) != NULL) {
        uint32_t count = wf_pattern_count(pattern);
        if (count == 0) {
            wf_problem_add(&c->problems, &v->value_at,
                           "host: '%s' is no host name with ranges as in "
                           "dsp[1-3]",
                           pattern);
            return false;
        }
        deal->names += count;
    }
    if (deal->names == 0)
        wf_problem_add(&c->problems, &v->value_at, "host: no name given");
    return deal->names > 0;
}

static bool expand_dealt_name(const struct deal *deal, uint32_t i, char *buf,
                              size_t n)
{
    char pattern[WF_HOST_NAME_MAX + 1];
    const char *at = deal->list;
    while ((at = next_pattern(at, pattern, sizeof pattern)) != NULL) {
        uint32_t count = wf_pattern_count(pattern);
        if (i < count)
            return wf_pattern_expand(pattern, i, buf, n);
        i -= count;
    }
    return false;
}

/* The index of the name that the index-th of count ranks gets: in blocks whose
 * sizes differ by at most one, the longer ones first, or round robin. */
static uint32_t dealt_name_index(const struct deal *deal, uint32_t index,
                                 uint32_t count)
{
    if (deal->cyclic)
        return index % deal->names;
    uint32_t each = count / deal->names, longer = count % deal->names;
    uint32_t head = longer * (each + 1);
    if (index < head)
        return index / (each + 1);
    return longer + (each > 0 ? (index - head) / each : 0);
}

static void report_host(struct wf_config *c, const struct wf_setting *v,
                        const char *name)
{
    struct wf_words words = {.count = 0};
    char hint[512];
    for (size_t i = 0; i < c->host_count; i++) {
        if (c->hosts[i].section != NULL)
            wf_words_add(&words, c->hosts[i].name);
    }
    wf_problem_add(&c->problems, &v->value_at,
                   "host '%s' has no [host] section%s", name,
                   wf_words_hint(&words, name, hint, sizeof hint));
}

/* Assign a rank to a host. The name needs a [host] section only if the file has
 * any. */
static void place_rank(struct wf_config *c, struct wf_rank_entry *r,
                       const struct wf_setting *v, const char *name)
{
    r->entry = wf_host_find(c, name);
    if (r->entry == NULL && c->hosts_described > 0)
        report_host(c, v, name);
    if (r->entry == NULL)
        r->entry = wf_host_add(c, name);
    if (r->entry != NULL)
        r->host = r->entry->name;
}

static void place_section(struct wf_config *c, const struct wf_section *s,
                          const struct covered *all, uint32_t count)
{
    const struct wf_setting *v = wf_setting_find(s, "host");
    struct deal deal = {.list = NULL};
    bool dealt = v != NULL && parse_deal(c, v, &deal);
    int k = 0, before = c->problems.count;
    uint64_t rank = all->part[0].lo;
    do {
        struct wf_rank_entry *r = &c->ranks[rank];
        char name[WF_HOST_NAME_MAX + 1];
        r->count = count;
        /* one problem per section is enough */
        if (dealt && c->problems.count == before &&
            expand_dealt_name(&deal, dealt_name_index(&deal, r->index, count),
                              name, sizeof name))
            place_rank(c, r, v, name);
    } while (next_rank(all, &k, &rank));
}

void wf_ranks_build(struct wf_config *c)
{
    struct covered all;
    for (struct wf_section *s = c->sections; s != NULL; s = s->next) {
        if (s->kind != WF_SECTION_RANK || c->rank_count == 0 ||
            !parse_ranks(s, &all))
            continue;
        uint32_t count = claim_ranks(c, s, &all);
        if (count > 0)
            place_section(c, s, &all, count);
    }
    for (uint32_t rank = 0; rank < c->rank_count; rank++) {
        struct wf_rank_entry *r = &c->ranks[rank];
        if (r->entry != NULL)
            r->local_index = r->entry->ranks++;
    }
}
