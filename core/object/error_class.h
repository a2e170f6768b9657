/* The boundary between the MPI error classes of the chapters and the statuses
 * of the layers below (base.h, ERRORS).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_ERROR_CLASS_H
#define WF_OBJECT_ERROR_CLASS_H

#include "report/status.h"

/* Returns the MPI error class of a status: where a chapter has called a lower
 * layer, and where a request has ended. Of a wrong length MPI_ERR_TRUNCATE or
 * MPI_ERR_COUNT; MPI_ERR_NO_MEM for WEFT_ENOMEM; MPI_ERR_PROC_ABORTED where a
 * peer or the way to it is gone; the class that a chapter gave; else
 * MPI_ERR_OTHER. */
WF_COLD int wf_error_class_of_failure(int status);
static inline int wf_error_class(int status)
{
    return wf_likely(!status) ? MPI_SUCCESS : wf_error_class_of_failure(status);
}

/* Returns the status of an error class: where a chapter completes a request
 * of its own. wf_error_class gives the class back. */
WF_COLD int wf_error_status_of_failure(int mpi_class);
static inline int wf_error_status(int mpi_class)
{
    return wf_likely(!mpi_class) ? 0 : wf_error_status_of_failure(mpi_class);
}

#endif
