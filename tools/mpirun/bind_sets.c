/* From a policy to a set of CPUs for each process: see binding.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deal.h"

static void add_processor(const struct deal *d, int i, struct wf_cpus *s)
{
    const struct processor *p = &d->m->processors[i];

    if (d->p->bind == PLACE_THREAD)
        wf_cpu_add(s, p->cpus[0]);
    else if (d->p->bind == PLACE_NODE)
        *s = d->m->usable;
    else
        wf_machine_add(d->m, wf_place_type(d->p->bind),
                       p->first[wf_place_type(d->p->bind)], s);
}

static void bind_to_parts(const struct deal *d, struct wf_cpus *sets)
{
    for (int i = 0; i < d->who->count; i++) {
        int place = d->order[i];
        for (int k = d->start[place]; k < d->start[place + 1]; k++)
            add_processor(d, d->picks[k], &sets[i]);
    }
}

/* Each process an equal share of the processors for each of its ranks, and at
 * least one. */
static void bind_to_shares(const struct deal *d, struct wf_cpus *sets)
{
    long all = d->start[d->who->count], n = d->m->count;

    for (int i = 0; i < d->who->count; i++) {
        long k = d->start[i] * n / all, end = d->start[i + 1] * n / all;
        for (end = end > k ? end : k + 1; k < end; k++)
            for (int c = 0; c < d->m->processors[k].count; c++)
                wf_cpu_add(&sets[i], d->m->processors[k].cpus[c]);
    }
}

static void bind_to_all(const struct deal *d, struct wf_cpus *sets)
{
    for (int i = 0; i < d->who->count; i++)
        sets[i] = d->m->usable;
}

/* ---- list: --------------------------------------------------------------- */

static bool read_set(const char *text, size_t n, struct wf_cpus *s)
{
    char copy[1024];

    if (n == 0 || n >= sizeof copy)
        return false;
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] == '+' ? ',' : text[i];
    copy[n] = '\0';
    return wf_cpus_read(copy, s) && wf_cpus_lowest(s) >= 0;
}

static bool refuse_set(const struct deal *d, const char *text, size_t n)
{
    char usable[128];

    wf_cpus_text(&d->m->usable, usable, sizeof usable);
    return wf_deal_refuse(d, "--bind-to %s: '%.*s' is no set such as 0-3+8 of the "
                          "processors %s, which this job may use",
                          d->p->bind_text, (int)n, text, usable);
}

/* More processes than sets begin at the first set again. */
static bool bind_to_list(const struct deal *d, struct wf_cpus *sets)
{
    const char *at = d->p->list;

    for (int i = 0; i < d->who->count; i++) {
        size_t n = strcspn(at, ",");
        if (!read_set(at, n, &sets[i]) ||
            !wf_cpus_inside(&sets[i], &d->m->usable))
            return refuse_set(d, at, n);
        at += n;
        at = *at ? at + 1 : d->p->list;
    }
    return true;
}

/* ---- what a policy may ask for ------------------------------------------- */

/* The placement with the defaults for all that the user left open. */
static struct placement complete_placement(const struct placement *given)
{
    struct placement p = *given;

    p.overload = p.overload || (p.per && p.map >= PLACE_CORE);
    if (p.binding != BIND_DEFAULT)
        return p;
    p.binding = BIND_PART;
    if (p.width)
        p.bind = p.by_thread ? PLACE_THREAD : PLACE_CORE;
    else if (wf_place_is_part(p.map))
        p.bind = p.map;
    else
        p.binding = p.cpus ? BIND_SHARE : BIND_NONE;
    return p;
}

/* Two options that both say who gets which processors. */
static bool options_agree(const struct deal *d)
{
    const struct placement *p = d->p;
    bool ranked = wf_place_is_part(p->rank);

    if ((p->binding != BIND_SHARE && p->binding != BIND_LIST) ||
        (!ranked && !wf_place_is_part(p->map) && !p->width))
        return true;
    return wf_deal_refuse(d, "--bind-to %s says by itself who gets which "
                          "processors; leave out %s %s, or use --bind-to core",
                          p->bind_text, ranked ? "--rank-by" : "--map-by",
                          ranked ? p->rank_text
                          : p->map_text ? p->map_text : "PE=");
}

