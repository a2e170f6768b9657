/* MPIX_Run_ranks: runs a function in as many threads as the process holds
 * ranks.
 *
 * The calling thread is the first of them: where the program has one rank,
 * nothing is started, and a debugger sees the main thread where it expects it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "boot/abort.h"
#include "env/ranks.h"
#include "env/start.h"
#include "group/raise.h"
#include "mpix.h"
#include "object/error.h"
#include "os/futex.h"
#include "process/process.h"

enum { GATE_CLOSED, GATE_OPEN, GATE_CANCELLED };

struct call {
    wf_atomic_u32 gate; /* closed until all threads have been started */
    struct wf_ranks *all;
    int (*rank_main)(void *);
    void *arg;
    int *results; /* or NULL */
};

struct member {
    struct call *call;
    uint32_t slot;
    pthread_t thread;
};

/* Ends the job if the rank has returned without MPI_Finalize, because other
 * ranks might wait for it for ever. For a rank that is a process the launcher
 * does this. */
static void check_end(struct wf_process *p, uint32_t rank)
{
    if (wf_load_acquire(&p->phase) == WF_PHASE_INSIDE)
        wf_abort(p->start.instance, 1,
                 "weft " WEFT_VERSION ": rank %u returned from its function "
                 "without MPI_Finalize",
                 rank);
}

/* Waits until all ranks can run: else the first would wait for those that the
 * system refused to start. Returns false if the call was cancelled. */
static bool pass_gate(struct call *c)
{
    while (wf_load_acquire(&c->gate) == GATE_CLOSED)
        wf_futex_wait(&c->gate, GATE_CLOSED, NULL);
    return wf_load_acquire(&c->gate) == GATE_OPEN;
}

static void set_gate(struct call *c, uint32_t state)
{
    wf_store_release(&c->gate, state); /* pairs with pass_gate */
    wf_futex_wake(&c->gate);
}

static void *run_member(void *arg)
{
    const struct member *m = arg;
    struct call *c = m->call;
    if (!pass_gate(c))
        return NULL;
    struct wf_process *p = &c->all->processes[m->slot];
    wf_ranks_bind(c->all, m->slot);
    int result = c->rank_main(c->arg);
    check_end(p, c->all->first + m->slot);
    wf_start_end_idle(p);
    wf_ranks_leave_job(p);
    wf_ranks_unbind();
    if (c->results)
        c->results[m->slot] = result;
    return NULL;
}

/* Raises the limit of descriptors: each rank needs a few to sleep on. If that
 * is not enough, opening them reports it. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Starts the threads of slots 1 and above. Returns how many ranks can run, slot
 * 0 included. */
static uint32_t start_others(struct member *members, const struct call *call)
{
    uint32_t n = call->all->count, i = 1;
    for (; i < n; i++)
        if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) !=
            0)
            break;
    return i;
}

static int run_members(struct call *call)
{
    uint32_t n = call->all->count;
    struct member *members = calloc(n, sizeof *members);
    if (!members)
        return wf_error(MPI_ERR_NO_MEM, "no memory for %u threads", n);
    for (uint32_t i = 0; i < n; i++)
        members[i] = (struct member){.call = call, .slot = i};
    raise_descriptor_limit();
    uint32_t started = start_others(members, call);
    set_gate(call, started == n ? GATE_OPEN : GATE_CANCELLED);
    if (started == n)
        run_member(&members[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(members[i].thread, NULL);
    free(members);
    return started == n ? MPI_SUCCESS
                        : wf_error(MPI_ERR_NO_MEM,
                                   "the system starts no more "
                                   "than %u of %u threads",
                                   started, n);
}

/* Allows one call at a time, and none in a process or thread that is a rank. */
static int check_caller(struct wf_process *p)
{
    uint32_t idle = 0;
    if (p->ranks || wf_load_acquire(&p->phase) == WF_PHASE_INSIDE ||
        p->start.instance)
        return wf_error(MPI_ERR_OTHER,
                        "MPI is in use in this %s: call "
                        "MPIX_Run_ranks instead of MPI_Init",
                        wf_thread_process ? "rank" : "process");
    if (!wf_cas_acq_rel(&p->starting, &idle, 1))
        return wf_error(MPI_ERR_OTHER, "another thread of this process is "
                                       "inside MPIX_Run_ranks or MPI_Init");
    return MPI_SUCCESS;
}

static int run_ranks(int ranks, struct call *call)
{
    struct wf_process *p = wf_process();
    if (ranks < 0)
        return wf_error(MPI_ERR_ARG, "ranks is %d, it must not be negative",
                        ranks);
    if (!call->rank_main)
        return wf_error(MPI_ERR_ARG, "rank_main is NULL");
    int rc = check_caller(p);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = wf_ranks_create((uint32_t)ranks, &call->all);
    if (rc == MPI_SUCCESS) {
        p->ranks = call->all;
        rc = run_members(call);
        p->ranks = NULL;
        wf_ranks_free(call->all);
    }
    wf_store_release(&p->starting, 0);
    return rc;
}

__attribute__((visibility("default"))) int
MPIX_Run_ranks(int ranks, int (*rank_main)(void *), void *arg, int results[])
{
    struct call call = {.rank_main = rank_main, .arg = arg, .results = results};
    int rc = run_ranks(ranks, &call);
    return rc == MPI_SUCCESS ? rc : wf_raise(NULL, NULL, "MPIX_Run_ranks", rc);
}
