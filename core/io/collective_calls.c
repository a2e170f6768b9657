/* Collective accesses by explicit offsets and by the individual file pointer
 * (MPI-5.0 s14.4.2, s14.4.3, s14.4.5).
 *
 * A process with a wrong argument takes part without data, so that the others
 * get its error instead of waiting for it.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/collective_calls.h"

#include "io/collective.h"
#include "io/file.h"
#include "io/prepare.h"
#include "io/start_collective.h"
#include "object/error.h"
#include "object/status.h"
#include "process/instance.h"
#include "protocol/request.h"

int wf_file_run_together(const struct wf_file_call *c,
                         const struct wf_file_function *f, void *status)
{
    struct wf_access a;
    int rc = wf_file_prepare(c, &a);
    bool wrong = rc != MPI_SUCCESS;

    rc = wf_file_run_collective(c->file, &a, rc);
    if (!wrong)
        wf_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, a.bytes_done, false);
    return rc;
}

int wf_file_start_together(const struct wf_file_call *c,
                           const struct wf_file_function *f, void *request)
{
    struct wf_access a;
    struct wf_req *r = NULL;
    int rc = wf_file_start_collective(c->file, &a, wf_file_prepare(c, &a),
                                      f->name, &r);

    if (rc == MPI_SUCCESS)
        *(MPI_Request *)request = (MPI_Request)r;
    return rc;
}

int wf_file_begin_split(const struct wf_file_call *c,
                        const struct wf_file_function *f,
                        const struct wf_access *a, int rc)
{
    struct wf_file *file = c->file;
    struct wf_req *r = NULL;

    rc = wf_file_start_collective(file, a, rc, f->name, &r);
    if (rc == MPI_SUCCESS) {
        file->split = f->split;
        file->split_request = r;
    }
    return rc;
}

int wf_file_begin_together(const struct wf_file_call *c,
                           const struct wf_file_function *f, void *none)
{
    struct wf_access a;
    int rc = wf_file_check_split(c->file);

    return rc ? rc : wf_file_begin_split(c, f, &a, wf_file_prepare(c, &a));
}

int wf_file_refuse(struct wf_file *f, int rc, bool waits)
{
    struct wf_req *r;

    WF_SECTION(api, f->wf) {
        if (waits)
            wf_file_run_collective(f, NULL, rc);
        else
            wf_file_start_collective(f, NULL, rc, NULL, &r);
    }
    return rc;
}
