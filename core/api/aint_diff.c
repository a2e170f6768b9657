/* MPI_Aint_diff: displacement between two addresses (MPI-5.0 s5.1.5).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return (MPI_Aint)((uintptr_t)addr1 - (uintptr_t)addr2);
}
WF_WEAK(MPI_Aint_diff);
