/* MPI_Initialized tells whether MPI_Init was called, also after MPI_Finalize
 * (MPI-5.0 s11.4.1).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"
#include "process/process.h"

int PMPI_Initialized(int *flag)
{
    if (!flag)
        return wf_bad_pointer(wf_current(), NULL, "MPI_Initialized", "flag");
    /* a thread that is no rank may act as one (MPIX_THREAD_FILTERED) */
    *flag = wf_api_phase() != WF_PHASE_BEFORE ||
            (!wf_thread_process && wf_process_state.acts_for_threads);
    return MPI_SUCCESS;
}
WF_WEAK(MPI_Initialized);
