/* Bootstrap: a process learns its rank and the number of ranks, and gets a
 * key-value space that all processes of the job share until they can reach each
 * other.
 *
 *   open -> put* -> fence -> get* ... -> finalize -> close
 *
 * Providers: pmi1 (mpirun, Hydra), static (addresses in mpi.ini), pmix (a
 * plugin: by_plugin.h), singleton, and hosted (hosted.h) if a process holds
 * several ranks.
 * wf_boot_open picks one: PMI_FD or PMI_PORT in the environment -> pmi1;
 * [core] bootstrap = static, or WEFT_RANK/WEFT_SIZE -> static; PMIX_NAMESPACE
 * and PMIX_RANK -> pmix; else singleton.
 * Only core/boot reads launcher variables.
 *
 * ERRORS  negative WEFT_E*; open writes the cause into err, the other calls
 * record it (wf_error), except for WEFT_ENOMEM and WEFT_EUNREACH.
 * THREADS calls on one boot are never concurrent, but for abort
 *         (progress/launcher.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_BOOT_H
#define WF_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_auth_key;
struct wf_boot;
struct wf_config;
struct weft_boot_spawn;

/* A request about a published name, to the launcher. */
enum wf_name_call { WF_NAME_PUBLISH, WF_NAME_LOOKUP, WF_NAME_UNPUBLISH };

struct wf_name_request {
    enum wf_name_call call;
    const char *service;
    const char *port;   /* to publish */
    const char *server; /* HOST:PORT of the launcher that has it; NULL: ours */
    char *found;      /* where lookup puts the port */
    size_t size;
};

/* A set of processes that the launcher has named. */
struct wf_boot_pset {
    const char *name;
    uint32_t count;
    const uint32_t *ranks; /* [count] */
};

struct wf_boot_ops {
    const char *name; /* "pmi1", "static", "pmix", "singleton" */
    /* Publish bytes under a key of [a-zA-Z0-9._-]; they are visible after the
     * fence. The provider encodes them and cuts them as its launcher needs. */
    int (*put)(struct wf_boot *, const char *key, const void *value, size_t n);
    /* Get the bytes under a key, malloc'ed into *value. WEFT_EUNREACH: there is
     * no such key. WEFT_ENOMEM: the call may be repeated; a value that the
     * launcher gives once (mpirun: the job key) is not lost. */
    int (*get)(struct wf_boot *, const char *key, void **value, size_t *n);
    /* The fence has two halves, so that the process can serve its peers while
     * it waits. fence_start says that this process has arrived. When all have,
     * fence_passed says so; it is asked when *fd is readable, which may have
     * other reasons, and when wake was called. *fd is -1 if there is no need to
     * wait, or wake is called. fence_end waits for the rest. */
    int (*fence_start)(struct wf_boot *, int *fd);
    int (*fence_end)(struct wf_boot *);
    /* Ask the launcher to end the whole job with this exit code. Returns; the
     * caller then ends its own process. */
    void (*abort)(struct wf_boot *, int code, const char *message);
    /* Tell the launcher that this process ends in good order. */
    int (*finalize)(struct wf_boot *);
    void (*close)(struct wf_boot *);
    /* Returns whether the fence has ended, or has failed, which fence_end
     * reports. NULL: wf_boot.fence_passed says so. */
    bool (*fence_passed)(struct wf_boot *);
    /* Tell a process through the launcher that this one has given it up: it may
     * get no message from here any more. NULL: the launcher cannot. */
    void (*give_up)(struct wf_boot *, uint32_t rank);
    /* Read the launcher's notices without waiting: which processes have given
     * this one up, the end of the fence, and answers to ask_state. It also
     * answers the launcher's question whether this process is in MPI. NULL: the
     * launcher sends none. */
    int (*hear)(struct wf_boot *);
    /* Ask the launcher whether a process runs, and have the launcher ask that
     * process whether it is in MPI. The answers are in wf_boot.said after
     * one of the next calls of hear(). NULL: the launcher cannot tell. */
    void (*ask_state)(struct wf_boot *, uint32_t rank);
    /* List the launcher's process sets that this process is in. They stay as
     * they were at the first call, until close. WEFT_ENOMEM. NULL: the launcher
     * knows none. */
    int (*psets)(struct wf_boot *, const struct wf_boot_pset **,
                 uint32_t *count);
    /* Start processes: see spawn.h. Returns the launcher's number of the job, 0
     * if it gives none, or a status, whose cause is recorded. NULL: a server
     * that speaks PMI-1 does. */
    int (*spawn)(struct wf_boot *, const struct weft_boot_spawn *);
    /* Whether a job that spawn() started has ended. NULL: as with spawn(). */
    bool (*has_ended)(struct wf_boot *, int job);
};

