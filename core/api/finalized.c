/* MPI_Finalized tells whether MPI_Finalize has completed.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"
#include "process/process.h"

int PMPI_Finalized(int *flag)
{
    if (!flag)
        return wf_bad_pointer(wf_current(), NULL, "MPI_Finalized", "flag");
    *flag = wf_api_phase() == WF_PHASE_AFTER;
    return MPI_SUCCESS;
}
WF_WEAK(MPI_Finalized);
