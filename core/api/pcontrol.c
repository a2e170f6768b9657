/* MPI_Pcontrol is for profiling layers; the library itself ignores it (MPI-5.0
 * s15.2.4).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

int PMPI_Pcontrol(const int level, ...)
{
    return MPI_SUCCESS;
}
WF_WEAK(MPI_Pcontrol);
