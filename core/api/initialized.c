/* MPI_Initialized: was MPI_Init called, whatever came after (MPI-5.0 s11.4.1).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

int PMPI_Initialized(int *flag)
{
    if (!flag)
        return wf_bad_pointer(wf_current(), NULL, "MPI_Initialized", "flag");
    *flag = wf_api_phase() != WF_PHASE_BEFORE;
    return MPI_SUCCESS;
}
WF_WEAK(MPI_Initialized);
