/* MPI_Wtime: seconds since a fixed moment of this host (MPI-5.0 s9.6).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"
#include "os/clock.h"

double PMPI_Wtime(void)
{
    return (double)wf_clock_ns() * 1e-9;
}
WF_WEAK(MPI_Wtime);