/* The state of a process, as the launcher last said. WF_BOOT_CALLED: it runs,
 * and says so itself soon if it is in MPI. */
enum wf_boot_state {
    WF_BOOT_UNKNOWN,
    WF_BOOT_RUNS,
    WF_BOOT_ENDED,
    WF_BOOT_CALLED
};

/* The last word of the launcher on a process. */
struct wf_boot_word {
    enum wf_boot_state state;
    uint32_t replies; /* of the launcher, about it */
    uint32_t answers; /* of the process itself, when the last reply was given */
};

struct wf_boot {
    const struct wf_boot_ops *ops;
    uint32_t rank, size;
    int appnum;             /* of an MPMD launch, or -1 */
    uint32_t universe_size; /* 0: unknown */
    uint32_t launcher;      /* its process id on this machine, 0: unknown */
    /* The node index of each rank (from PMI_process_mapping or the sections
     * [rank] and [host]), or NULL if unknown. */
    uint32_t *node_of;
    uint32_t node_count; /* 0: unknown */
    /* Every process runs on this machine (key weft.hosts=1, or one node in the
     * mapping). It is also true with mpirun --nodes N. */
    int one_host;
    /* No launcher started this process: who is where, and at which address,
     * stands in mpi.ini, and others may start later. */
    int is_static;
    /* A launcher started this process, and passes business cards on. */
    int is_launched;
    int is_spawned; /* by a process of another job: spawn.h */
    /* The launcher answers a get of a business card as soon as the card is
     * there (Weft's mpirun), so that no process needs the fence at start. */
    int awaits;
    /* The end of the fence came while get() waited for an answer, or in
     * hear(). */
    int fence_passed;
    /* The processes that have given this one up, each once, in the order in
     * which that became known. Each call may add some. */
    uint32_t *given_up_by;
    uint32_t given_up_by_count;
    struct wf_boot_word *said; /* [size]; NULL: nothing was asked */
    /* The caller sets these before fence_start. Any thread may call wake until
     * fence_end has returned. */
    void (*wake)(void *arg);
    void *wake_arg;
    /* The job key, kept for the next attempt to start when one failed after the
     * launcher gave it; or NULL. */
    struct wf_auth_key *key;
    /* The boot that answers requests about names and processes to spawn, by
     * PMI-1: this one, or that of the process' own launcher (own_launcher.h);
     * NULL: there is none, or none yet if starts_launcher. */
    struct wf_boot *server;
    int starts_launcher; /* a process without a launcher, which may start one */
    const char *launcher_path;             /* core.launcher */
    struct wf_names *names;                /* published in a folder: names.h */
    void (*free_names)(struct wf_names *); /* NULL: there are none */
    char
        *parent_port; /* of the job's parent, where open() learns it; or NULL */
    char job[64]; /* name of the job, unique among jobs of these machines */
};

/* Wait for all processes at the fence. */
static inline int wf_boot_fence(struct wf_boot *b)
{
    int fd, r = b->ops->fence_start(b, &fd);

    return r < 0 ? r : b->ops->fence_end(b);
}

/* Free the key, remove the names that were published, and close the boot. */
void wf_boot_close(struct wf_boot *);

/* Choose a provider and open it. err holds a sentence on failure. */
int wf_boot_open(const struct wf_config *, struct wf_boot **, char *err,
                 size_t err_len);

/* Whether wf_boot_open would take the static provider. */
bool wf_boot_is_static(const struct wf_config *);

/* The number of processes that the launcher announces in the environment, for
 * use before a boot is open; 0: unknown. */
uint32_t wf_boot_announced_size(void);

/* Make a name that no other job of this machine has: "prefix-pid-random". */
void wf_boot_unique_name(char out[64], const char *prefix);

/* Read a decimal number from the environment; -1: unset, -2: not a number. */
long wf_boot_env_number(const char *name);

#endif
