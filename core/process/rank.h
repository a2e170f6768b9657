/* The rank: all that it has once, whatever the number of its engines.
 *
 * The first engine (home) makes it and lives longest. process/instance.h shows
 * where it stands.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_RANK_H
#define WF_PROCESS_RANK_H

#include "process/instance.h"
#include "process/job.h"

struct wf_auth_session; /* boot/auth.h */
struct wf_block;        /* comm/blocks.h */
struct wf_boot;  /* boot/boot.h */
struct wf_bsend_buffer;
struct wf_coll_rules;
struct wf_comm; /* group/comm.h */
struct wf_comm_handlers;
struct wf_config;
struct wf_core_options;
struct wf_engine_makers;
struct wf_engines;      /* progress/engines.h */
struct wf_env;          /* object/env.h */
struct wf_ranks;        /* process/ranks.h */
struct wf_state;        /* report/state.h */
struct wf_type_records; /* datatype/named.h */

/* The numbers of handles that MPI_X_toint has given out: api/handle_int.c,
 * which is linked only into programs that ask for some. */
struct wf_handle_ints {
    void (*free)(struct wf_handle_ints *);
};

/* The state of MPI-IO: io/files.h, which is linked only into programs that use
 * files. */
struct wf_files {
    void (*finish)(struct wf_files *); /* waits for the I/O threads */
    void (*free)(struct wf_files *);   /* when the rank has left the job */
};

/* Ports, and what belongs to them: meet/ports.h, which is linked only into
 * programs that use some. */
struct wf_meet {
    void (*free)(struct wf_meet *);
};

enum { WF_RETIRED_MAX = 16, WF_EARLY_MAX = 16 };

struct wf_rank {
    uint32_t id;       /* its number, which is its index in the own job */
    struct wf_job job; /* its own, and a list of others */
    /* Ids of the keys by which processes of other jobs were called last; a ring
     * (route/jobs.h). */
    uint64_t retired[WF_RETIRED_MAX];
    uint32_t retired_count;
    /* Names of processes that others have lost before this one has met them,
     * and the ids of their keys; a ring (protocol/death.c). */
    struct {
        uint64_t process, key;
    } early[WF_EARLY_MAX];
    uint32_t early_count;
    int thread_level;  /* MPI_THREAD_* granted to the world model */
    bool multiple; /* the program has threads that call at the same time */
    struct wf_instance *home; /* the first engine */
    struct wf_engines *_Atomic engines; /* NULL while there is one */
    bool single_engine; /* opening others has failed: not tried again */
    const struct wf_engine_makers *engine_makers; /* progress/engines.h */

    struct wf_boot *boot;
    struct wf_ranks *ranks; /* of this process, when it holds several */
    struct wf_config *config;
    const struct wf_core_options *options;
    const struct wf_coll_rules *coll_rules; /* of mpi.ini */
    int log_level;                          /* core.log: WF_LOG_ */
    struct wf_state *state; /* page that tells the launcher about waits */
    wf_atomic_u32 slow_calls; /* 1: recorded or timed, by no fast path */
    wf_atomic_u64 call_ns[5]; /* by enum wf_call_class: report/call_time.h */
    /* Called when a handshake is complete; NULL: no route encrypts. */
    void (*on_authenticated)(struct weft_core *, uint32_t id,
                             const struct wf_auth_session *);

    uint64_t node; /* hash that names this node */
    char host[256];
    uint32_t local_index, local_count; /* among the processes of this node */
    uint32_t cpus;     /* that the processes of this node may use */
    uint32_t own_cpus; /* in the affinity mask of this process */

    /* MPI_COMM_WORLD and MPI_COMM_SELF after their end, while incomplete
     * requests hold them. */
    struct wf_comm *ended[2];
    const struct wf_comm_handlers *comm_handlers; /* group/comm.h */
    struct wf_env *env;
    int last_used_code;      /* the value of MPI_LASTUSEDCODE */
    /* of MPI_Alloc_mem: given out, and freed and kept: comm/blocks.h */
    struct wf_block *blocks, *spare_blocks;
    struct wf_handle_ints *handle_ints; /* api/handle_int.h */
    struct wf_files *files;             /* io/files.h; NULL: none needed yet */
    struct wf_meet *meet;               /* meet/ports.h; NULL: none yet */
    struct wf_bsend_buffer *bsend;      /* p2p/buffered.h */
    struct wf_type_records *types;      /* datatype/named.h; NULL: none yet */
};

/* Returns the first engine of the rank. */
static inline struct wf_instance *wf_home(const struct wf_instance *wf)
{
    return wf->rank->home;
}

#endif
