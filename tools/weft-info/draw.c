/* This file implements weft-info --collective, which draws the schedule of one
 * call as text or for graphviz.
 *
 * The algorithm is chosen as in MPI_Init: rules of mpi.ini, then the built-in
 * ones; --algorithm replaces both. Rounds count messages that must be one after
 * the other; the bytes that a rank sends in all say how long its rounds take.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "draw.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan.h"
#include "config/value.h"
#include "config/words.h"
#include "coll/decision.h"
#include "datatype/predefined.h"

enum { WRONG_USE = 2 };

/* A collective that can be drawn. */
static const struct drawn {
    const char *name;
    wf_coll_builder *builder;
    enum wf_coll_kind kind;
    bool root;
    enum { VECTOR, BLOCK, ALL_BLOCKS, NOTHING } size;
} known[] = {
    {"allgather", wf_build_allgather, WF_COLL_ALLGATHER, false, ALL_BLOCKS},
    {"allreduce", wf_build_allreduce, WF_COLL_ALLREDUCE, false, VECTOR},
    {"alltoall", wf_build_alltoall, WF_COLL_ALLTOALL, false, BLOCK},
    {"barrier", wf_build_barrier, WF_COLL_BARRIER, false, NOTHING},
    {"bcast", wf_build_bcast, WF_COLL_BCAST, true, VECTOR},
    {"exscan", wf_build_exscan, WF_COLL_SCAN, false, VECTOR},
    {"gather", wf_build_gather, WF_COLL_GATHER, true, BLOCK},
    {"reduce", wf_build_reduce, WF_COLL_REDUCE, true, VECTOR},
    {"reduce_scatter", wf_build_reduce_scatter_block, WF_COLL_REDUCE_SCATTER,
     false, ALL_BLOCKS},
    {"scan", wf_build_scan, WF_COLL_SCAN, false, VECTOR},
    {"scatter", wf_build_scatter, WF_COLL_SCATTER, true, BLOCK},
};
static const char *const size_words[] = {
    [VECTOR] = "the vector", [BLOCK] = "one block",
    [ALL_BLOCKS] = "all blocks together", [NOTHING] = "nothing"};

struct drawing {
    const struct drawn *what;
    int ranks, nodes, root;
    int algorithm; /* that is wanted, or -1 */
    uint64_t count; /* elements of one byte: of the vector, or of a block */
    struct plan plan;
};

static int refuse_value(const char *option, const char *value,
                        const char *remedy)
{
    fprintf(stderr, "weft-info: %s '%s' %s\n", option, value, remedy);
    return WRONG_USE;
}

/* ---- arguments ----------------------------------------------------------- */

static int take_collective(struct drawing *d, const char *name)
{
    struct wf_words words = {.count = 0};
    char hint[512], text[600];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (wf_name_equal(name, known[i].name)) {
            d->what = &known[i];
            return 0;
        }
        wf_words_add(&words, known[i].name);
    }
    snprintf(text, sizeof text, "cannot be drawn%s",
             wf_words_hint(&words, name, hint, sizeof hint));
    return refuse_value("--collective", name, text);
}

static int take_algorithm(struct drawing *d, const char *name)
{
    const struct wf_coll_name *kind = &wf_coll_kinds[d->what->kind];
    struct wf_words words = {.count = 0};
    char hint[512], text[600];
    d->algorithm = -1;
    for (int i = 0; name != NULL && i < WF_ALGORITHMS; i++) {
        if (!(kind->algorithms >> i & 1))
            continue;
        if (wf_name_equal(name, wf_coll_algorithms[i].name))
            d->algorithm = i;
        wf_words_add(&words, wf_coll_algorithms[i].name);
    }
    if (name == NULL || d->algorithm >= 0)
        return 0;
    snprintf(text, sizeof text, "is not an algorithm of %s%s", kind->name,
             wf_words_hint(&words, name, hint, sizeof hint));
    return refuse_value("--algorithm", name, text);
}

