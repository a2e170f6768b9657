/* This file reads --map-by, --rank-by, --bind-to and --cpu-set: see
 * placement.h.
 *
 *   map   [PLACE | ppr:N:PLACE][:MODIFIER[,MODIFIER]]...
 *   rank  PLACE | fill, with the modifier fill
 *   bind  none | share | PLACE[:N] | list:CPUS,CPUS... , with modifiers;
 *         CPUS is 0-3+8
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    enum place place;
} places[] = {
    {"slot", PLACE_SLOT},       {"node", PLACE_NODE},
    {"socket", PLACE_PACKAGE},  {"package", PLACE_PACKAGE},
    {"numa", PLACE_NUMA},       {"l3cache", PLACE_L3},
    {"l2cache", PLACE_PART + WF_HARDWARE_L2},
    {"core", PLACE_CORE},       {"hwthread", PLACE_THREAD},
    {"machine", PLACE_NODE},    {"l3", PLACE_L3},
    {"l2", PLACE_PART + WF_HARDWARE_L2},
    {"hwt", PLACE_THREAD}};

/* These values of other launchers are refused; the table names the nearest
 * one. */
static const struct {
    const char *name, *nearest;
} others[] = {{"board", "socket"},
              {"l1cache", "core"},
              {"l1", "core"},
              {"l1dcache", "core"},
              {"l1icache", "core"},
              {"l4cache", "l3cache"},
              {"l5cache", "l3cache"},
              {"rr", "hwthread"},
              {"dist", "numa"},
              {"mindist", "numa"},
              {"cpu", "core"},
              {"cpu-list", "list:CPUS,CPUS... of --bind-to"},
              {"cpulist", "list:CPUS,CPUS... of --bind-to"},
              {"pe-list", "--cpu-list, and list:CPUS,CPUS... of --bind-to"},
              {"rankfile", "--hostfile, and list:CPUS,CPUS... of --bind-to"},
              {"rankfile_file", "--hostfile"},
              {"seq", "a --hostfile with one line for each rank"},
              {"span", "node"},
              {"numamem", "numa"}};

/* A word of a value ends at the next stop character. */
struct word {
    const char *text;
    size_t n;
};

static struct word next_word(const char **at, const char *stops)
{
    struct word w = {*at, strcspn(*at, stops)};

    *at += w.n + ((*at)[w.n] != '\0');
    return w;
}

static bool is_word(struct word w, const char *name)
{
    return strlen(name) == w.n && strncasecmp(w.text, name, w.n) == 0;
}

static bool number_of(struct word w, int *out)
{
    char *end;
    long n = w.n ? strtol(w.text, &end, 10) : 0;

    if (n < 1 || n > PLACEMENT_MOST || end != w.text + w.n)
        return false;
    *out = (int)n;
    return true;
}

static bool refuse_word(char *error, struct word w, const char *what,
                        const char *nearest)
{
    snprintf(error, PLACEMENT_ERROR_MAX, "there is no %s '%.*s'; %s%s", what,
             (int)w.n, w.text, nearest ? "the nearest is " : "",
             nearest ? nearest
                     : "there are slot, node, socket, numa, l3cache, l2cache, "
                       "core and hwthread");
    return false;
}

const char *wf_place_name(enum place place)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i].place == place)
            return places[i].name;
    return "slot";
}

static bool place_of(struct word w, enum place *out, char *error)
{
    const char *nearest = NULL, *equals = memchr(w.text, '=', w.n);
    struct word name = {w.text, equals ? (size_t)(equals - w.text) : w.n};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (is_word(w, places[i].name)) {
            *out = places[i].place;
            return true;
        }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_word(name, others[i].name))
            nearest = others[i].nearest;
    return refuse_word(error, w, "place", nearest);
}

/* ---- --map-by ------------------------------------------------------------ */

static bool take_width(struct placement *p, struct word w, char *error)
{
    struct word value = {w.text + 3, w.n - 3};

    if (number_of(value, &p->width))
        return true;
    snprintf(error, PLACEMENT_ERROR_MAX,
             "'%.*s': PE= is the number of processors of each rank, at least 1",
             (int)w.n, w.text);
    return false;
}

