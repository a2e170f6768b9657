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
#include "config/config.h"
#include "config/select.h"

/* Choose endpoints for messages of `size` bytes: fill order[] with indices into
 * candidates, best first. Returns how many (0: none). *section names the
 * deciding section ("route 'net' (mpi.ini:14)"). */
int wf_route_choose(const struct wf_config *, const struct wf_route_end *from,
                    const struct wf_route_end *to, uint64_t size,
                    const struct wf_route_candidate *candidates, int n,
                    int *order, const char **section);
/* How a pair of processes with failover uses its transports. */
struct wf_route_failover {
    bool crc, encrypt;
    bool several; /* use all that the route names; else only the first */
    bool stripe;  /* divide large messages over them */
    uint64_t
        measure; /* ns between two measurements of them; 0: there are none */
    uint64_t failback, timeout; /* ns; failback 0: never */
};
/* Whether the pair's route for size 0, whose choice is order[0..found), has
 * failover. A route that encrypts has, even with one transport, because sealed
 * containers need sequence numbers. */
bool wf_route_failover(const struct wf_config *,
                       const struct wf_route_end *from,
                       const struct wf_route_end *to,
                       const struct wf_route_candidate *candidates, int n,
                       const int *order, int found, struct wf_route_failover *);
/* Whether messages of this pair that a network carries must be encrypted. One
 * section that the pair's messages of some size are subject to, in either
 * direction, is enough. */
bool wf_route_pair_encrypts(const struct wf_config *,
                            const struct wf_route_end *from,
                            const struct wf_route_end *to,
                            const struct wf_route_candidate *candidates, int n);
/* Whether messages of this pair that a network carries must have a checksum.
 * Again one section is enough. */
bool wf_route_pair_checks(const struct wf_config *,
                          const struct wf_route_end *from,
                          const struct wf_route_end *to,
                          const struct wf_route_candidate *candidates, int n);
/* Whether any section encrypts. */
bool wf_route_encrypts(const struct wf_config *);
/* Whether every section that may choose this transport has security = none. */
bool wf_route_trusts(const struct wf_config *, const char *transport);
/* Whether any section may choose this transport; if none may, it need not be
 * opened. */
bool wf_route_may_use(const struct wf_config *, const char *transport);
/* Whether a section has it in its list use=. */
bool wf_route_names(const struct wf_config *, const char *transport);
/* Find the sizes at which a section starts or ends, ascending, without 0: there
 * a bulk lane may differ from the order lane. Returns how many, at most max. */
int wf_route_size_splits(const struct wf_config *,
                         const struct wf_route_end *from,
                         const struct wf_route_end *to, uint64_t *sizes,
                         int max);

/* The keys of the rules that are about messages of this kind on a communicator
 * of this name: for wf_route_end.keys. */
uint32_t wf_route_find_keys(const struct wf_config *, const char *comm,
                            enum wf_route_kind);

struct wf_route_rule;

/* The rule that decides for a pair and a size; never NULL. */
const struct wf_route_rule *
wf_route_rule(const struct wf_config *, const struct wf_route_end *from,
              const struct wf_route_end *to, uint64_t size,
              const struct wf_route_candidate *candidates, int n);

#endif
