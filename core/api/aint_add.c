/* MPI_Aint_add: displacement from an address (MPI-5.0 s5.1.5).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp)
{
    /* addresses wrap; signed overflow would be undefined */
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}
WF_WEAK(MPI_Aint_add);