/* Read a number of [lo, hi]; text NULL selects dflt. */
static int take_number(const char *option, const char *text, int64_t lo,
                       int64_t hi, int dflt, int *out)
{
    int64_t n = dflt;
    char remedy[128];
    snprintf(remedy, sizeof remedy, "is not a number of %lld..%lld",
             (long long)lo, (long long)hi);
    if (text != NULL && (!wf_value_int(text, &n) || n < lo || n > hi))
        return refuse_value(option, text, remedy);
    *out = (int)n;
    return 0;
}

static int take_size(struct drawing *d, const char *text)
{
    uint64_t bytes = 8, p = (uint64_t)d->ranks;
    if (text != NULL &&
        (!wf_value_size(text, &bytes) || bytes > UINT64_C(1) << 40))
        return refuse_value("--size", text,
                     "is not a size up to 1T (digits, then K, M, G or T)");
    d->count = d->what->size == ALL_BLOCKS ? (bytes + p - 1) / p : bytes;
    return 0;
}

static int take_arguments(struct drawing *d, const struct draw_arguments *a)
{
    int rc = take_collective(d, a->collective);
    if (rc == 0 && a->ranks == NULL)
        return refuse_value("--collective", a->collective,
                     "needs --ranks N as well");
    if (rc == 0)
        rc = take_number("--ranks", a->ranks, 1, PLAN_RANKS_MAX, 1, &d->ranks);
    if (rc == 0)
        rc = take_number("--nodes", a->nodes, 1, d->ranks, 1, &d->nodes);
    if (rc == 0 && a->root != NULL && !d->what->root)
        return refuse_value("--root", a->root,
                            "is for bcast, gather, reduce and "
                            "scatter");
    if (rc == 0)
        rc = take_number("--root", a->root, 0, d->ranks - 1, 0, &d->root);
    if (rc == 0)
        rc = take_algorithm(d, a->algorithm);
    return rc == 0 ? take_size(d, a->size) : rc;
}

/* ---- building ------------------------------------------------------------ */

/* Set arguments whose buffers are never read. */
static void set_arguments(void *user, int rank, struct wf_coll_args *a)
{
    static char out, in;
    const struct drawing *d = user;
    (void)rank;
    a->sbuf = &out;
    a->rbuf = &in;
    a->scount = a->rcount = d->count;
    a->stype = a->rtype = wf_type_of(MPI_BYTE);
    a->op = wf_op_of(MPI_BXOR);
    a->root = d->root;
}

static int build_plan(struct drawing *d, const struct wf_coll_rules *rules)
{
    const struct wf_coll_rule only = wf_coll_rule_always(d->algorithm);
    struct wf_coll_rules forced = {.count = {0}};
    forced.of[d->what->kind] = &only;
    forced.count[d->what->kind] = 1;
    if (plan_open(&d->plan, d->ranks, 0, d->nodes,
                  d->algorithm >= 0 ? &forced : rules) &&
        plan_build(&d->plan, d->what->builder, set_arguments, d) &&
        plan_match(&d->plan) && plan_weigh(&d->plan))
        return 0;
    fprintf(stderr, "weft-info: %s: %s\n", d->what->name, d->plan.error);
    return 1;
}

/* Returns the chosen algorithm; -1 if there was no choice. */
static int chosen_algorithm(const struct drawing *d)
{
    int a = d->plan.scheds[0]->algorithm;
    return a < WF_ALGORITHMS ? a : -1;
}

/* ---- text ---------------------------------------------------------------- */

static uint64_t bytes_of(const struct wf_vertex *v)
{
    return v->type != NULL ? v->count * (uint64_t)v->type->size : 0;
}

static const char *const steps[] = {
    [WF_VERTEX_SEND] = "send", [WF_VERTEX_RECV] = "recv",
    [WF_VERTEX_REDUCE] = "reduce", [WF_VERTEX_COPY] = "copy",
    [WF_VERTEX_CALL] = "call", [WF_VERTEX_FENCE] = "fence"};

/* Returns the round of a vertex; sends belong to the round in which they
 * arrive. */
