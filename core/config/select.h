/* Selectors of routes: from= and to=.
 *
 *   select = term { blank term }      all terms must hold
 *   term   = ["!"] key ":" item { "," item }  |  ["!"] word
 *   key    = rank | host | net | node | transport | job
 *   word   = local | remote | self | *
 *
 * Both processes of a pair evaluate the routes of both directions, and must get
 * the same: so rank: is a rank in the job of the process, and job: compares the
 * jobs of the two ends.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SELECT_H
#define WF_SELECT_H

#include "base.h"
#include "config/arena.h"
#include "config/value.h"
#include "weft_transport.h"

enum wf_term_key {
    WF_TERM_RANK,
    WF_TERM_HOST,
    WF_TERM_NET,
    WF_TERM_NODE,
    WF_TERM_TRANSPORT,
    WF_TERM_JOB,
    WF_TERM_LOCAL,
    WF_TERM_REMOTE,
    WF_TERM_SELF
};

struct wf_net {
    uint8_t bytes[16];
    int family, bits;
};

union wf_term_item {
    struct wf_range range; /* rank */
    struct wf_net net;
    const char *text; /* host or node pattern, transport name */
    bool other;       /* job */
};

struct wf_term {
    enum wf_term_key key;
    bool negate;
    union wf_term_item *items;
    int item_count;
};

/* A selector. One without terms selects everything. */
struct wf_select {
    struct wf_term *terms;
    int term_count;
};

/* The operations that a rule is about. The last two are refused: routes.c says
 * why. */
enum wf_route_kind {
    WF_KIND_OF_ANY,
    WF_KIND_OF_PT2PT,
    WF_KIND_OF_COLLECTIVE,
    WF_KIND_OF_RMA,
    WF_KIND_OF_IO
};

/* Facts about one end of a pair, as the selectors of a route see them. */
struct wf_route_end {
    uint32_t rank; /* in its job */
    const char *host;
    const char *net; /* comma separated numeric addresses, or "" */
    uint64_t node;   /* equal: same node (memory can be shared) */
    /* The keys of the rules that are about some communicators or operations and
     * hold for these messages (wf_route_find_keys). */
    uint32_t keys;
    uint32_t job; /* equal: same job */
};

/* Whether both ends are one process. */
static inline bool wf_route_is_self(const struct wf_route_end *a,
                                    const struct wf_route_end *b)
{
    return a->rank == b->rank && a->job == b->job;
}

/* An endpoint that may be chosen. */
struct wf_route_candidate {
    const char *transport; /* instance name */
    int ep;                /* index in the instance, carried through */
    bool reaches;
    const char *why_not; /* when it does not reach the peer: "other node" */
    uint32_t caps;
    weft_cost cost;
    bool network; /* wf_endpoint_is_network() */
};

/* Parse a selector; false: it is wrong, for the reason in why. */
bool wf_select_parse(struct wf_arena *, const char *text, struct wf_select *,
                     char *why, size_t why_len);
/* Whether the selector selects `end`, whose partner is `other`. Terms
 * transport:NAME are checked against the candidates; NULL: they hold. */
bool wf_select_match(const struct wf_select *, const struct wf_route_end *end,
                     const struct wf_route_end *other,
                     const struct wf_route_candidate *candidates, int n);

#endif
