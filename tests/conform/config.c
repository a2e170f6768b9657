/* A plugin's options, read from its own table without the core's parser.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>

#include "conform.h"

/* A number with a unit from "KMG" (powers of 1024) or a time; false: none. */
static bool parse_number(const char *text, bool time, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}},
      times[] = {{"ns", 1},
                 {"us", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000},
                 {"m", 60000000000u}};
    char *end;
    long long n = strtoll(text, &end, 10);

    if (end == text)
        return false;
    for (size_t i = 0; i < sizeof times / sizeof *times && time; i++)
        if (strcmp(end, times[i].unit) == 0) {
            *out = (uint64_t)n * times[i].factor;
            return true;
        }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0) {
            *out = (uint64_t)n * units[i].factor;
            return true;
        }
    return false;
}

static bool parse_boolean(const char *text, int *out)
{
    *out = !strcmp(text, "yes") || !strcmp(text, "on") ||
           !strcmp(text, "true") || !strcmp(text, "1");
    return *out || !strcmp(text, "no") || !strcmp(text, "off") ||
           !strcmp(text, "false") || !strcmp(text, "0");
}

/* The place of a word in "a|b|c", or -1. */
static int find_place(const char *text, const char *range)
{
    size_t n = strlen(text);

    for (int i = 0; range && *range; i++) {
        size_t k = strcspn(range, "|");
        if (k == n && strncmp(range, text, n) == 0)
            return i;
        range += k + (range[k] == '|');
    }
    return -1;
}

static bool in_range(const char *range, bool time, int64_t value)
{
    char low[64];
    const char *dots = range ? strstr(range, "..") : NULL;
    uint64_t a = 0, b = 0;

    if (!range)
        return true;
    if (!dots)
        return false;
    snprintf(low, sizeof low, "%.*s", (int)(dots - range), range);
    if (!parse_number(low, time, &a) ||
        (dots[2] && !parse_number(dots + 2, time, &b)))
        return false;
    return (int64_t)a <= value && (!dots[2] || value <= (int64_t)b);
}

static bool store_option(const weft_option *o, char *cfg, const char *text)
{
    void *to = cfg + o->offset;
    bool time = o->type == WEFT_OPT_TIME;
    uint64_t n = 0;
    int i = 0;

    switch (o->type) {
    case WEFT_OPT_BOOL:
        if (!parse_boolean(text, &i))
            return false;
        memcpy(to, &i, sizeof i);
        return true;
    case WEFT_OPT_ENUM:
        i = find_place(text, o->range);
        memcpy(to, &i, sizeof i);
        return i >= 0;
    case WEFT_OPT_INT:
    case WEFT_OPT_SIZE:
    case WEFT_OPT_TIME:
        memcpy(to, &n, sizeof n);
        if (!parse_number(text, time, &n) ||
            !in_range(o->range, time, (int64_t)n))
            return false;
        memcpy(to, &n, sizeof n);
        return true;
    default:
        memcpy(to, &text, sizeof text);
        return true;
    }
}

const char *config_fill(const weft_plugin *p, void *cfg,
                        const struct setting *settings, int n)
{
    static char bad[256];
    int used = 0;

    for (const weft_option *o = p->options; o && o->name; o++) {
        const char *text = o->dflt;
        for (int i = 0; i < n; i++)
            if (strcmp(settings[i].key, o->name) == 0) {
                text = settings[i].value;
                used++;
            }
        if (!store_option(o, cfg, text)) {
            snprintf(bad, sizeof bad, "option %s cannot be '%s' (%s)", o->name,
                     text, o->range ? o->range : "any");
            return bad;
        }
    }
    return used == n ? NULL : "a setting (-o) names no option of the plugin";
}
