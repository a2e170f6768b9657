/* This file turns a policy into a set of CPUs for each process: see binding.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_layout.h"

static void add_processor(const struct cpu_layout *d, int i, struct wf_cpus *s)
{
    const struct processor *p = &d->machine->processors[i];

    if (d->placement->bind == PLACE_THREAD)
        wf_cpu_add(s, p->cpus[0]);
    else if (d->placement->bind == PLACE_NODE)
        *s = d->machine->usable;
    else
        wf_machine_add(d->machine, wf_place_type(d->placement->bind),
                       p->first[wf_place_type(d->placement->bind)], s);
}

static void bind_to_parts(const struct cpu_layout *d, struct wf_cpus *sets)
{
    for (int i = 0; i < d->processes->count; i++) {
        int place = d->place_of[i];
        for (int k = d->first_pick[place]; k < d->first_pick[place + 1]; k++)
            add_processor(d, d->picks[k], &sets[i]);
    }
}

/* Give each process an equal share of the processors for each of its ranks, and
 * at least one processor. */
static void bind_to_shares(const struct cpu_layout *d, struct wf_cpus *sets)
{
    long all = d->first_pick[d->processes->count], n = d->machine->count;

    for (int i = 0; i < d->processes->count; i++) {
        long k = d->first_pick[i] * n / all,
             end = d->first_pick[i + 1] * n / all;
        for (end = end > k ? end : k + 1; k < end; k++)
            for (int c = 0; c < d->machine->processors[k].count; c++)
                wf_cpu_add(&sets[i], d->machine->processors[k].cpus[c]);
    }
}

static void bind_to_all(const struct cpu_layout *d, struct wf_cpus *sets)
{
    for (int i = 0; i < d->processes->count; i++)
        sets[i] = d->machine->usable;
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

static bool refuse_set(const struct cpu_layout *d, const char *text, size_t n)
{
    char usable[128];

    wf_cpus_text(&d->machine->usable, usable, sizeof usable);
    return wf_cpu_layout_refuse(
        d,
        "--bind-to %s: '%.*s' is no set such as 0-3+8 of the "
        "processors %s, which this job may use",
        d->placement->bind_text, (int)n, text, usable);
}

/* Give process i the i-th set; more processes than sets begin at the first set
 * again. */
static bool bind_to_list(const struct cpu_layout *d, struct wf_cpus *sets)
{
    const char *at = d->placement->list;

    for (int i = 0; i < d->processes->count; i++) {
        size_t n = strcspn(at, ",");
        if (!read_set(at, n, &sets[i]) ||
            !wf_cpus_inside(&sets[i], &d->machine->usable))
            return refuse_set(d, at, n);
        at += n;
        at = *at ? at + 1 : d->placement->list;
    }
    return true;
}

/* ---- what a policy may ask for ------------------------------------------- */

/* Returns the placement with the defaults for everything that the user left
 * open. */
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

/* Refuse two options that both choose the processors of a process. */
static bool options_agree(const struct cpu_layout *d)
{
    const struct placement *p = d->placement;
    bool ranked = wf_place_is_part(p->rank);

    if ((p->binding != BIND_SHARE && p->binding != BIND_LIST) ||
        (!ranked && !wf_place_is_part(p->map) && !p->width))
        return true;
    return wf_cpu_layout_refuse(d, "--bind-to %s says by itself who gets which "
                          "processors; leave out %s %s, or use --bind-to core",
                          p->bind_text, ranked ? "--rank-by" : "--map-by",
                          ranked ? p->rank_text
                          : p->map_text ? p->map_text : "PE=");
}

static bool is_known(const struct cpu_layout *d, enum place place,
                     const char *option)
{
    const struct machine *m = d->machine;
    bool cached = place == PLACE_PART + WF_HARDWARE_L2 &&
                  wf_machine_knows(m, WF_HARDWARE_L3);

    if (!wf_place_is_part(place) || wf_machine_knows(m, wf_place_type(place)))
        return true;
    return wf_cpu_layout_refuse(
        d,
        "%s %s: this host does not say which processors share "
        "one; the nearest is %s",
        option, wf_place_name(place), cached ? "l3cache" : "socket");
}

/* Refuse to bind several ranks to one processor unless the user allows it: such
 * ranks wait for each other. */
static enum binding_result refuse_overload(const struct cpu_layout *d,
                                           const struct placement *given)
{
    bool mapped = given->binding == BIND_DEFAULT;
    const char *value = mapped ? given->map_text : given->bind_text;

    (void)wf_cpu_layout_refuse(
        d,
        "%s %s: the ranks need %d processors, and this job may "
        "use %d here; use --bind-to none, or --bind-to "
        "%s:overload-allowed",
        mapped ? "--map-by" : "--bind-to",
        value ? value : "PE=", d->first_pick[d->processes->count],
        d->machine->count, mapped ? wf_place_name(d->placement->bind) : value);
    return BINDING_REFUSED;
}

static bool binds_to_single(const struct placement *p)
{
    return p->binding == BIND_SHARE ||
           (p->binding == BIND_PART && p->bind >= PLACE_CORE);
}

/* ---- sets ---------------------------------------------------------------- */

static enum binding_result bind_all(struct cpu_layout *d, struct wf_cpus *sets)
{
    const struct placement *p = d->placement;

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

static enum binding_result make_sets(struct cpu_layout *d,
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
    if (!wf_cpu_layout_make(d))
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
    struct cpu_layout d = {
        .machine = m, .placement = &p, .processes = who, .error = error};
    enum binding_result result;

    if (m->count == 0) {
        snprintf(error, PLACEMENT_ERROR_MAX, "this job may use no processor");
        return BINDING_REFUSED;
    }
    memset(sets, 0, (size_t)who->count * sizeof *sets);
    result = make_sets(&d, given, &p, sets);
    wf_cpu_layout_free(&d);
    return result;
}
