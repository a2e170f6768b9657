/* MPI_Wtick: resolution of MPI_Wtime.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <time.h>

#include "api/check.h"

double PMPI_Wtick(void)
{
    struct timespec t;
    if (clock_getres(CLOCK_MONOTONIC, &t))
        return 1e-9;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
WF_WEAK(MPI_Wtick);
