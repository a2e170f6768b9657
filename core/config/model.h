/* The inside of struct wf_config, for the files of core/route and weft-info.
 * All others use config.h.
 *
 *   text --ini.c--> sections and settings   (sections.c)
 *        --override.c--> WEFT_SET, WEFT_LOG, WEFT_ROUTE
 *        --options.c--> struct wf_core_options, transports
 *        --hosts.c--> [host], [rank]        --routes.c--> [route]
 *        --collectives.c--> [collectives]
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_MODEL_H
#define WF_MODEL_H

#include "config/arena.h"
#include "config/coll_rules.h"
#include "config/config.h"
#include "config/problem.h"
#include "config/select.h"
#include "config/words.h"
#include "os/atomic.h"

enum wf_section_kind {
    WF_SECTION_CORE,
    WF_SECTION_TRANSPORT,
    WF_SECTION_ROUTE,
    WF_SECTION_COLLECTIVES,
    WF_SECTION_HOST,
    WF_SECTION_RANK,
    WF_SECTION_KINDS
};
extern const char *const wf_section_words[WF_SECTION_KINDS];

struct wf_setting {
    const char *key;
    char *value;
    struct wf_place at, value_at;
    const char *where; /* `at` as text */
    struct wf_setting *next;
};

struct wf_section {
    enum wf_section_kind kind;
    const char *name;
    struct wf_place at;
    struct wf_setting *settings;
    int setting_count;
    struct wf_section *next;
};

enum wf_route_use { WF_USE_LIST, WF_USE_AUTO, WF_USE_NONE };
/* The kinds of security, weakest first. [core] security has no AUTO, so its
 * numbers are one less. */
enum wf_security {
    WF_SECURITY_AUTO,
    WF_SECURITY_NONE,
    WF_SECURITY_AUTH,
    WF_SECURITY_ENCRYPT
};
enum wf_route_policy {
    WF_POLICY_ORDER,
    WF_POLICY_COST,
    WF_POLICY_STRIPE,
    WF_POLICY_MEASURED
};

/* One [route] section in the form that route.c evaluates. */
struct wf_route_rule {
    const char *label; /* "route 'net' (mpi.ini:14)" */
    const char *where; /* place of use=: "mpi.ini:16" */
    struct wf_select from, to;
    const char *comm; /* pattern of the names of communicators; NULL: all */
    enum wf_route_kind kind;
    uint32_t key; /* its bit, if it is not about all messages of a pair; or 0 */
    uint64_t size_lo, size_hi;
    enum wf_route_use use;
    int policy;
    enum { WF_FAILOVER_AUTO, WF_FAILOVER_NO, WF_FAILOVER_YES } failover;
    enum wf_security security;
    enum wf_crc { WF_CRC_AUTO, WF_CRC_NO, WF_CRC_YES } crc;
    uint64_t measure, failback, timeout;
    const char **list; /* the transports of use= */
    int list_count;
};

/* One host name after range expansion. */
struct wf_host_entry {
    const char *name;
    const struct wf_section *section; /* NULL: only named by a [rank] */
    uint32_t index, count; /* its index among the names of the section */
    uint32_t ranks;        /* ranks of the job that run there */
};

/* One rank; section is NULL if no [rank] section covers it. */
struct wf_rank_entry {
    const char *host;
    const struct wf_section *section;
    struct wf_host_entry *entry;
    uint32_t index, count; /* its index among the ranks of the section */
    uint32_t local_index;  /* its index among the ranks of the same host */
    const char **address;  /* [transport_count], NULL: none given */
    const char **address_where;
};

struct wf_config {
    struct wf_arena arena;
    struct wf_problems problems;
    const char *source; /* the file read, or "built in" */
    int includes;       /* depth of include= while reading */
    bool unused;        /* only inspected: files need not be trusted */
    int starved;        /* WEFT_E*: memory or a descriptor was lacking */
    struct wf_section *sections, **sections_tail;
    int section_count;
    struct wf_section *current; /* while reading; NULL: skip its settings */

    struct wf_core_options core;
    struct wf_coll_rules collectives;
    struct wf_transport_config *transports;
    struct wf_section **transport_sections;         /* same order; never NULL */
    struct wf_transport_options *transport_options; /* same order */
    int transport_count;
    struct wf_route_rule *routes;
    int route_count;
    struct wf_host_entry *hosts;
    size_t host_count, host_room, hosts_described;
    uint32_t *host_index, host_mask; /* hash of names: hosts.c */
    struct wf_rank_entry *ranks;
    uint32_t rank_count;

    wf_atomic_u32 shares; /* references less one */
    const char *warnings[32];
    int warning_count;
};

extern const weft_option wf_core_table[], wf_transport_table[],
    wf_route_table[], wf_collectives_table[];
/* Whether sections of this kind have no name. */
static inline bool wf_section_has_no_name(int kind)
{
    return kind == WF_SECTION_CORE || kind == WF_SECTION_COLLECTIVES;
}

#endif
