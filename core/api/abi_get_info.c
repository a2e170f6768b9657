/* MPI_Abi_get_info: sizes of the integer types of the ABI (MPI-5.0 s20.2).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdio.h>

#include "core_api.h"
#include "object/info.h"

static int put_size(struct wf_instance *wf, MPI_Info info, const char *key,
                    size_t size)
{
    char text[8];
    snprintf(text, sizeof(text), "%u", (unsigned)size);
    return wf_mpi_info_set(wf, wf_info_of(wf, info), key, text);
}

int wf_mpi_abi_get_info(struct wf_instance *wf, MPI_Info *info)
{
    MPI_Info made;
    int rc = wf_mpi_info_create(wf, &made);
    if (rc)
        return rc;
    rc = put_size(wf, made, "mpi_aint_size", sizeof(MPI_Aint));
    if (!rc)
        rc = put_size(wf, made, "mpi_count_size", sizeof(MPI_Count));
    if (!rc)
        rc = put_size(wf, made, "mpi_offset_size", sizeof(MPI_Offset));
    if (rc)
        wf_mpi_info_free(wf, &made);
    else
        *info = made;
    return rc;
}
