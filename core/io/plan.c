/* The choice and the plan of a two-phase access, from what all members have
 * told: the same in each of them.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/plan.h"

#include <stdlib.h>

#include "coll/layout.h"
#include "io/file.h"
#include "io/hints.h"
#include "io/twophase.h"
#include "object/error.h"
#include "os/tuning.h"

static int compare_first(const void *a, const void *b)
{
    const struct wf_io_ask *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Returns whether some member accesses bytes between those of another. */
static bool do_ranges_interleave(struct wf_io_ask *sorted,
                                 const struct wf_io_ask *asks, int n)
{
    uint64_t last = 0;
    bool found = false;
    int k = 0;

    for (int i = 0; i < n; i++)
        if (asks[i].bytes)
            sorted[k++] = asks[i];
    qsort(sorted, (size_t)k, sizeof *sorted, compare_first);
    for (int i = 0; i < k && !found; i++) {
        found = i > 0 && sorted[i].first <= last;
        last = sorted[i].last;
    }
    return found;
}

/* The sums and extremes of what all members have told. */
struct summary {
    uint64_t first, last, bytes, pieces, buffer, block, large;
    uint32_t use_least, use_most, cpus, aggregators;
    bool alone, write;
};

static void add_ask(struct summary *s, const struct wf_io_ask *a)
{
    s->alone |= a->alone;
    s->use_least = a->use < s->use_least ? a->use : s->use_least;
    s->use_most = a->use > s->use_most ? a->use : s->use_most;
    s->cpus = a->cpus < s->cpus ? a->cpus : s->cpus;
    s->buffer = a->buffer < s->buffer ? a->buffer : s->buffer;
    s->block = a->block > s->block ? a->block : s->block;
    if (a->aggregators > s->aggregators)
        s->aggregators = a->aggregators;
    if (!a->bytes)
        return;
    s->first = a->first < s->first ? a->first : s->first;
    s->last = a->last > s->last ? a->last : s->last;
    s->write |= a->writes;
    s->bytes += a->bytes;
    s->pieces += a->pieces;
    s->large = a->large < s->large ? a->large : s->large;
}

static bool does_pay(const struct summary *s, const struct wf_twophase *t,
                     int n)
{
    if (s->alone || !s->bytes || s->use_least == WF_HINT_DISABLE)
        return false;
    if (s->use_most == WF_HINT_ENABLE)
        return true;
    return s->bytes / s->pieces < s->large &&
           (s->last - s->first) / WF_IO_SPARSE < s->bytes &&
           do_ranges_interleave(t->x.sorted, t->asks, n);
}

static void add_aggregator(struct wf_exchange *x, int rank, int own)
{
    if (rank == own)
        x->number = x->aggregators;
    x->ranks[x->aggregators++] = rank;
}

/* Chooses the aggregators: of each node the first members, as many as it has
 * processors where there is one node, else one. */
static void choose_aggregators(struct wf_twophase *t, const struct summary *s)
{
    struct wf_comm *comm = t->file->comm;
    const struct wf_layout *l = wf_layout_of(comm);
    int most = s->aggregators ? (int)s->aggregators : comm->size;
    int nodes = l->nodes, each = nodes == 1 ? (int)s->cpus : 1;

    if (s->aggregators)
        each = ((int)s->aggregators + nodes - 1) / nodes;
    t->x.number = -1;
    t->x.aggregators = 0;
    if (nodes == 1) {
        for (int i = 0; i < comm->size && i < each && i < most; i++)
            add_aggregator(&t->x, i, comm->rank);
        return;
    }
    for (int k = 0; k < nodes; k++)
        for (int i = l->first[k]; i < l->first[k + 1]; i++)
            if (i - l->first[k] < each && t->x.aggregators < most)
                add_aggregator(&t->x, l->members[i], comm->rank);
}

static uint64_t round_up(uint64_t n, uint64_t block)
{
    return (n + block - 1) / block * block;
}

/* Divides the bytes of the file that are accessed. */
static void divide_file(struct wf_exchange *x, const struct summary *s)
{
    uint64_t all, n = (uint64_t)x->aggregators;
    uint64_t most = round_up(s->buffer + !s->buffer, s->block);

    x->write = s->write;
    x->first = s->first / s->block * s->block;
    x->end = s->last + 1;
    all = x->end - x->first;
    x->domain = round_up((all + n - 1) / n, s->block);
    if (x->domain > most)
        x->domain = most;
    x->rounds = (all + x->domain * n - 1) / (x->domain * n);
}

bool wf_exchange_plan(struct wf_twophase *t)
{
    struct summary s = {.first = UINT64_MAX,
                        .buffer = UINT64_MAX,
                        .block = 1,
                        .large = UINT64_MAX,
                        .use_least = WF_HINT_ENABLE,
                        .cpus = UINT32_MAX};
    int n = t->file->comm->size;

    for (int i = 0; i < n; i++)
        add_ask(&s, &t->asks[i]);
    if (!does_pay(&s, t, n))
        return false;
    choose_aggregators(t, &s);
    divide_file(&t->x, &s);
    return true;
}

/* Its arrays lie behind it, the most aligned ones first. */
struct wf_twophase *wf_twophase_allocate(int members)
{
    size_t n = (size_t)members;
    struct wf_twophase *t =
        calloc(1, sizeof *t + n * (2 * sizeof *t->asks + 2 * sizeof *t->x.out +
                                   sizeof *t->x.ranks));

    if (!t)
        return NULL;
    t->asks = (struct wf_io_ask *)(t + 1);
    t->x.sorted = t->asks + n;
    t->x.out = (struct wf_io_part *)(t->x.sorted + n);
    t->x.in = t->x.out + n;
    t->x.ranks = (int *)(t->x.in + n);
    t->x.members = members;
    t->x.unwritten = INT64_MAX;
    return t;
}

static void free_parts(struct wf_io_part *parts, int n)
{
    for (int i = 0; i < n; i++) {
        wf_pieces_free(&parts[i].list);
        free(parts[i].data);
    }
    memset(parts, 0, (size_t)n * sizeof *parts);
}

void wf_exchange_reset(struct wf_exchange *x)
{
    free_parts(x->out, x->aggregators);
    if (x->number >= 0 && x->aggregators)
        free_parts(x->in, x->members);
    wf_window_free(&x->window);
    *x = (struct wf_exchange){.members = x->members,
                              .unwritten = INT64_MAX,
                              .ranks = x->ranks,
                              .sorted = x->sorted,
                              .out = x->out,
                              .in = x->in};
}
