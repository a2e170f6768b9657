/* Route choice: which endpoints carry what between this process and a peer.
 *
 * The first [route] section that matches (from, to, kind, size) decides; the
 * implicit last one is `use = auto`. Small initial messages of a pair always
 * take the order lane (the section that matches size 0); other sections move
 * only bulk payload. core/route/cost.c sorts what `auto` may use.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_ROUTE_H
#define WF_ROUTE_H

#include "base.h"
#include "route/config.h"

/* Facts about one end of a pair, as the selectors of a route see them. */
struct wf_route_end {
    uint32_t rank;
    const char *host;
    const char *net; /* comma separated numeric addresses, or "" */
    uint64_t node;   /* equal: same node (memory can be shared) */
};

/* One endpoint that may be chosen. */
struct wf_route_candidate {
    const char *transport; /* instance name */
    int ep;                /* index in the instance, carried through */
    bool reaches;
    const char *why_not; /* when it does not reach: "other node", … */
    uint32_t caps;
    weft_cost cost;
    bool network; /* wf_endpoint_network() */
};

/* Choose for a message of `size` bytes: fills order[] with indices into
 * candidates, best first; returns how many (0: none). *section names the
 * deciding section ("route 'net' (mpi.ini:14)"). */
int wf_route_choose(const struct wf_config *, const struct wf_route_end *from,
                    const struct wf_route_end *to, uint64_t size,
                    const struct wf_route_candidate *candidates, int n,
                    int *order, const char **section);
/* What a pair does when its transport breaks. */
struct wf_route_failover {
    bool crc, encrypt;
    bool several; /* all that the route names; else only the first */
    bool stripe;  /* they share what is large */
    uint64_t failback, timeout; /* ns; failback 0: never */
};
/* Has the pair's route for size 0, whose choice is order[0..found), failover?
 * One that encrypts has, even with one transport: what is sealed is numbered. */
bool wf_route_failover(const struct wf_config *,
                       const struct wf_route_end *from,
                       const struct wf_route_end *to,
                       const struct wf_route_candidate *candidates, int n,
                       const int *order, int found,
                       struct wf_route_failover *);
/* Must what this pair sends over a network be encrypted? One section that is
 * about any size, in either direction, decides for all. */
bool wf_route_pair_encrypts(const struct wf_config *,
                            const struct wf_route_end *from,
                            const struct wf_route_end *to,
                            const struct wf_route_candidate *candidates, int n);
/* Must messages of this pair that a network carries have a checksum? In the same
 * way one section decides for all. */
bool wf_route_pair_checks(const struct wf_config *,
                          const struct wf_route_end *from,
                          const struct wf_route_end *to,
                          const struct wf_route_candidate *candidates, int n);
/* Does any section encrypt? */
bool wf_route_encrypts(const struct wf_config *);
/* Does every section that may choose this transport say security = none? */
bool wf_route_trusts(const struct wf_config *, const char *transport);
/* Could any section ever choose this transport? One that none can need not be
 * opened. */
bool wf_route_may_use(const struct wf_config *, const char *transport);
/* Does a section name it in its list? */
bool wf_route_names(const struct wf_config *, const char *transport);
/* Sizes at which some section starts or ends, ascending, without 0: where a
 * bulk lane may differ from the order lane. Returns how many (at most max). */
int wf_route_size_splits(const struct wf_config *,
                         const struct wf_route_end *from,
                         const struct wf_route_end *to, uint64_t *sizes,
                         int max);
/* t(n) = latency + overhead + n / bandwidth, in ns. */
double wf_cost_ns(const weft_cost *, uint64_t bytes);

#endif
