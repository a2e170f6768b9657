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

#include "coll/choice.h"
#include "os/atomic.h"
#include "config/arena.h"
#include "config/config.h"
#include "config/problem.h"
#include "config/select.h"
#include "config/words.h"

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
enum wf_route_policy { WF_POLICY_ORDER, WF_POLICY_COST, WF_POLICY_STRIPE };

/* One [route] section in the form that route.c evaluates. */
struct wf_route_rule {
    const char *label; /* "route 'net' (mpi.ini:14)" */
    const char *where; /* place of use=: "mpi.ini:16" */
    struct wf_select from, to;
    uint64_t size_lo, size_hi;
    enum wf_route_use use;
    int policy;
    enum { WF_FAILOVER_AUTO, WF_FAILOVER_NO, WF_FAILOVER_YES } failover;
    enum wf_security security;
    enum wf_crc { WF_CRC_AUTO, WF_CRC_NO, WF_CRC_YES } crc;
    uint64_t failback, timeout;
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

/* The place as text: "mpi.ini:12", or "WEFT_SET". */
const char *wf_place_text(struct wf_config *, const struct wf_place *);

/* ---- sections.c ---- */
/* Read a text in mpi.ini form into sections and settings. */
void wf_sections_read(struct wf_config *, const char *file, const char *text,
                      size_t n);
struct wf_section *wf_section_find(const struct wf_config *,
                                   enum wf_section_kind, const char *name);
struct wf_section *wf_section_add(struct wf_config *, enum wf_section_kind,
                                  const char *name, const struct wf_place *);
struct wf_setting *wf_setting_find(const struct wf_section *, const char *key);
/* Add a setting, or replace the value and place of the one that exists. */
void wf_setting_put(struct wf_config *, struct wf_section *, const char *key,
                    const char *value, const struct wf_place *);
/* The kind that a word names (enum wf_section_kind); -1: there is none. */
int wf_section_kind(const char *word);

/* ---- search.c ---- */
/* Read a whole file of at most 1 MiB, trusted or not. NULL with the reason in
 * why, and errno, which is 0 for reasons that have none. Free with free(). */
char *wf_file_read(const char *path, size_t *n, char *why, size_t why_len);
/* Read a file of the configuration as wf_file_read does. The file must be
 * trusted, unless the configuration is only inspected. */
char *wf_search_text(const struct wf_config *, const char *path, size_t *n,
                     char *why, size_t why_len);
/* Whether the errno of these two says that memory or descriptors are lacking,
 * rather than that the file is wrong. If so, this is recorded by wf_error. */
bool wf_search_failed_for_lack(struct wf_config *, const char *path, int error,
                       const char *why);
/* Read this file into sections; it is an error if it does not exist. */
void wf_search_file(struct wf_config *, const char *path);
/* Find the configuration and read it into sections. */
void wf_search_read(struct wf_config *);

/* ---- override.c ---- */
/* Apply WEFT_SET and WEFT_LOG, once the file is read, and warn about unknown
 * WEFT_ variables. */
void wf_override_apply(struct wf_config *);
/* Warn if the environment holds a setting of another MPI. */
void wf_override_warn_of_other_mpi(struct wf_config *);
/* Apply settings separated by ; newline or blank, as in WEFT_SET. */
void wf_override_settings(struct wf_config *, const char *origin,
                          const char *text);

/* ---- options.c ---- */
extern const weft_option wf_core_table[], wf_transport_table[],
    wf_route_table[], wf_collectives_table[];
/* collectives.c: read the rules of [collectives]. */
void wf_coll_rules_build(struct wf_config *);
/* Whether sections of this kind have no name. */
static inline bool wf_section_has_no_name(int kind)
{
    return kind == WF_SECTION_CORE || kind == WF_SECTION_COLLECTIVES;
}
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
/* ---- transports.c ---- */
/* Add the sections that need not be written: self always, and usual ones if the
 * file has no [transport] section. */
void wf_transports_imply(struct wf_config *);
/* Whether this is the name of a plugin of Weft itself. */
bool wf_transport_in_tree(const char *name);
/* Read the [transport] sections into c->transports. */
void wf_transports_build(struct wf_config *);
/* Find the transport that a route names; a plugin of Weft itself gets a section
 * if it has none. NULL: it is unknown, which is reported; `who` is the start
 * of that message. */
const struct wf_transport_config *wf_transport_named(struct wf_config *,
                                                     const char *name,
                                                     const struct wf_place *,
                                                     const char *who);

/* route.c: the rule that decides for a pair and a size; never NULL. */
const struct wf_route_rule *
wf_route_rule(const struct wf_config *, const struct wf_route_end *from,
              const struct wf_route_end *to, uint64_t size,
              const struct wf_route_candidate *candidates, int n);
/* hosts.c: read [host] and [rank]. */
void wf_hosts_build(struct wf_config *);
/* routes.c: read the [route] sections into c->routes. */
void wf_routes_build(struct wf_config *);
/* Replace all rules by one that uses the transports of WEFT_ROUTE. */
void wf_routes_force(struct wf_config *, const char *list);

#endif
