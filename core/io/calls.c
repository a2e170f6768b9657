/* Accesses by explicit offsets and by the individual file pointer (MPI-5.0
 * s14.4.2, s14.4.3).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/calls.h"

#include "core_api.h"
#include "io/file.h"
#include "io/prepare.h"
#include "io/started.h"
#include "object/error.h"
#include "protocol/request.h"

int wf_file_start_call(const struct wf_file_call *c,
                       const struct wf_file_function *f,
                       const struct wf_access *a, int rc, MPI_Request *request)
{
    struct wf_req *r;

    if (rc == MPI_SUCCESS)
        rc = wf_file_start(c->file, a, f->name, &r);
    if (rc == MPI_SUCCESS)
        *request = (MPI_Request)r;
    return rc;
}

int wf_file_start_alone(const struct wf_file_call *c,
                        const struct wf_file_function *f, void *request)
{
    struct wf_access a;
    int rc = wf_file_prepare(c, &a);

    return wf_file_start_call(c, f, &a, rc, request);
}

/* ---- explicit offsets ---------------------------------------------------- */

int wf_mpi_file_read_at(struct wf_instance *wf, struct wf_file *fh,
                        MPI_Offset offset, void *buf, MPI_Count count,
                        struct wf_type *datatype, MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, buf,
                             count, datatype,     false};

    return wf_file_run_call(&c, status);
}

int wf_mpi_file_write_at(struct wf_instance *wf, struct wf_file *fh,
                         MPI_Offset offset, const void *buf, MPI_Count count,
                         struct wf_type *datatype, MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, (void *)buf,
                             count, datatype,     true};

    return wf_file_run_call(&c, status);
}

/* ---- the individual pointer ---------------------------------------------- */

int wf_mpi_file_read(struct wf_instance *wf, struct wf_file *fh, void *buf,
                     MPI_Count count, struct wf_type *datatype,
                     MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,    buf,
                             count, datatype,       false};

    return wf_file_run_call(&c, status);
}

int wf_mpi_file_write(struct wf_instance *wf, struct wf_file *fh,
                      const void *buf, MPI_Count count,
                      struct wf_type *datatype, MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,   (void *)buf,
                             count, datatype,       true};

    return wf_file_run_call(&c, status);
}
