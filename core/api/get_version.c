/* MPI_Get_version: the standard this library follows.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

int PMPI_Get_version(int *version, int *subversion)
{
    if (!version || !subversion)
        return wf_bad_pointer(wf_current(), NULL, "MPI_Get_version",
                              version ? "subversion" : "version");
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}
WF_WEAK(MPI_Get_version);
