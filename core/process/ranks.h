/* The state that the ranks of one process share, where threads are ranks:
 * env/ranks.h makes it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PROCESS_RANKS_H
#define WF_PROCESS_RANKS_H

#include <pthread.h>

#include "os/atomic.h"

struct wf_boot;
struct wf_config;
struct wf_process;

/* The most ranks that the threads of one process may be. */
enum { WF_RANK_THREADS_MAX = 1 << 14 };

struct wf_ranks {
    uint32_t count;       /* slots */
    uint32_t first, size; /* rank of slot 0; ranks of the job */
    bool launched;        /* a launcher started this process */
    struct wf_config *config;
    struct wf_boot **boots;
    struct wf_process *processes;
    pthread_mutex_t open_lock; /* reading plugin options from config */
    wf_atomic_u32 claimed;
};

#endif
