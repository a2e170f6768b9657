/* The structures that the common keys of [transport], and the keys of
 * [collectives] and [route] fill. Member names are key names (options.def).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OPTIONS_H
#define WF_OPTIONS_H

#include <stdint.h>

struct wf_transport_options {
    const char *plugin, *path;
    int enable;
    uint64_t latency, overhead; /* ns; WF_AUTO */
    uint64_t bandwidth;         /* MB/s; WF_AUTO */
};

/* The texts of [collectives] as written; collectives.c parses the rules. */
struct wf_collectives_options {
    const char *allgather, *allreduce, *alltoall, *barrier, *bcast, *gather,
        *reduce, *reduce_scatter, *scan, *scatter;
};

struct wf_route_options {
    const char *from, *to, *size, *use;
    int comm, kind, policy, failover, crc, security;
    uint64_t failback, timeout; /* ns */
};

#endif
