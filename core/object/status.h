/* MPI_Status. Only this header and status.c know the contents of MPI_internal.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OBJECT_STATUS_H
#define WF_OBJECT_STATUS_H

#include "base.h"

/* Set and read the fields of a status; MPI_internal[0] and [1] are the low and
 * the high half of the bytes. wf_status_set leaves MPI_ERROR alone: only
 * functions that return MPI_ERR_IN_STATUS set it (MPI-5.0 s3.2.5). */
void wf_status_set(MPI_Status *, int source, int tag, uint64_t bytes,
                   bool cancelled);

/* Make the empty status; its MPI_ERROR is MPI_SUCCESS (s3.7.3). */
void wf_status_empty(MPI_Status *);
static inline uint64_t wf_status_bytes(const MPI_Status *s)
{
    return (uint32_t)s->MPI_internal[0] | (uint64_t)(uint32_t)s->MPI_internal[1]
                                              << 32;
}

void wf_status_set_bytes(MPI_Status *, uint64_t bytes);
bool wf_status_cancelled(const MPI_Status *);
void wf_status_set_cancelled(MPI_Status *, bool);

#endif
