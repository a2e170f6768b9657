/* Bootstrap: who am I, how many are we, and a key-value space that all
 * processes of the job share until they can talk by themselves.
 *
 *   open -> put* -> fence -> get* ... -> finalize -> close
 *
 * Providers: pmi1 (mpirun, Hydra), static (addresses in mpi.ini), singleton,
 * and hosted (hosted.h) where a process holds several ranks.
 * wf_boot_open picks one: PMI_FD or PMI_PORT in the environment -> pmi1;
 * [core] bootstrap = static, or WEFT_RANK/WEFT_SIZE -> static; else singleton.
 * Only core/boot reads launcher variables.
 *
 * ERRORS  negative WEFT_E*; the cause is written into err by open, and recorded
 * (wf_error) by the other calls, but for WEFT_ENOMEM and WEFT_EUNREACH.
 * THREADS calls on one boot are never concurrent.
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

struct wf_boot_ops {
    const char *name; /* "pmi1", "static", "singleton" */
    /* Publish bytes under a key of [a-zA-Z0-9._-]; visible after fence. The
     * provider cuts and encodes what its launcher limits. */
    int (*put)(struct wf_boot *, const char *key, const void *value, size_t n);
    /* Bytes under a key, malloc'ed into *value. WEFT_EUNREACH: no such key.
     * WEFT_ENOMEM: it may be asked for again; no value is lost that the
     * launcher gives once, as mpirun does the job key. */
    int (*get)(struct wf_boot *, const char *key, void **value, size_t *n);
    /* The fence in two halves, so that the process can serve its peers while
     * it waits: start says that this process is there; *fd becomes readable,
     * or fence_passed true, when everybody is. *fd -1: no need to wait, or, of
     * a provider that has fence_passed, only that tells; it calls wake when it
     * changes. end waits for the rest. */
    int (*fence_start)(struct wf_boot *, int *fd);
    int (*fence_end)(struct wf_boot *);
    /* Ask the launcher to end the whole job with this exit code. Returns; the
     * caller then ends its own process. */
    void (*abort)(struct wf_boot *, int code, const char *message);
    /* Tell the launcher that this process ends in good order. */
    int (*finalize)(struct wf_boot *);
    void (*close)(struct wf_boot *);
    bool (*fence_passed)(struct wf_boot *); /* NULL: struct wf_boot knows */
    /* NULL: there is no such thing. Tell a process by way of the launcher that
     * this one has given it up: it may hear nothing from here. */
    void (*give_up)(struct wf_boot *, uint32_t rank);
    /* NULL: nothing is ever said. Read what the launcher says unasked, without
     * waiting: who has given this process up, the end of the fence, and answers
     * to ask_state. */
    int (*hear)(struct wf_boot *);
    /* NULL: nobody knows. Ask the launcher whether a process runs; the answer is
     * in states after some hear(). */
    void (*ask_state)(struct wf_boot *, uint32_t rank);
};

/* Of a process, as the launcher last said. */
enum wf_boot_state { WF_BOOT_UNKNOWN, WF_BOOT_RUNS, WF_BOOT_ENDED };

struct wf_boot {
    const struct wf_boot_ops *ops;
    uint32_t rank, size;
    int appnum;             /* of an MPMD launch, or -1 */
    uint32_t universe_size; /* 0: unknown */
    uint32_t launcher;      /* its process on this machine, 0: unknown */
    /* Node index of each rank as the launcher maps them (from
     * PMI_process_mapping or [rank]/[host] sections), or NULL if unknown. */
    uint32_t *node_of;
    uint32_t node_count; /* 0: unknown */
    /* The launcher says every process runs on this machine (key weft.hosts=1,
     * or one node in the mapping). mpirun --nodes N keeps it true. */
    int one_host;
    /* The launcher answers a get of a card when the card is there (our mpirun):
     * nobody has to meet the others at start. */
    int awaits;
    /* The end of the fence came while a get() was answered, or in hear(). */
    int fence_passed;
    /* The processes that have given this one up, in no order; each call may add
     * some. */
    uint32_t *losers;
    uint32_t losers_n;
    uint8_t *states; /* [size], enum wf_boot_state; NULL: nothing was asked */
    /* Set before fence_start: may be called by any thread until fence_end has
     * returned. */
    void (*wake)(void *arg);
    void *wake_arg;
    /* The job key, from an attempt to start that failed later, to the next. */
    struct wf_auth_key *key;
    char job[64]; /* name of the job, unique among jobs of these machines */
};

static inline int wf_boot_fence(struct wf_boot *b)
{
    int fd, r = b->ops->fence_start(b, &fd);

    return r < 0 ? r : b->ops->fence_end(b);
}

/* Forget its key, and close it. */
void wf_boot_close(struct wf_boot *);

/* Which provider, and open it. err holds a sentence on failure. */
int wf_boot_open(const struct wf_config *, struct wf_boot **, char *err,
                 size_t err_len);

/* How many processes the launcher says it starts, before there is a boot;
 * 0: nobody says. */
uint32_t wf_boot_planned(void);

/* size boots in one process over one key-value space in memory, for tests,
 * simulation and ranks as threads. fence returns at once: the caller lets all
 * put before any gets. Each is closed by its own close. 0 or WEFT_ENOMEM. */
int wf_boot_memory_create(uint32_t size, struct wf_boot **ranks);

#endif