static int round_of(const struct plan *p, int number)
{
    int m = p->message_of[number];
    return p->depth[m >= 0 ? p->message[m].recv : number].rounds;
}

static void print_vertex(const struct plan *p, int rank, int number)
{
    const struct wf_vertex *v = plan_vertex(p, rank, number);
    if (v->kind == WF_VERTEX_FENCE)
        return;
    printf("  %5d  %-6s", round_of(p, number), steps[v->kind]);
    if (v->kind != WF_VERTEX_CALL)
        printf(" %10llu", (unsigned long long)bytes_of(v));
    if (v->kind == WF_VERTEX_SEND || v->kind == WF_VERTEX_RECV)
        printf(" %s %d", v->kind == WF_VERTEX_SEND ? "to" : "from", v->peer);
    printf("\n");
}

/* The sums over a whole schedule. */
struct sums {
    struct plan_depth longest;
    int sends, most_sends, busiest;
    uint64_t bytes, most_bytes, between; /* between: nodes */
};

static void add_rank(const struct plan *p, int rank, struct sums *s)
{
    int sends = 0;
    uint64_t bytes = 0;
    for (int i = p->base[rank]; i < p->base[rank + 1]; i++) {
        const struct wf_vertex *v = plan_vertex(p, rank, i);
        if (p->depth[i].rounds > s->longest.rounds)
            s->longest.rounds = p->depth[i].rounds;
        if (p->depth[i].bytes > s->longest.bytes)
            s->longest.bytes = p->depth[i].bytes;
        if (v->kind != WF_VERTEX_SEND)
            continue;
        sends++;
        bytes += bytes_of(v);
        if (p->boot.node_of[rank] != p->boot.node_of[v->peer])
            s->between += bytes_of(v);
    }
    s->sends += sends;
    s->bytes += bytes;
    if (sends > s->most_sends)
        s->most_sends = sends;
    if (rank == 0 || bytes > s->most_bytes) {
        s->most_bytes = bytes;
        s->busiest = rank;
    }
}

static void print_head(const struct drawing *d)
{
    uint64_t p = d->what->size == ALL_BLOCKS ? (uint64_t)d->ranks : 1;
    printf("%s on %d rank%s", d->what->name, d->ranks, d->ranks > 1 ? "s" : "");
    if (d->nodes > 1)
        printf(" of %d nodes", d->nodes);
    if (d->what->root)
        printf(", root %d", d->root);
    if (d->what->size != NOTHING)
        printf(", %llu bytes (%s)", (unsigned long long)(d->count * p),
               size_words[d->what->size]);
    if (chosen_algorithm(d) >= 0)
        printf("\nalgorithm  %s: %s",
               wf_coll_algorithms[chosen_algorithm(d)].name,
               wf_coll_algorithms[chosen_algorithm(d)].about);
    printf("\n");
}

static void print_sums(const struct drawing *d)
{
    struct sums s = {.sends = 0};
    for (int r = 0; r < d->ranks; r++)
        add_rank(&d->plan, r, &s);
    printf("critical path  %d message%s one after the other; at most %llu "
           "bytes\n",
           s.longest.rounds, s.longest.rounds == 1 ? "" : "s",
           (unsigned long long)s.longest.bytes);
    printf("in all         %d messages, %llu bytes", s.sends,
           (unsigned long long)s.bytes);
    if (d->nodes > 1)
        printf(", %llu of them between nodes", (unsigned long long)s.between);
    printf("\nof one rank    at most %d messages; most bytes are sent by rank "
           "%d: %llu\n",
           s.most_sends, s.busiest, (unsigned long long)s.most_bytes);
}

static void print_text(const struct drawing *d)
{
    const struct plan *p = &d->plan;
    print_head(d);
    print_sums(d);
    for (int r = 0; r < d->ranks; r++) {
        printf("\nrank %d", r);
        if (d->nodes > 1)
            printf(" (node %u)", p->boot.node_of[r]);
        printf("\n  round  step        bytes\n");
        for (int i = p->base[r]; i < p->base[r + 1]; i++)
            print_vertex(p, r, i);
    }
}