static bool map_modifier(struct placement *p, struct word w, char *error)
{
    int n;

    if (is_word(w, "oversubscribe") || is_word(w, "nooversubscribe"))
        p->refuse_more = (w.text[0] | 0x20) == 'n';
    else if (is_word(w, "hwtcpus") || is_word(w, "hwthreadcpus"))
        p->by_thread = true;
    else if (is_word(w, "corecpus"))
        p->by_thread = false;
    else if (is_word(w, "display"))
        p->show_map = true;
    else if (is_word(w, "donotlaunch"))
        p->dry_run = true;
    else if (w.n >= 3 && strncasecmp(w.text, "pe=", 3) == 0)
        return take_width(p, w, error);
    else if (is_word(w, "span"))
        return refuse_word(error, w, "modifier", "--map-by node");
    else if (number_of(w, &n))
        return refuse_word(error, w, "modifier",
                           "PE=N, N processors for each rank");
    else
        return refuse_word(error, w, "modifier",
                           "one of PE=N, OVERSUBSCRIBE, NOOVERSUBSCRIBE, "
                           "HWTCPUS, "
                           "CORECPUS, DISPLAY, DONOTLAUNCH");
    return true;
}

/* Read ppr:N:PLACE, of which "ppr" has been read. */
static bool per_place(struct placement *p, const char **at, char *error)
{
    struct word n = next_word(at, ":"), unit = next_word(at, ":");

    if (!number_of(n, &p->per)) {
        snprintf(error, PLACEMENT_ERROR_MAX,
                 "ppr:N:PLACE puts N ranks into each place, N at least 1");
        return false;
    }
    if (!place_of(unit, &p->map, error))
        return false;
    if (p->map == PLACE_NODE || p->map == PLACE_SLOT) {
        p->per_node = p->map == PLACE_NODE ? p->per : 0;
        p->per = 0;
        p->cyclic = false;
        if (p->map == PLACE_SLOT)
            return refuse_word(error, unit, "place for ppr", "ppr:N:node");
        p->map = PLACE_SLOT;
    }
    return true;
}

bool wf_placement_map(struct placement *p, const char *text, char *error)
{
    const char *at = text;
    struct word first = next_word(&at, ":");
    bool good = true;

    p->map_text = text;
    if (is_word(first, "ppr"))
        good = per_place(p, &at, error);
    else if (first.n)
        good = place_of(first, &p->map, error);
    while (good && *at)
        good = map_modifier(p, next_word(&at, ":,"), error);
    return good;
}

/* ---- --rank-by ----------------------------------------------------------- */

bool wf_placement_rank(struct placement *p, const char *text, char *error)
{
    const char *at = text;
    struct word first = next_word(&at, ":");
    bool good = true;

    p->rank_text = text;
    if (is_word(first, "fill"))
        p->rank = PLACE_SLOT;
    else
        good = place_of(first, &p->rank, error);
    while (good && *at) {
        struct word w = next_word(&at, ":,");
        if (is_word(w, "fill"))
            p->rank = PLACE_SLOT;
        else
            good = refuse_word(error, w, "modifier", "--rank-by node, or fill");
    }
    return good;
}

/* ---- --bind-to ----------------------------------------------------------- */

static bool bind_modifier(struct placement *p, struct word w, char *error)
{
    bool counted = p->bind == PLACE_CORE || p->bind == PLACE_THREAD;
    int n;

    if (is_word(w, "overload-allowed"))
        p->overload = true;
    else if (is_word(w, "no-overload"))
        p->overload = false;
    else if (is_word(w, "if-supported"))
        p->if_supported = true;
    else if (p->binding == BIND_PART && counted && number_of(w, &n))
        p->width = n;
    else
        return refuse_word(error, w, "modifier",
                           "one of overload-allowed, no-overload, "
                           "if-supported; "
                           "core:N and hwthread:N bind to N of them");
    return true;
}

bool wf_placement_bind(struct placement *p, const char *text, char *error)
{
    const char *at = text;
    struct word first = next_word(&at, ":");
    bool good = true;

    p->bind_text = text;
    p->binding = BIND_PART;
    p->bind = PLACE_UNSET;
    if (is_word(first, "none")) {
        p->binding = BIND_NONE;
    } else if (is_word(first, "share")) {
        p->binding = BIND_SHARE;
    } else if (is_word(first, "list") || is_word(first, "user")) {
        p->binding = BIND_LIST;
        p->list = at;
        if (!*at)
            snprintf(error, PLACEMENT_ERROR_MAX,
                     "list:CPUS,CPUS... names the processors of each rank, for "
                     "example list:0-3+8,4-7");
        return *at != '\0';
    } else if (is_word(first, "slot")) {
        good = refuse_word(error, first, "place", "core");
    } else {
        good = place_of(first, &p->bind, error);
    }
    while (good && *at)
        good = bind_modifier(p, next_word(&at, ":,"), error);
    return good;
}

bool wf_placement_cpus(struct placement *p, const char *text, char *error)
{
    struct wf_cpus s;

    p->cpus = text;
    if (wf_cpus_read(text, &s) && wf_cpus_lowest(&s) >= 0)
        return true;
    snprintf(error, PLACEMENT_ERROR_MAX,
             "a list of processors as 0-3,8, numbers below %d", WF_CPUS_MAX);
    return false;
}
