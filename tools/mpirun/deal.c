/* Dealing out processors: see deal.h.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "deal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool wf_deal_refuse(const struct deal *d, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(d->error, PLACEMENT_ERROR_MAX, fmt, args);
    va_end(args);
    return false;
}

/* ---- places -------------------------------------------------------------- */

static int processors_of(const struct deal *d, int process)
{
    return d->start[process + 1] - d->start[process];
}

static int part_of(const struct deal *d, int processor, enum place place)
{
    return d->m->processors[processor].first[wf_place_type(place)];
}

/* instance: -1 is the whole machine */
static bool is_in(const struct deal *d, int processor, int instance)
{
    return instance < 0 ||
           part_of(d, processor, d->p->map) == d->first[instance];
}

static int count_free(const struct deal *d, int instance)
{
    int n = 0;

    for (int i = 0; i < d->m->count; i++)
        n += is_in(d, i, instance) && d->used[i] == 0;
    return n;
}

/* The first of those that fewest have taken. */
static int least_used(const struct deal *d, int instance)
{
    int best = -1;

    for (int i = 0; i < d->m->count; i++)
        if (is_in(d, i, instance) && (best < 0 || d->used[i] < d->used[best]))
            best = i;
    return best;
}

static void take_processors(struct deal *d, int process, int instance)
{
    for (int k = d->start[process]; k < d->start[process + 1]; k++) {
        int i = least_used(d, instance);
        d->picks[k] = i;
        d->overloaded = d->overloaded || d->used[i] > 0;
        d->used[i]++;
    }
}

/* The next instance in turn that has room; where none has, the next. */
static int next_in_turn(const struct deal *d, int process)
{
    for (int k = 0; k < d->instances; k++) {
        int instance = (process + k) % d->instances;
        if (count_free(d, instance) >= processors_of(d, process))
            return instance;
    }
    return process % d->instances;
}

static bool place_all(struct deal *d)
{
    const struct placement *p = d->p;
    bool in_parts = p->per || (wf_place_is_part(p->map) && p->map < PLACE_CORE);

    if (p->per && d->who->count > d->instances * p->per)
        return wf_deal_refuse(d, "--map-by %s places %d processes on this host, "
                              "not %d", p->map_text, d->instances * p->per,
                              d->who->count);
    for (int i = 0; i < d->who->count; i++)
        take_processors(d, i, p->per     ? i / p->per
                              : in_parts ? next_in_turn(d, i)
                                         : -1);
    return true;
}

/* ---- ranks --------------------------------------------------------------- */

/* Insertion keeps equal ones in their order. key: of each place */
static void sort_by(struct deal *d, const int *key)
{
    for (int i = 1; i < d->who->count; i++) {
        int moving = d->order[i], at = i;
        for (; at > 0 && key[d->order[at - 1]] > key[moving]; at--)
            d->order[at] = d->order[at - 1];
        d->order[at] = moving;
    }
}

static int first_processor(const struct deal *d, int place)
{
    return d->picks[d->start[place]];
}

/* How many places before it are in the same part. */
static void count_before(const struct deal *d, int *key)
{
    for (int i = 0; i < d->who->count; i++) {
        int part = part_of(d, first_processor(d, d->order[i]), d->p->rank);
        key[d->order[i]] = 0;
        for (int k = 0; k < i; k++)
            key[d->order[i]] +=
                part_of(d, first_processor(d, d->order[k]), d->p->rank) == part;
    }
}

static bool all_alike(struct deal *d)
{
    for (int i = 1; i < d->who->count; i++)
        if (processors_of(d, i) != processors_of(d, 0))
            return wf_deal_refuse(d, "--rank-by %s cannot number processes that "
                                  "hold %d and %d ranks", d->p->rank_text,
                                  d->who->held[0], d->who->held[i]);
    return true;
}

/* --rank-by: in the order of the machine; by a part, the first place of every
 * part, then the second of every part, and so on. */
static bool number_ranks(struct deal *d)
{
    int count = d->who->count, *key;

    for (int i = 0; i < count; i++)
        d->order[i] = i;
    if (d->p->rank == PLACE_UNSET)
        return true;
    key = calloc((size_t)count + 1, sizeof *key);
    if (!key || !all_alike(d)) {
        free(key);
        return false;
    }
    for (int i = 0; i < count; i++)
        key[i] = first_processor(d, i);
    sort_by(d, key);
    if (wf_place_is_part(d->p->rank) && d->p->rank < PLACE_CORE) {
        count_before(d, key);
        sort_by(d, key);
    }
    free(key);
    return true;
}

/* ---- all ----------------------------------------------------------------- */

enum { PICKS_MOST = 1 << 24 };

static bool too_many(const struct deal *d)
{
    long all = 0;

    for (int i = 0; i < d->who->count && all <= PICKS_MOST; i++)
        all += (long)d->who->held[i] * (d->p->width ? d->p->width : 1);
    return all > PICKS_MOST &&
           !wf_deal_refuse(d, "the ranks of this host need more than %d processors",
                           PICKS_MOST);
}

static bool allocate_tables(struct deal *d)
{
    size_t processes = (size_t)d->who->count, n = (size_t)d->m->count;
    int width = d->p->width ? d->p->width : 1;

    d->start = calloc(processes + 1, sizeof *d->start);
    for (int i = 0; d->start && i < d->who->count; i++)
        d->start[i + 1] = d->start[i] + width * d->who->held[i];
    d->picks = d->start ? calloc((size_t)d->start[processes] + 1,
                                 sizeof *d->picks) : NULL;
    d->order = calloc(processes + 1, sizeof *d->order);
    d->used = calloc(n + 1, sizeof *d->used);
    d->first = calloc(n + 1, sizeof *d->first);
    return d->picks && d->order && d->used && d->first;
}

bool wf_deal_make(struct deal *d)
{
    (void)wf_deal_refuse(d, "out of memory");
    if (too_many(d) || !allocate_tables(d))
        return false;
    if (wf_place_is_part(d->p->map))
        d->instances =
            wf_machine_instances(d->m, wf_place_type(d->p->map), d->first);
    return place_all(d) && number_ranks(d);
}

void wf_deal_free(struct deal *d)
{
    free(d->start);
    free(d->picks);
    free(d->order);
    free(d->used);
    free(d->first);
}
