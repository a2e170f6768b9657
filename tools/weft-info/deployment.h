/* Facts about the hosts of a pair, which may be elsewhere, and assumptions
 * where there are none.
 *
 * The facts are those of mpi.ini: hosts and addresses of ranks ([rank], [host])
 * and the interfaces of transports. A fact that it does not give, and that the
 * answer depends on, is assumed and said to be.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef INFO_DEPLOYMENT_H
#define INFO_DEPLOYMENT_H

#include "info.h"

enum { ASSUMED_MAX = 32, ASSUMED_LEN = 400 };

/* One end of the pair has the storage that its texts need. */
struct info_end {
    struct wf_route_end facts;
    char host[256], net[ADDRESSES_LEN];
    bool told;  /* the command line names the host */
    bool named; /* it does, and [rank] does not say the same, or is about
                   another job */
    bool here;  /* nobody gave a host: it is taken to be this machine */
};

struct info_assumed {
    char line[ASSUMED_MAX][ASSUMED_LEN];
    int count;
};

/* Add an assumption that is not in the list yet. */
void info_assume(struct info_assumed *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether one of the hosts is another machine than this one. */
bool info_is_elsewhere(const struct info_end *from, const struct info_end *to);

/* Set the addresses of an end, which net: selectors compare. */
void info_end_addresses(const struct info *, struct info_end *);

/* Whether transport i is open on both hosts, and the first may call the second
 * by it, as far as mpi.ini says; if not, the reason is in why. */
bool info_deployment_reaches(const struct info *, int i,
                             const struct info_end *from,
                             const struct info_end *to, char *why, size_t n);

/* Add what that assumes for a transport that is used. */
void info_deployment_assume(const struct info *, int i,
                            const struct info_end *from,
                            const struct info_end *to, struct info_assumed *);

#endif
