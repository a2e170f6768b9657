/* Configuration: mpi.ini, WEFT_SET, WEFT_ROUTE, and the option tables.
 *
 * options.def is the only list of [core] keys; plugins declare their own in
 * weft_option form. The first file found is used, files are never merged. All
 * errors are reported before the start fails. docs/user/mpi-ini.md has the
 * grammar.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_CONFIG_H
#define WF_CONFIG_H

#include <stdio.h>

#include "base.h"

enum wf_progress_mode {
    WF_PROGRESS_AUTO,
    WF_PROGRESS_CALLER,
    WF_PROGRESS_THREAD
};
enum wf_rndv_mode { WF_RNDV_AUTO, WF_RNDV_PUSH, WF_RNDV_PULL };
enum wf_bootstrap_mode {
    WF_BOOT_AUTO,
    WF_BOOT_PMI,
    WF_BOOT_STATIC,
    WF_BOOT_SINGLE,
    WF_BOOT_PMIX
};
enum wf_meet_mode { WF_MEET_HOST, WF_MEET_NETWORK };
enum wf_failure_mode { WF_FAIL_ERROR, WF_FAIL_ABORT };

/* The value that a size or time option has when it is "auto". */
#define WF_AUTO UINT64_MAX

/* [core], filled from core/config/options.def (member names are key names). */
struct wf_core_options {
    int security;            /* enum wf_security - 1 */
    int progress;            /* enum wf_progress_mode */
    uint64_t spin;           /* ns; WF_AUTO */
    uint64_t eager;          /* bytes; WF_AUTO */
    int rndv;                /* enum wf_rndv_mode */
    int64_t share_after;     /* collectives; 0 = never */
    uint64_t engines;        /* at MPI_THREAD_MULTIPLE: engines.h; WF_AUTO */
    uint64_t credits;        /* bytes of unexpected eager data per sender */
    uint64_t unexpected_max; /* bytes over all senders; 0 = no limit */
    int64_t io_threads;
    int io_locks;            /* enum wf_fs_locks: io/fs.h */
    int bootstrap;           /* enum wf_bootstrap_mode */
    const char *job, *job_key, *job_key_file;
    const char *launcher; /* boot/own_launcher.h; NULL: of the installation */
    const char *names; /* folder: boot/names.h; NULL: the usual one */
    uint64_t start_timeout, close_timeout, connect_timeout; /* ns */
    int meet; /* enum wf_meet_mode */
    const char *plugin_path;
    int on_failure;   /* enum wf_failure_mode */
    int log;          /* enum wf_log_level */
    int stats;        /* print counters per transport at finalize */
    const char *trace;   /* "off", or a path: report/trace.h */
    uint64_t trace_size; /* bytes */
    int exact_length; /* a receive that asks for an exact length fails if the
                         message is shorter */
    int strict; /* refuse what other libraries allow beyond the standard */
    int check;        /* compare configurations across ranks */
};

/* One [transport NAME] section, or a built-in default of one. */
struct wf_transport_config {
    const char *name;   /* instance name */
    const char *plugin; /* plugin name, "-" and "_" equal */
    const char *path;   /* file to load, or NULL */
    bool thread;        /* progress = thread: it has one of its own */
    int enable;         /* 0 no, 1 yes (failure to open is fatal), 2 auto */
    const char *where;  /* "mpi.ini:12", "built in", "WEFT_SET" */
    int line;
};

struct wf_config;

/* Find, read and check the configuration. All its errors go to `errors` as
 * "file:line:col: text" lines; returns their number. A negative result is a
 * WEFT_E*: memory or a descriptor was lacking to read it, as wf_error has
 * recorded. */
int wf_config_load(struct wf_config **out, FILE *errors);
/* A further check by the caller. It also runs on a configuration with errors,
 * before that is freed, so that all mistakes are reported at once. It prints to
 * errors and returns the number of errors. */
typedef int wf_config_extra_check(struct wf_config *, FILE *errors);
int wf_config_load_checked(struct wf_config **out, FILE *errors,
                           wf_config_extra_check *);
/* Make a configuration of the built-in defaults and `text` in mpi.ini form
 * (NULL: none). It reads neither files nor the environment: for tests and
 * simulations. */
int wf_config_from_text(const char *text, struct wf_config **out, FILE *errors);
/* Read one named file without overrides, to inspect it and not to use it, so
 * that it need not be trusted: weft-info --check. */
int wf_config_from_file(const char *path, struct wf_config **out, FILE *errors,
                        wf_config_extra_check *);
/* Drop one reference; the last one frees the configuration. */
void wf_config_free(struct wf_config *);
/* Add a reference and return the configuration. Its owners only read it. */
struct wf_config *wf_config_share(struct wf_config *);
/* The file that was read, "weft_ini_text", "text" or "built in". */
const char *wf_config_source(const struct wf_config *);
/* The warnings for the user, to be printed once per job, such as a WEFT_
 * variable that Weft does not know: clauses without full stop. Returns their
 * number. */
int wf_config_warnings(const struct wf_config *, const char *const **lines);

const struct wf_core_options *wf_config_core(const struct wf_config *);
/* Whether [core] or a transport says progress = thread. */
bool wf_config_asks_for_threads(const struct wf_config *);
int wf_config_transports(const struct wf_config *,
                         const struct wf_transport_config **out);

/* The rules of [collectives] (config/coll_rules.h). They live as long as the
 * configuration. */
struct wf_coll_rules;

#endif
