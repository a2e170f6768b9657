/* The decision table of decision.def, and how rules are evaluated.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll/decision.h"

#include <limits.h>

#include "coll/coll.h"
#include "coll/layout.h"
#include "coll/shm/shmcoll.h"
#include "coll/vertex.h"
#include "process/rank.h"
#include "report/trace_note.h"

enum { HOPS_RANKS_MAX = 64 };

#define ANY UINT64_MAX
/* The members `crowded` and `nodes` of a rule. */
#define ANYWHERE      false, 1
#define BETWEEN_NODES false, 2
#define CROWDED       true, 1
#define FIRST(kind)
#define RULE(where, ranks, bytes_most, algorithm)                              \
    {WF_ALG_##algorithm, where, ranks, INT_MAX, 0, bytes_most},
#define HOPS(ranks, bytes_most, algorithm)                                     \
    {WF_ALG_##algorithm, ANYWHERE, ranks, HOPS_RANKS_MAX, 0, bytes_most},
static const struct wf_coll_rule rules[] = {
#include "coll/decision.def"
};
#undef FIRST
#undef RULE
#undef HOPS

/* The index of the first rule of each collective: FIRST takes a number and
 * gives it back, a rule takes one. */
/* clang-format off */
#define JOIN(a, b) a##b
#define ROW(line) JOIN(row_, line)
#define FIRST(kind) START_##kind, BEFORE_##kind = START_##kind - 1,
#define RULE(where, ranks, bytes_most, algorithm) ROW(__LINE__),
#define HOPS(ranks, bytes_most, algorithm) ROW(__LINE__),
/* clang-format on */
enum {
#include "coll/decision.def"
    END
};
#undef FIRST
#undef RULE
#undef HOPS

static const uint8_t first_rule[WF_COLL_KINDS + 1] = {
#define FIRST(kind) [WF_COLL_##kind] = START_##kind,
#define RULE(where, ranks, bytes_most, algorithm)
#define HOPS(ranks, bytes_most, algorithm)
#include "coll/decision.def"
    [WF_COLL_KINDS] = END};

int wf_coll_find_built_in_rules(enum wf_coll_kind kind,
                                const struct wf_coll_rule **first)
{
    *first = &rules[first_rule[kind]];
    return first_rule[kind + 1] - first_rule[kind];
}

/* The call that rules are compared with. */
struct call {
    struct wf_comm *g;
    uint64_t bytes;
    uint32_t able;
    bool no_memory;
};

/* Returns true if there are as many nodes as the rule asks for. The algorithm
 * of two levels also needs two nodes, and ranks that share one. */
static bool are_nodes_enough(const struct wf_coll_rule *r, struct call *c)
{
    bool levels = r->algorithm == WF_ALG_NODES;
    const struct wf_layout *l;

    if (r->nodes <= 1 && !levels)
        return true;
    l = wf_layout_of(c->g);
    if (!l)
        c->no_memory = true;
    if (!l || l->nodes < r->nodes)
        return false;
    return !levels ||
           (l->nodes > 1 && l->nodes < c->g->size &&
            (l->consecutive || !(c->able & WF_ALG_NODES_CONSECUTIVE)));
}

/* Returns what the ranks of a node have agreed on. */
static bool is_oversubscribed(const struct wf_comm *g)
{
    return g->shmcoll && g->shmcoll->oversubscribed;
}

static bool rule_holds(const struct wf_coll_rule *r, struct call *c)
{
    return c->bytes <= r->bytes_most && c->bytes >= r->bytes &&
           c->g->size >= r->ranks && c->g->size <= r->ranks_most &&
           (!r->crowded || is_oversubscribed(c->g)) &&
           (c->able >> r->algorithm & 1) && are_nodes_enough(r, c);
}

const struct wf_coll_rule *wf_coll_find_rule(struct wf_comm *g,
                                             enum wf_coll_kind kind,
                                             uint64_t bytes, uint32_t able,
                                             bool *no_memory)
{
    const struct wf_coll_rules *given = g->wf->rank->coll_rules;
    const struct wf_coll_rule *r = given ? given->of[kind] : NULL;
    struct call c = {g, bytes, able, false};

    for (int i = given ? given->count[kind] : 0; i > 0; i--, r++)
        if (rule_holds(r, &c))
            goto chosen;
    for (r = &rules[first_rule[kind]]; !rule_holds(r, &c);)
        r++;
chosen:
    if (c.no_memory && no_memory)
        *no_memory = true;
    return r;
}

/* Records which algorithm a rule has chosen. */
static WF_COLD void note_choice(const struct wf_comm *g, enum wf_coll_kind kind,
                                uint64_t bytes, const struct wf_coll_rule *r)
{
    const struct wf_coll_rules *given = g->wf->rank->coll_rules;
    const struct wf_coll_rule *own = given ? given->of[kind] : NULL;
    bool built_in = r >= rules && r < rules + END;
    struct wf_trace_collective c = {
        .name = wf_coll_kinds[kind].name,
        .algorithm = wf_coll_algorithms[r->algorithm].name,
        .reason = built_in ? "built-in rule" : "rule of mpi.ini",
        .rule = (int)(r - (built_in ? &rules[first_rule[kind]] : own)) + 1,
        .context = g->context,
        .bytes = bytes};

    wf_trace_note_collective(g->wf, &c);
}

enum wf_coll_algorithm wf_coll_choose(struct wf_sched *s, struct wf_comm *g,
                                      enum wf_coll_kind kind, uint64_t bytes,
                                      uint32_t able)
{
    const struct wf_coll_rule *r =
        wf_coll_find_rule(g, kind, bytes, able, &s->no_memory);

    /* it is not part of another collective */
    if (s->algorithm == WF_ALGORITHMS) {
        s->algorithm = r->algorithm;
        if (WF_TRACING(g->wf))
            note_choice(g, kind, bytes, r);
    }
    return (enum wf_coll_algorithm)r->algorithm;
}
