/* The boundary between the MPI error classes of the chapters and the statuses
 * of the layers below.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/error_class.h"

#include <limits.h>

int wf_error_class_of_failure(int status)
{
    WF_ASSERT(status < 0);
    switch (status) {
    case WEFT_ENOMEM:
        return MPI_ERR_NO_MEM;
    case WEFT_EPEER:
    case WEFT_ELINK:
        return MPI_ERR_PROC_ABORTED;
    case WF_ETRUNCATED:
        return MPI_ERR_TRUNCATE;
    case WF_ESHORT:
        return MPI_ERR_COUNT;
    default:
        return status < WF_ECHAPTER ? WF_ECHAPTER - status : MPI_ERR_OTHER;
    }
}

/* A value that is no class, which a callback of the program or another process
 * may have given, becomes MPI_ERR_UNKNOWN. */
int wf_error_status_of_failure(int mpi_class)
{
    switch (mpi_class) {
    case MPI_ERR_NO_MEM:
        return WEFT_ENOMEM;
    case MPI_ERR_PROC_ABORTED:
        return WEFT_EPEER;
    case MPI_ERR_TRUNCATE:
        return WF_ETRUNCATED;
    case MPI_ERR_COUNT:
        return WF_ESHORT;
    default:
        if (mpi_class <= 0 || mpi_class > INT_MAX + WF_ECHAPTER)
            mpi_class = MPI_ERR_UNKNOWN;
        return WF_ECHAPTER - mpi_class;
    }
}
