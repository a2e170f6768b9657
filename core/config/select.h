/* Selectors of routes: from= and to=.
 *
 *   select = term { blank term }      all terms must hold
 *   term   = ["!"] key ":" item { "," item }  |  ["!"] word
 *   key    = rank | host | net | node | transport     word = local | remote
 *            | self | *
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SELECT_H
#define WF_SELECT_H

#include "base.h"
#include "config/arena.h"
#include "config/value.h"
#include "route/route.h"

enum wf_term_key {
    WF_TERM_RANK,
    WF_TERM_HOST,
    WF_TERM_NET,
    WF_TERM_NODE,
    WF_TERM_TRANSPORT,
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

/* Parse a selector; false: it is wrong, for the reason in why. */
bool wf_select_parse(struct wf_arena *, const char *text, struct wf_select *,
                     char *why, size_t why_len);
/* Whether the selector selects `end`, whose partner is `other`. Terms
 * transport:NAME are checked against the candidates; NULL: they hold. */
bool wf_select_match(const struct wf_select *, const struct wf_route_end *end,
                     const struct wf_route_end *other,
                     const struct wf_route_candidate *candidates, int n);

/* ---- pattern.c: names with * ? and number ranges [01-16], [1,3-5] ---- */

#endif