/* ---- graphviz ------------------------------------------------------------ */

static void dot_vertex(const struct plan *p, int rank, int number)
{
    const struct wf_vertex *v = plan_vertex(p, rank, number);
    printf("    v%d [label=\"%s", number, steps[v->kind]);
    if (v->kind != WF_VERTEX_FENCE && v->kind != WF_VERTEX_CALL)
        printf(" %llu", (unsigned long long)bytes_of(v));
    printf("\"%s];\n", v->kind == WF_VERTEX_FENCE ? ", shape=point" : "");
}

static void dot_edges(const struct plan *p, int rank)
{
    const struct wf_sched *s = p->scheds[rank];
    for (int i = 0; i < s->vertices; i++)
        for (int e = s->v[i].out; e >= 0; e = s->e[e].next)
            printf("    v%d -> v%d;\n", p->base[rank] + i,
                   p->base[rank] + s->e[e].to);
}

static void print_dot(const struct drawing *d)
{
    const struct plan *p = &d->plan;
    printf("digraph \"%s\" {\n  rankdir=LR;\n  node [shape=box];\n",
           d->what->name);
    for (int r = 0; r < d->ranks; r++) {
        printf("  subgraph cluster_%d {\n    label=\"rank %d\";\n", r, r);
        for (int i = p->base[r]; i < p->base[r + 1]; i++)
            dot_vertex(p, r, i);
        dot_edges(p, r);
        printf("  }\n");
    }
    for (int m = 0; m < p->messages; m++)
        printf("  v%d -> v%d [color=blue];\n", p->message[m].send,
               p->message[m].recv);
    printf("}\n");
}

int info_draw(const struct wf_coll_rules *rules,
              const struct draw_arguments *a)
{
    struct drawing d = {.algorithm = -1};
    int rc = take_arguments(&d, a);
    if (rc != 0)
        return rc;
    rc = build_plan(&d, rules);
    if (rc == 0 && d.algorithm >= 0 && chosen_algorithm(&d) != d.algorithm)
        rc = refuse_value("--algorithm", a->algorithm,
                   "cannot do this call; see mpi.ini(5), [collectives]");
    if (rc == 0 && a->dot)
        print_dot(&d);
    else if (rc == 0)
        print_text(&d);
    plan_close(&d.plan);
    return rc;
}

/* ---- the choice ---------------------------------------------------------- */

static void print_size(uint64_t bytes)
{
    static const char units[] = " KMGT";
    int unit = 0;
    while (bytes > 0 && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    printf("%llu", (unsigned long long)bytes);
    if (unit > 0)
        printf("%c", units[unit]);
}

static void print_rule(const struct wf_coll_rule *r)
{
    printf(" %s", wf_coll_algorithms[r->algorithm].name);
    if (r->bytes > 0 || r->bytes_most != UINT64_MAX) {
        printf(" ");
        if (r->bytes > 0)
            print_size(r->bytes);
        printf("-");
        if (r->bytes_most != UINT64_MAX)
            print_size(r->bytes_most);
    }
    if (r->ranks > 1 || r->ranks_most != INT32_MAX)
        printf(" ranks:%d-", r->ranks);
    if (r->ranks_most != INT32_MAX)
        printf("%d", r->ranks_most);
    if (r->nodes > 1)
        printf(" nodes:%d-", r->nodes);
    if (r->crowded)
        printf(" crowded");
}

void info_choice(enum wf_coll_kind kind, const struct wf_coll_rules *rules)
{
    const struct wf_coll_rule *built_in;
    int n = wf_coll_find_built_in_rules(kind, &built_in);
    printf("    %-15s", wf_coll_kinds[kind].name);
    for (int i = 0; i < rules->count[kind]; i++) {
        print_rule(&rules->of[kind][i]);
        printf(",");
    }
    for (int i = 0; i < n; i++) {
        print_rule(&built_in[i]);
        printf(i < n - 1 ? "," : "\n");
    }
}
