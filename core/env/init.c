/* MPI_Init and MPI_Init_thread: the world model (MPI-5.0 s11.2).
 *
 * The program's arguments are left alone (s11.2.1): everything comes from
 * mpi.ini and the environment.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "env/env.h"
#include "env/start.h"

/* The lowest level that includes the required one (s11.6). */
static int level_for(int required)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                 MPI_THREAD_SERIALIZED};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        if (required <= levels[i])
            return levels[i];
    return MPI_THREAD_MULTIPLE;
}

/* The section is held: threads of sessions may be about. */
static int begin_world(struct wf_instance *wf, int level)
{
    wf_cs_enter(&wf->api);
    int r = wf_world_begin(wf);
    wf->thread_level = level;
    wf->env->main_thread = pthread_self();
    wf_cs_leave(&wf->api);
    return r < 0 ? wf_error(MPI_ERR_NO_MEM, "no memory for MPI_COMM_WORLD")
                 : MPI_SUCCESS;
}

static int start(int level)
{
    struct wf_instance *wf;
    int rc = wf_start_use(level == MPI_THREAD_MULTIPLE ? WF_USE_THREADS
                                                       : WF_USE_ALONE, &wf);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = begin_world(wf, level);
    if (rc != MPI_SUCCESS)
        wf_start_leave(wf, WF_LEAVE_END);
    return rc;
}

int wf_mpi_init_thread(struct wf_instance *wf, int *argc, char ***argv,
                       int required, int *provided)
{
    static wf_atomic_u32 starting; /* some thread is in here */
    uint32_t idle = 0;
    if (!wf_cas_acq_rel(&starting, &idle, 1))
        return wf_error(MPI_ERR_OTHER,
                        "another thread is inside MPI_Init: call it once");
    int level = level_for(required);
    int rc = start(level);
    if (rc == MPI_SUCCESS) {
        *provided = level;
        /* pairs with the acquire in wf_api_phase */
        wf_store_release(&wf_process_phase, WF_PHASE_INSIDE);
    }
    wf_store_release(&starting, 0);
    return rc;
}

int wf_mpi_init(struct wf_instance *wf, int *argc, char ***argv)
{
    int provided;
    return wf_mpi_init_thread(wf, argc, argv, MPI_THREAD_SINGLE, &provided);
}
