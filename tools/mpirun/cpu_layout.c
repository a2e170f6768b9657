/* This file assigns processors to processes: see cpu_layout.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cpu_layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool wf_cpu_layout_refuse(const struct cpu_layout *d, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(d->error, PLACEMENT_ERROR_MAX, fmt, args);
    va_end(args);
    return false;
}

/* ---- places -------------------------------------------------------------- */

static int processors_of(const struct cpu_layout *d, int process)
{
    return d->first_pick[process + 1] - d->first_pick[process];
}

static int part_of(const struct cpu_layout *d, int processor, enum place place)
{
    return d->machine->processors[processor].first[wf_place_type(place)];
}

/* Returns whether the processor is in the instance; -1 means the whole
 * machine. */
static bool is_in(const struct cpu_layout *d, int processor, int instance)
{
    return instance < 0 ||
           part_of(d, processor, d->placement->map) == d->first_cpu[instance];
}

static int count_free(const struct cpu_layout *d, int instance)
{
    int n = 0;

    for (int i = 0; i < d->machine->count; i++)
        n += is_in(d, i, instance) && d->use_count[i] == 0;
    return n;
}

/* Returns the first of the processors with the fewest users. */
static int least_used(const struct cpu_layout *d, int instance)
{
    int best = -1;

    for (int i = 0; i < d->machine->count; i++)
        if (is_in(d, i, instance) &&
            (best < 0 || d->use_count[i] < d->use_count[best]))
            best = i;
    return best;
}

static void take_processors(struct cpu_layout *d, int process, int instance)
{
    for (int k = d->first_pick[process]; k < d->first_pick[process + 1]; k++) {
        int i = least_used(d, instance);
        d->picks[k] = i;
        d->overloaded = d->overloaded || d->use_count[i] > 0;
        d->use_count[i]++;
    }
}

/* Returns the next instance in turn that has room; if none has, the next
 * one. */
static int next_in_turn(const struct cpu_layout *d, int process)
{
    for (int k = 0; k < d->instances; k++) {
        int instance = (process + k) % d->instances;
        if (count_free(d, instance) >= processors_of(d, process))
            return instance;
    }
    return process % d->instances;
}

static bool place_all(struct cpu_layout *d)
{
    const struct placement *p = d->placement;
    bool in_parts = p->per || (wf_place_is_part(p->map) && p->map < PLACE_CORE);

    if (p->per && d->processes->count > d->instances * p->per)
        return wf_cpu_layout_refuse(
            d,
            "--map-by %s places %d processes on this host, "
            "not %d",
            p->map_text, d->instances * p->per, d->processes->count);
    for (int i = 0; i < d->processes->count; i++)
        take_processors(d, i, p->per     ? i / p->per
                              : in_parts ? next_in_turn(d, i)
                                         : -1);
    return true;
}

/* ---- ranks --------------------------------------------------------------- */

/* Sort the places by key; the insertion sort keeps equal ones in their order.
 * key: of each place */
static void sort_by(struct cpu_layout *d, const int *key)
{
    for (int i = 1; i < d->processes->count; i++) {
        int moving = d->place_of[i], at = i;
        for (; at > 0 && key[d->place_of[at - 1]] > key[moving]; at--)
            d->place_of[at] = d->place_of[at - 1];
        d->place_of[at] = moving;
    }
}

static int first_processor(const struct cpu_layout *d, int place)
{
    return d->picks[d->first_pick[place]];
}

/* Set the key of each place to the number of places before it in the same
 * part. */
static void count_before(const struct cpu_layout *d, int *key)
{
    for (int i = 0; i < d->processes->count; i++) {
        int part =
            part_of(d, first_processor(d, d->place_of[i]), d->placement->rank);
        key[d->place_of[i]] = 0;
        for (int k = 0; k < i; k++)
            key[d->place_of[i]] +=
                part_of(d, first_processor(d, d->place_of[k]),
                        d->placement->rank) == part;
    }
}

static bool all_alike(struct cpu_layout *d)
{
    for (int i = 1; i < d->processes->count; i++)
        if (processors_of(d, i) != processors_of(d, 0))
            return wf_cpu_layout_refuse(
                d,
                "--rank-by %s cannot number processes that "
                "hold %d and %d ranks",
                d->placement->rank_text, d->processes->held[0],
                d->processes->held[i]);
    return true;
}

/* Number the ranks (--rank-by): in the order of the machine; by a part, the
 * first place of every part, then the second of every part, and so on. */
static bool number_ranks(struct cpu_layout *d)
{
    int count = d->processes->count, *key;

    for (int i = 0; i < count; i++)
        d->place_of[i] = i;
    if (d->placement->rank == PLACE_UNSET)
        return true;
    key = calloc((size_t)count + 1, sizeof *key);
    if (!key || !all_alike(d)) {
        free(key);
        return false;
    }
    for (int i = 0; i < count; i++)
        key[i] = first_processor(d, i);
    sort_by(d, key);
    if (wf_place_is_part(d->placement->rank) &&
        d->placement->rank < PLACE_CORE) {
        count_before(d, key);
        sort_by(d, key);
    }
    free(key);
    return true;
}

/* ---- all ----------------------------------------------------------------- */

enum { PICKS_MOST = 1 << 24 };

static bool too_many(const struct cpu_layout *d)
{
    long all = 0;

    for (int i = 0; i < d->processes->count && all <= PICKS_MOST; i++)
        all += (long)d->processes->held[i] *
               (d->placement->width ? d->placement->width : 1);
    return all > PICKS_MOST &&
           !wf_cpu_layout_refuse(
               d, "the ranks of this host need more than %d processors",
               PICKS_MOST);
}

static bool allocate_tables(struct cpu_layout *d)
{
    size_t processes = (size_t)d->processes->count,
           n = (size_t)d->machine->count;
    int width = d->placement->width ? d->placement->width : 1;

    d->first_pick = calloc(processes + 1, sizeof *d->first_pick);
    for (int i = 0; d->first_pick && i < d->processes->count; i++)
        d->first_pick[i + 1] = d->first_pick[i] + width * d->processes->held[i];
    d->picks = d->first_pick ? calloc((size_t)d->first_pick[processes] + 1,
                                 sizeof *d->picks) : NULL;
    d->place_of = calloc(processes + 1, sizeof *d->place_of);
    d->use_count = calloc(n + 1, sizeof *d->use_count);
    d->first_cpu = calloc(n + 1, sizeof *d->first_cpu);
    return d->picks && d->place_of && d->use_count && d->first_cpu;
}

bool wf_cpu_layout_make(struct cpu_layout *d)
{
    (void)wf_cpu_layout_refuse(d, "out of memory");
    if (too_many(d) || !allocate_tables(d))
        return false;
    if (wf_place_is_part(d->placement->map))
        d->instances = wf_machine_instances(
            d->machine, wf_place_type(d->placement->map), d->first_cpu);
    return place_all(d) && number_ranks(d);
}

void wf_cpu_layout_free(struct cpu_layout *d)
{
    free(d->first_pick);
    free(d->picks);
    free(d->place_of);
    free(d->use_count);
    free(d->first_cpu);
}
