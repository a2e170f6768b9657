/* weft_bootstrap.h - the only header of Weft that a bootstrap plugin includes.
 *
 * A bootstrap plugin is the connection to one kind of launcher: it tells a
 * process its rank, and holds a key-value space that all processes of the job
 * share. The file weft_boot_NAME.so exports one constant, weft_boot_1_NAME.
 *
 * Rules.
 *  1. A plugin needs no symbol of the core. It links with -Wl,-z,defs.
 *  2. Every struct that crosses begins with its size, which its owner sets.
 *     Members are only appended within one ABI.
 *  3. Results are those of weft_transport.h. A function that is given a
 *     weft_boot_error writes a sentence there when it fails, without the
 *     plugin's name.
 *  4. The core never makes two of these calls at a time for one connection, but
 *     for abort().
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WEFT_BOOTSTRAP_H
#define WEFT_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "weft_transport.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_BOOT_ABI   1           /* part of the symbol: weft_boot_1_NAME */
#define WEFT_BOOT_MAGIC 0x42544657u /* "WFTB" */
#define WEFT_BOOT_NAME  256         /* bytes for the name of a job */
#define WEFT_BOOT_WHY   256         /* bytes for a sentence */

/* Each plugin defines its connection as it likes. */
typedef struct weft_boot weft_boot;

/* Why a function has failed. */
typedef struct weft_boot_error {
    char text[WEFT_BOOT_WHY];
} weft_boot_error;

/* The services of the core. Any thread of the plugin may call them. */
typedef struct weft_boot_host {
    uint32_t size;
    void *arg;
    /* The fence that fence() began has ended, with 0 or a negative result. It
     * is called once for each fence() that returned 0. */
    void (*passed)(void *arg, int result);
    /* The launcher is gone. This ends the process. */
    void (*lost)(void *arg, const char *why);
} weft_boot_host;

/* The facts about the job that open() fills in. */
typedef struct weft_boot_job {
    uint32_t size;
    uint32_t rank, count; /* of this process; processes of the job */
    int32_t appnum;       /* of an MPMD launch, or -1 */
    uint32_t universe;    /* processes that there is room for; 0: unknown */
    /* The node of each process, [count] from malloc(), which the core frees,
     * and the number of nodes; or NULL if it is unknown. */
    uint32_t *node_of;
    uint32_t nodes;
    char name[WEFT_BOOT_NAME];
    /* The port of the process that has spawned this job, from malloc(), which
     * the core wipes and frees; or NULL. */
    char *parent_port;
} weft_boot_job;

/* A set of processes that the launcher has named: a block from malloc(). */
typedef struct weft_boot_pset {
    struct weft_boot_pset *next;
    uint32_t count; /* of ranks */
    uint32_t *ranks;
    char *name;
} weft_boot_pset;

typedef struct weft_boot_pair {
    const char *key, *value;
} weft_boot_pair;

/* How often which program is to be started. */
typedef struct weft_boot_command {
    const char *program;
    char *const *argv; /* without the program, NULL-ended; or NULL */
    uint32_t count;
    const weft_boot_pair *info; /* wdir, host, path, arch, env */
    uint32_t info_count;
} weft_boot_command;

/* A request to start processes as a new job. */
typedef struct weft_boot_spawn {
    uint32_t size;
    uint32_t command_count;
    const weft_boot_command *commands;
    const char *parent_port; /* which the processes find in weft_boot_job */
    int wait_ms; /* how long the launcher's answer is awaited; 0: for ever */
} weft_boot_spawn;

typedef struct weft_bootstrap {
    uint32_t magic, abi, size;
    const char *name;
    /* Connect to the launcher. WEFT_EUNREACH: there is none. */
    int (*open)(const weft_boot_host *, weft_boot **, weft_boot_job *,
                weft_boot_error *);
    /* Publish bytes under a key of [a-zA-Z0-9._-]; the others see them after
     * the next fence. */
    int (*put)(weft_boot *, const char *key, const void *value, size_t n,
               weft_boot_error *);
    /* Get what `rank` has put, into memory from malloc(). WEFT_EUNREACH: it has
     * put nothing under this key. */
    int (*get)(weft_boot *, uint32_t rank, const char *key, void **value,
               size_t *n, weft_boot_error *);
    /* Begin to wait for all processes at a fence; host->passed says when all
     * have arrived. */
    int (*fence)(weft_boot *, weft_boot_error *);
    /* Ask the launcher to end the job with this code. */
    void (*abort)(weft_boot *, int code, const char *message);
    /* Tell the launcher that this process ends in good order. From then on
     * host->lost is not called. */
    int (*finalize)(weft_boot *, weft_boot_error *);
    /* Close the connection, after finalize() or without it. */
    void (*close)(weft_boot *);
    /* List the sets that this process is in, or store NULL: there are none, or
     * the launcher knows none. WEFT_ENOMEM. May be absent. */
    int (*psets)(weft_boot *, weft_boot_pset **);
    /* Start processes, all or none. Returns a number for has_ended, or 0.
     * WEFT_ENOTSUP: the launcher starts none. WEFT_EUNREACH: it has not started
     * these. May be absent. */
    int (*spawn)(weft_boot *, const weft_boot_spawn *, weft_boot_error *);
    /* Return 1 if all processes of a job that spawn() started have ended, 0 if
     * not, or if the launcher does not say. May be absent. */
    int (*has_ended)(weft_boot *, int job);
} weft_bootstrap;

#define WEFT_BOOTSTRAP(plugin_name)                                            \
    extern __attribute__((visibility("default")))                              \
    const weft_bootstrap weft_boot_1_##plugin_name;                            \
    const weft_bootstrap weft_boot_1_##plugin_name

#ifdef __cplusplus
}
#endif
#endif
