/* MPI_Status. Only this file and its header know the contents of
 * MPI_internal.
 *
 *   MPI_internal[0], [1]   bytes received, low and high half
 *   MPI_internal[2]        1 if cancelled
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "object/status.h"

#include "core_api.h"

enum { LOW, HIGH, CANCELLED };

void wf_status_set_bytes(MPI_Status *s, uint64_t bytes)
{
    s->MPI_internal[LOW] = (int)(uint32_t)bytes;
    s->MPI_internal[HIGH] = (int)(uint32_t)(bytes >> 32);
}

void wf_status_set_cancelled(MPI_Status *s, bool cancelled)
{
    s->MPI_internal[CANCELLED] = cancelled;
}

bool wf_status_cancelled(const MPI_Status *s)
{
    return s->MPI_internal[CANCELLED];
}

void wf_status_set(MPI_Status *s, int source, int tag, uint64_t bytes,
                   bool cancelled)
{
    if (s == MPI_STATUS_IGNORE)
        return;
    s->MPI_SOURCE = source;
    s->MPI_TAG = tag;
    wf_status_set_bytes(s, bytes);
    wf_status_set_cancelled(s, cancelled);
}

void wf_status_empty(MPI_Status *s)
{
    if (s != MPI_STATUS_IGNORE)
        s->MPI_ERROR = MPI_SUCCESS;
    wf_status_set(s, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false);
}

int wf_mpi_status_set_cancelled(struct wf_instance *wf, MPI_Status *status,
                                int flag)
{
    wf_status_set_cancelled(status, flag != 0);
    return MPI_SUCCESS;
}

int wf_mpi_test_cancelled(struct wf_instance *wf, const MPI_Status *status,
                          int *flag)
{
    *flag = wf_status_cancelled(status);
    return MPI_SUCCESS;
}

int wf_mpi_status_get_source(struct wf_instance *wf, const MPI_Status *status,
                             int *source)
{
    *source = status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int wf_mpi_status_get_tag(struct wf_instance *wf, const MPI_Status *status,
                          int *tag)
{
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int wf_mpi_status_get_error(struct wf_instance *wf, const MPI_Status *status,
                            int *error)
{
    *error = status->MPI_ERROR;
    return MPI_SUCCESS;
}

int wf_mpi_status_set_source(struct wf_instance *wf, MPI_Status *status,
                             int source)
{
    status->MPI_SOURCE = source;
    return MPI_SUCCESS;
}

int wf_mpi_status_set_tag(struct wf_instance *wf, MPI_Status *status, int tag)
{
    status->MPI_TAG = tag;
    return MPI_SUCCESS;
}

int wf_mpi_status_set_error(struct wf_instance *wf, MPI_Status *status,
                            int error)
{
    status->MPI_ERROR = error;
    return MPI_SUCCESS;
}
