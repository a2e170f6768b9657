/* Configuration: mpi.ini, WEFT_SET, WEFT_ROUTE, and the option tables.
 *
 * options.def is the only list of [core] keys; plugins declare their own in
 * weft_option form. Files are searched, never merged; every error is found
 * before anything stops. docs/mpi-ini.md is the grammar.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_H
#define WF_CONFIG_H

#include <stdio.h>

#include "base.h"

enum wf_progress_mode { WF_PROGRESS_AUTO, WF_PROGRESS_CALLER, WF_PROGRESS_THREAD };
enum wf_rndv_mode { WF_RNDV_AUTO, WF_RNDV_PUSH, WF_RNDV_PULL };
enum wf_bootstrap_mode {
    WF_BOOT_AUTO,
    WF_BOOT_PMI,
    WF_BOOT_STATIC,
    WF_BOOT_SINGLE
};
enum wf_failure_mode { WF_FAIL_ERROR, WF_FAIL_ABORT };

/* The value of a size or time option that was left at "auto". */
#define WF_AUTO UINT64_MAX

/* [core], filled from core/route/options.def (member names are key names). */
struct wf_core_options {
    int security; /* enum wf_security - 1 */
    int progress;            /* enum wf_progress_mode */
    uint64_t spin;           /* ns; WF_AUTO */
    uint64_t eager;          /* bytes; WF_AUTO */
    int rndv;                /* enum wf_rndv_mode */
    int64_t share_after;     /* collectives; 0 = never */
    uint64_t engines;        /* at MPI_THREAD_MULTIPLE: engines.h; WF_AUTO */
    uint64_t credits;        /* bytes of unexpected eager data per sender */
    uint64_t unexpected_max; /* bytes over all senders; 0 = no limit */
    int bootstrap;           /* enum wf_bootstrap_mode */
    const char *job, *job_key, *job_key_file;
    uint64_t start_timeout, close_timeout; /* ns */
    const char *plugin_path;
    int on_failure; /* enum wf_failure_mode */
    int log;        /* enum wf_log_level */
    int stats;      /* print per-route counters at finalize */
    int exact_length; /* messages shorter than receives that say so fail */
    int check;      /* compare configurations across ranks */
};

/* One [transport NAME] section, or a built-in default one. */
struct wf_transport_config {
    const char *name;   /* instance name */
    const char *plugin; /* plugin name, "-" and "_" equal */
    const char *path;   /* file to load, or NULL */
    int enable;         /* 0 no, 1 yes (failure to open is fatal), 2 auto */
    const char *where;  /* "mpi.ini:12", "built in", "WEFT_SET" */
    int line;
};

struct wf_config;

/* Find, read and check the configuration. Errors (all of them) go to `errors`
 * as "file:line:col: text" lines; returns how many. Negative: no error in it, but
 * memory or a descriptor was lacking to read it, as wf_error has recorded. */
int wf_config_load(struct wf_config **out, FILE *errors);
/* A check of the caller's that also runs on a configuration with errors, before
 * that is thrown away, so that all mistakes show at once. Prints to errors;
 * returns how many. */
typedef int wf_config_also(struct wf_config *, FILE *errors);
int wf_config_load_also(struct wf_config **out, FILE *errors, wf_config_also *);
/* Only built-in defaults plus `text` in mpi.ini form (NULL: none): for tests
 * and simulations; reads neither files nor the environment. */
int wf_config_from_text(const char *text, struct wf_config **out, FILE *errors);
/* One named file without overrides, whoever wrote it, to be looked at and not
 * to be used: weft-info --check. */
int wf_config_from_file(const char *path, struct wf_config **out, FILE *errors,
                        wf_config_also *);
void wf_config_free(struct wf_config *); /* one share of it */
/* One owner more; reading is all that owners do. */
struct wf_config *wf_config_share(struct wf_config *);
/* The file that was read, "weft_ini_text", "text" or "built in". */
const char *wf_config_source(const struct wf_config *);
/* Things to tell the user once per job, not errors (WEFT_ variables that
 * nobody reads): clauses without full stop; returns how many. */
int wf_config_warnings(const struct wf_config *, const char *const **lines);

const struct wf_core_options *wf_config_core(const struct wf_config *);
int wf_config_transports(const struct wf_config *,
                         const struct wf_transport_config **out);

/* Rules of [collectives]: coll/choice.h. Live as long as the configuration. */
struct wf_coll_rules;
const struct wf_coll_rules *wf_config_collectives(const struct wf_config *);
/* Fill a plugin's configuration struct (cfg_size zeroed bytes at cfg) for one
 * transport instance from the plugin's option table: defaults, file, then
 * overrides. Unknown keys, bad values: lines to errors; returns how many.
 * Strings live as long as the configuration. */
int wf_config_plugin(const struct wf_config *,
                     const struct wf_transport_config *, const weft_plugin *,
                     void *cfg, FILE *errors);
/* Cost overrides of the [transport] section (latency, overhead, bandwidth). */
void wf_config_cost(const struct wf_config *,
                    const struct wf_transport_config *, weft_cost *);
/* Static addresses: text given for `transport` in the [rank]/[host] section
 * that covers rank, or NULL; where names the line. The text has the port of
 * this very rank: the n-th rank of a host listens n above the first. */
const char *wf_config_address(const struct wf_config *, uint32_t rank,
                              const char *transport, const char **where);
/* Host name of a rank from [rank]/[host], or NULL. */
const char *wf_config_host(const struct wf_config *, uint32_t rank);
/* How many ranks the [rank] sections describe: the highest one plus 1. */
uint32_t wf_config_ranks(const struct wf_config *);

/* Where a value comes from: "mpi.ini:12", "WEFT_SET", or "default". section is
 * "core", "transport NAME" or "route NAME"; *value: the text, or NULL when it
 * is the default. */
const char *wf_config_origin(const struct wf_config *, const char *section,
                             const char *key, const char **value);
/* One number over everything on which the processes of a job must agree: the
 * keys marked so in options.def, the transports, the routes, and as `machine` the
 * byte order and the size of a long. */
uint64_t wf_config_hash(const struct wf_config *);
/* The same, key by key, to name the first that differs. set: without those of
 * [core] that have their defaults. */
void wf_config_shared(const struct wf_config *, bool set,
                      void (*take)(void *user, const char *key,
                                   const char *value),
                      void *user);
/* What such a key ("core.eager") is where nobody sets it, or NULL: of routes
 * and transports there is no such thing. */
const char *wf_config_default(const char *key);

#endif
