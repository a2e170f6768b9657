/* [collectives]: the rules by which a collective chooses its algorithm, in
 * place of the built-in choice (coll/decision.def).
 *
 *   allreduce = recursive_doubling -16K, blocks 1M- ranks:4-16 nodes:2-, ...
 *               ^ algorithm        ^ sizes         ^ conditions
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "config/collectives.h"

#include <limits.h>

#include "config/coll_rules.h"
#include "config/model.h"
#include "config/options.h"
#include "config/sections.h"
#include "config/value.h"

enum { RULES_MAX = 32 /* of one collective */ };

const weft_option wf_collectives_table[] = {
#define WF_COLLECTIVES(key, help)                                              \
    {#key,   WEFT_OPT_STR, offsetof(struct wf_collectives_options, key),       \
     "auto", NULL,         help},
#include "config/options.def"
    {0}};

/* One key while it is read. */
struct reading {
    struct wf_config *c;
    const struct wf_setting *setting;
    enum wf_coll_kind kind;
    struct wf_coll_rule rules[RULES_MAX];
    int count;
    bool sized; /* the rule being read has sizes */
};

static void report_rule(struct reading *r, const char *text)
{
    wf_problem_add(&r->c->problems, &r->setting->value_at, "%s: %s",
                   r->setting->key, text);
}

static void report_algorithm(struct reading *r, const char *word)
{
    uint32_t has = wf_coll_kinds[r->kind].algorithms;
    struct wf_words words = {.count = 0};
    char hint[512], text[700];

    for (int i = 0; i < WF_ALGORITHMS; i++)
        if (has >> i & 1)
            wf_words_add(&words, wf_coll_algorithms[i].name);
    snprintf(text, sizeof text, "'%.64s' is not an algorithm of it%s", word,
             wf_words_hint(&words, word, hint, sizeof hint));
    report_rule(r, text);
}

static bool take_algorithm(struct reading *r, const char *word)
{
    struct wf_coll_rule *rule = &r->rules[r->count];

    for (int i = 0; i < WF_ALGORITHMS; i++)
        if ((wf_coll_kinds[r->kind].algorithms >> i & 1) &&
            wf_name_equal(word, wf_coll_algorithms[i].name)) {
            *rule = wf_coll_rule_always(i);
            r->sized = false;
            return true;
        }
    report_algorithm(r, word);
    return false;
}

static int clamp_to_int(uint64_t n)
{
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* Parse a condition "ranks:4-16" or "nodes:2-". */
static bool take_range(const char *word, const char *name, struct wf_range *out)
{
    size_t n = strlen(name);

    return strncmp(word, name, n) == 0 &&
           wf_value_range(word + n, strlen(word + n), out) && out->step == 1;
}

static bool take_condition(struct reading *r, const char *word)
{
    struct wf_coll_rule *rule = &r->rules[r->count];
    struct wf_range range;
    char text[256];

    if (take_range(word, "ranks:", &range)) {
        rule->ranks = clamp_to_int(range.lo);
        rule->ranks_most = clamp_to_int(range.hi);
        return true;
    }
    if (take_range(word, "nodes:", &range) && range.hi == UINT64_MAX) {
        rule->nodes = clamp_to_int(range.lo);
        return true;
    }
    if (strcmp(word, "crowded") == 0) {
        rule->crowded = true;
        return true;
    }
    if (!r->sized &&
        wf_value_size_range(word, &rule->bytes, &rule->bytes_most)) {
        r->sized = true;
        return true;
    }
    snprintf(text, sizeof text, "'%.64s' after '%s' is %s", word,
             wf_coll_algorithms[rule->algorithm].name,
             r->sized ? "none of: ranks:4-16, nodes:2-, crowded"
                      : "none of: a range of sizes (16K-1M), ranks:4-16, "
                        "nodes:2-, crowded");
    report_rule(r, text);
    return false;
}

/* Parse one rule: an algorithm and conditions, separated by blanks. */
static bool take_rule(struct reading *r, char *text)
{
    char *save, *word = strtok_r(text, " \t", &save);

    if (word == NULL) {
        report_rule(r, "a rule between commas is empty");
        return false;
    }
    if (!take_algorithm(r, word))
        return false;
    while ((word = strtok_r(NULL, " \t", &save)) != NULL)
        if (!take_condition(r, word))
            return false;
    return true;
}

static void take_rules(struct reading *r, char *text)
{
    bool good = true;

    for (char *rule = text, *comma; rule != NULL; rule = comma) {
        comma = strchr(rule, ',');
        if (comma != NULL)
            *comma++ = '\0';
        if (r->count == RULES_MAX) {
            report_rule(r, "more than 32 rules");
            return;
        }
        if (take_rule(r, rule))
            r->count++;
        else
            good = false;
    }
    if (!good)
        r->count = 0;
}

static void store_rules(struct reading *r)
{
    size_t bytes = (size_t)r->count * sizeof r->rules[0];
    struct wf_coll_rule *rules;

    if (bytes == 0 || !(rules = wf_arena_alloc(&r->c->arena, bytes)))
        return;
    memcpy(rules, r->rules, bytes);
    r->c->collectives.of[r->kind] = rules;
    r->c->collectives.count[r->kind] = r->count;
}

static void read_key(struct wf_config *c, const struct wf_setting *v,
                     enum wf_coll_kind kind)
{
    struct reading r = {.c = c, .setting = v, .kind = kind};

    if (strcmp(v->value, "auto") == 0)
        return;
    take_rules(&r, wf_arena_copy(&c->arena, v->value, strlen(v->value)));
    store_rules(&r);
}

void wf_coll_rules_build(struct wf_config *c)
{
    const weft_option *const tables[] = {wf_collectives_table};
    struct wf_section *s = wf_section_find(c, WF_SECTION_COLLECTIVES, "");

    if (s == NULL)
        return;
    wf_options_unknown(s, tables, 1, "", &c->problems);
    for (int i = 0; i < WF_COLL_KINDS; i++) {
        struct wf_setting *v = wf_setting_find(s, wf_coll_kinds[i].name);
        if (v != NULL)
            read_key(c, v, (enum wf_coll_kind)i);
    }
}

const struct wf_coll_rules *wf_config_collectives(const struct wf_config *c)
{
    return &c->collectives;
}
