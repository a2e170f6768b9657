/* The structures that the common keys of [transport], and the keys of
 * [collectives] and [route] fill. Member names are key names (options.def).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OPTIONS_H
#define WF_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "weft_transport.h"

struct wf_transport_options {
    const char *plugin, *path;
    int enable, progress;
    uint64_t latency, overhead; /* ns; WF_AUTO */
    uint64_t bandwidth;         /* MB/s; WF_AUTO */
};

/* The texts of [collectives] as written; collectives.c parses the rules. */
struct wf_collectives_options {
    const char *allgather, *allreduce, *alltoall, *barrier, *bcast, *gather,
        *reduce, *reduce_scatter, *scan, *scatter;
};

struct wf_route_options {
    const char *from, *to, *comm, *size, *use;
    int kind, policy, failover, crc, security;
    uint64_t measure, failback, timeout; /* ns */
};

struct wf_config;
struct wf_problems;
struct wf_section;
struct wf_transport_config;

/* Fill a plugin's configuration struct (cfg_size zeroed bytes at cfg) for one
 * transport instance from the plugin's option table: defaults, file, then
 * overrides. Unknown keys and bad values are printed to errors; returns their
 * number. Strings live as long as the configuration. */
int wf_config_plugin(const struct wf_config *,
                     const struct wf_transport_config *, const weft_plugin *,
                     void *cfg, FILE *errors);

/* Apply the cost overrides of the [transport] section: latency, overhead,
 * bandwidth. */
void wf_config_cost(const struct wf_config *,
                    const struct wf_transport_config *, weft_cost *);

/* Store the defaults of a table and then the settings of a section (or NULL)
 * in the structure cfg. Values that are wrong are added to problems. */
void wf_options_fill(const struct wf_section *, const weft_option *table,
                     void *cfg, struct wf_problems *problems);

/* Report each key of the section that none of the n tables has. `owner` is
 * appended to the name of the section. */
void wf_options_unknown(const struct wf_section *,
                        const weft_option *const *tables, int n,
                        const char *owner, struct wf_problems *problems);

/* Read [core]. */
void wf_core_build(struct wf_config *);

#endif