static bool is_known(const struct deal *d, enum place place, const char *option)
{
    const struct machine *m = d->m;
    bool cached = place == PLACE_PART + WF_HARDWARE_L2 &&
                  wf_machine_knows(m, WF_HARDWARE_L3);

    if (!wf_place_is_part(place) || wf_machine_knows(m, wf_place_type(place)))
        return true;
    return wf_deal_refuse(d, "%s %s: this host does not say which processors share "
                          "one; the nearest is %s", option, wf_place_name(place),
                          cached ? "l3cache" : "socket");
}

/* Ranks that are bound to the same processor wait for each other; who wants
 * that says so. */
static enum binding_result refuse_overload(const struct deal *d,
                                           const struct placement *given)
{
    bool mapped = given->binding == BIND_DEFAULT;
    const char *value = mapped ? given->map_text : given->bind_text;

    (void)wf_deal_refuse(d, "%s %s: the ranks need %d processors, and this job may "
                         "use %d here; use --bind-to none, or --bind-to "
                         "%s:overload-allowed", mapped ? "--map-by" : "--bind-to",
                         value ? value : "PE=", d->start[d->who->count],
                         d->m->count, mapped ? wf_place_name(d->p->bind) : value);
    return BINDING_REFUSED;
}

static bool binds_to_single(const struct placement *p)
{
    return p->binding == BIND_SHARE ||
           (p->binding == BIND_PART && p->bind >= PLACE_CORE);
}

/* ---- sets ---------------------------------------------------------------- */

static enum binding_result bind_all(struct deal *d, struct wf_cpus *sets)
{
    const struct placement *p = d->p;

    if (p->binding == BIND_NONE && !p->cpus)
        return BINDING_UNBOUND;
    if (p->binding == BIND_NONE)
        bind_to_all(d, sets);
    else if (p->binding == BIND_SHARE)
        bind_to_shares(d, sets);
    else if (p->binding == BIND_PART)
        bind_to_parts(d, sets);
    else if (!bind_to_list(d, sets))
        return BINDING_REFUSED;
    return BINDING_MADE;
}

static enum binding_result make_sets(struct deal *d,
                                     const struct placement *given,
                                     struct placement *p, struct wf_cpus *sets)
{
    bool open = given->binding == BIND_DEFAULT && !p->width;

    if (!options_agree(d) || !is_known(d, p->map, "--map-by") ||
        !is_known(d, p->rank, "--rank-by"))
        return BINDING_REFUSED;
    if (p->binding == BIND_PART && !is_known(d, p->bind, "--bind-to")) {
        if (!p->if_supported)
            return BINDING_REFUSED;
        p->binding = BIND_NONE;
    }
    if (!wf_deal_make(d))
        return BINDING_REFUSED;
    if (d->overloaded && binds_to_single(p) && !p->overload) {
        if (!open)
            return refuse_overload(d, given);
        p->binding = BIND_NONE;
    }
    return bind_all(d, sets);
}

enum binding_result wf_binding_make(const struct machine *m,
                                    const struct placement *given,
                                    const struct local_processes *who,
                                    struct wf_cpus *sets, char *error)
{
    struct placement p = complete_placement(given);
    struct deal d = {.m = m, .p = &p, .who = who, .error = error};
    enum binding_result result;

    if (m->count == 0) {
        snprintf(error, PLACEMENT_ERROR_MAX, "this job may use no processor");
        return BINDING_REFUSED;
    }
    memset(sets, 0, (size_t)who->count * sizeof *sets);
    result = make_sets(&d, given, &p, sets);
    wf_deal_free(&d);
    return result;
}
