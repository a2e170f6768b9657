/* MPI_Init and MPI_Init_thread: the world model (MPI-5.0 s11.2).
 *
 * The program's arguments are left alone (s11.2.1): everything comes from
 * mpi.ini and the environment.
 *
 * The levels above MPI_THREAD_MULTIPLE are for threads that are ranks
 * (env/ranks.h).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "comm/world.h"
#include "boot/boot.h"
#include "core_api.h"
#include "env/ranks.h"
#include "env/start.h"
#include "meet/parent.h"
#include "mpix.h"
#include "object/env.h"
#include "object/error.h"
#include "process/process.h"
#include "process/rank.h"

/* Returns the lowest level that includes the required one, or else the highest
 * (s11.6). A rank that is a thread cannot know the threads that the program
 * makes, so it does not get the levels from SERIALIZED to MULTIPLE. */
static int choose_level(const struct wf_process *p, int required)
{
    static const int process[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                  MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    static const int thread[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                 MPIX_THREAD_AS_RANK, MPIX_THREAD_FILTERED};
    bool more =
        required > MPI_THREAD_FUNNELED && required <= MPI_THREAD_MULTIPLE;
    const int *levels = p->ranks ? thread : process;
    if (p->ranks && more)
        return MPI_THREAD_FUNNELED;
    for (int i = 0; i < 3; i++)
        if (required <= levels[i])
            return levels[i];
    return levels[3];
}

/* Create the world's communicators. The section is entered because threads of
 * sessions may be inside. */
static int begin_world(struct wf_instance *wf, int level)
{
    int r = 0;
    WF_SECTION(api, wf) {
        r = wf_world_begin(wf);
        wf->rank->thread_level = level;
        wf->rank->env->main_thread = pthread_self();
    }
    return r < 0 ? wf_error(MPI_ERR_NO_MEM, "no memory for MPI_COMM_WORLD")
                 : MPI_SUCCESS;
}

/* Meet the processes that have spawned this one, if any have. */
static int meet_parents(struct wf_instance *wf)
{
    int rc = MPI_SUCCESS;
    if (!wf->rank->boot->is_spawned || wf_home(wf)->rank->meet)
        return MPI_SUCCESS;
    if (!wf_parent_meet)
        return wf_error(MPI_ERR_OTHER,
                        "this process was spawned, and its program does not "
                        "call MPI_Comm_get_parent: link it with mpicc "
                        "-shared-mpi");
    WF_SECTION(api, wf)
        rc = wf_parent_meet(wf);
    return rc;
}

/* Let threads that are no ranks act as this rank, if it is the first that
 * allows it. */
static void act_for_threads(struct wf_instance *wf)
{
    struct wf_instance *nobody = NULL;
    if (wf_cas_acq_rel(&wf_process_instance, &nobody, wf))
        wf_store_release(&wf_process_state.acts_for_threads, 1);
}

static int start_world(int level)
{
    struct wf_instance *wf;
    bool threads =
        level == MPI_THREAD_MULTIPLE || level == MPIX_THREAD_FILTERED;
    int rc = wf_start_add_user(threads ? WF_USE_THREADS : WF_USE_ALONE, &wf);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = begin_world(wf, level);
    if (rc == MPI_SUCCESS)
        rc = meet_parents(wf);
    if (rc != MPI_SUCCESS)
        wf_start_remove_user(wf, WF_LEAVE_FAILED);
    else if (level == MPIX_THREAD_FILTERED)
        act_for_threads(wf);
    return rc;
}

/* Make the calling thread a rank if it asks for it and the process is to hold
 * several ranks. Threads that MPIX_Run_ranks started are ranks already. */
static int become_rank(int required)
{
    bool asks = required >= MPIX_THREAD_AS_RANK && wf_ranks_planned() > 1;
    return asks && !wf_thread_process ? wf_ranks_claim_slot() : MPI_SUCCESS;
}

int wf_mpi_init_thread(struct wf_instance *wf, int *argc, char ***argv,
                       int required, int *provided)
{
    int rc = become_rank(required);
    if (rc != MPI_SUCCESS)
        return rc;
    struct wf_process *p = wf_process();
    uint32_t idle = 0;
    if (!wf_cas_acq_rel(&p->starting, &idle, 1))
        return wf_error(MPI_ERR_OTHER,
                        "another thread is inside MPI_Init: call it once");
    int level = choose_level(p, required);
    rc = start_world(level);
    if (rc == MPI_SUCCESS) {
        *provided = level;
        /* pairs with the acquire in wf_api_phase */
        wf_store_release(&p->phase, WF_PHASE_INSIDE);
    }
    wf_store_release(&p->starting, 0);
    return rc;
}

int wf_mpi_init(struct wf_instance *wf, int *argc, char ***argv)
{
    int provided;
    return wf_mpi_init_thread(wf, argc, argv, MPI_THREAD_SINGLE, &provided);
}
