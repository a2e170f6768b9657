/* MPI_Abi_get_version: the version of the binary interface (MPI-5.0 s20.2).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "api/check.h"

int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    if (!abi_major || !abi_minor)
        return wf_bad_pointer(wf_current(), NULL, "MPI_Abi_get_version",
                              abi_major ? "abi_minor" : "abi_major");
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}
WF_WEAK(MPI_Abi_get_version);
