/* Statuses of calls that complete several requests (MPI-5.0 s3.7.5): an error
 * among them is reported as MPI_ERR_IN_STATUS, and only then do the statuses
 * have MPI_ERROR fields.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_STATUSES_H
#define WF_STATUSES_H

#include "object/error.h"

static inline MPI_Status *wf_status_at(MPI_Status *statuses, int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

static inline void wf_status_error_at(MPI_Status *statuses, int i, int error)
{
    if (statuses != MPI_STATUSES_IGNORE)
        statuses[i].MPI_ERROR = error;
}

/* Note the outcome of the k-th completed request of a call that completes some.
 * failed: the first error of those before it, or MPI_SUCCESS. Returns the first
 * error including this one. */
static inline int wf_status_note_some(MPI_Status *statuses, int k, int error,
                                    int failed)
{
    if (error && !failed)
        for (int j = 0; j < k; j++)
            wf_status_error_at(statuses, j, MPI_SUCCESS);
    failed = failed ? failed : error;
    if (failed)
        wf_status_error_at(statuses, k, error);
    return failed;
}

static inline int wf_error_in_status(void)
{
    wf_error_last()->status = wf_error_status(MPI_ERR_IN_STATUS);
    return MPI_ERR_IN_STATUS;
}

#endif
