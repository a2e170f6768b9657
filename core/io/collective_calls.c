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

#include "core_api.h"
#include "io/collective.h"
#include "io/file.h"
#include "io/prepare.h"
#include "io/start_collective.h"
#include "object/error.h"
#include "object/status.h"
#include "process/instance.h"
#include "protocol/request.h"

static int run_call(const struct wf_file_call *c, MPI_Status *status)
{
    struct wf_access a;
    int rc = wf_file_prepare(c, &a);
    bool wrong = rc != MPI_SUCCESS;

    rc = wf_file_run_collective(c->file, &a, rc);
    if (!wrong)
        wf_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, a.bytes_done, false);
    return rc;
}

static int start_request(const struct wf_file_call *c, const char *what,
                         MPI_Request *request)
{
    struct wf_access a;
    struct wf_req *r = NULL;
    int rc =
        wf_file_start_collective(c->file, &a, wf_file_prepare(c, &a), what, &r);

    if (rc == MPI_SUCCESS)
        *request = (MPI_Request)r;
    return rc;
}

int wf_file_begin_split(struct wf_file *f, const struct wf_access *a, int rc,
                        enum wf_split which, const char *what)
{
    struct wf_req *r = NULL;

    rc = wf_file_start_collective(f, a, rc, what, &r);
    if (rc == MPI_SUCCESS) {
        f->split = which;
        f->split_request = r;
    }
    return rc;
}

static int begin_split(const struct wf_file_call *c, enum wf_split which,
                       const char *what)
{
    struct wf_access a;
    int rc = wf_file_check_split(c->file);

    return rc ? rc
              : wf_file_begin_split(c->file, &a, wf_file_prepare(c, &a), which,
                                    what);
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

/* ---- explicit offsets ---------------------------------------------------- */

int wf_mpi_file_read_at_all(struct wf_instance *wf, struct wf_file *fh,
                            MPI_Offset offset, void *buf, MPI_Count count,
                            struct wf_type *datatype, MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, buf,
                             count, datatype,     false};

    return run_call(&c, status);
}

int wf_mpi_file_write_at_all(struct wf_instance *wf, struct wf_file *fh,
                             MPI_Offset offset, const void *buf,
                             MPI_Count count, struct wf_type *datatype,
                             MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, (void *)buf,
                             count, datatype,     true};

    return run_call(&c, status);
}

int wf_mpi_file_iread_at_all(struct wf_instance *wf, struct wf_file *fh,
                             MPI_Offset offset, void *buf, MPI_Count count,
                             struct wf_type *datatype, MPI_Request *request)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, buf,
                             count, datatype,     false};

    return start_request(&c, "MPI_File_iread_at_all", request);
}

int wf_mpi_file_iwrite_at_all(struct wf_instance *wf, struct wf_file *fh,
                              MPI_Offset offset, const void *buf,
                              MPI_Count count, struct wf_type *datatype,
                              MPI_Request *request)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, (void *)buf,
                             count, datatype,     true};

    return start_request(&c, "MPI_File_iwrite_at_all", request);
}

int wf_mpi_file_read_at_all_begin(struct wf_instance *wf, struct wf_file *fh,
                                  MPI_Offset offset, void *buf, MPI_Count count,
                                  struct wf_type *datatype)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, buf,
                             count, datatype,     false};

    return begin_split(&c, WF_SPLIT_READ_AT_ALL, "MPI_File_read_at_all_begin");
}

int wf_mpi_file_write_at_all_begin(struct wf_instance *wf, struct wf_file *fh,
                                   MPI_Offset offset, const void *buf,
                                   MPI_Count count, struct wf_type *datatype)
{
    struct wf_file_call c = {fh,    WF_AT_OFFSET, offset, (void *)buf,
                             count, datatype,     true};

    return begin_split(&c, WF_SPLIT_WRITE_AT_ALL,
                       "MPI_File_write_at_all_begin");
}

int wf_mpi_file_read_at_all_end(struct wf_instance *wf, struct wf_file *fh,
                                void *buf, MPI_Status *status)
{
    return wf_file_end_split(fh, WF_SPLIT_READ_AT_ALL, status);
}

int wf_mpi_file_write_at_all_end(struct wf_instance *wf, struct wf_file *fh,
                                 const void *buf, MPI_Status *status)
{
    return wf_file_end_split(fh, WF_SPLIT_WRITE_AT_ALL, status);
}

/* ---- the individual pointer ---------------------------------------------- */

int wf_mpi_file_read_all(struct wf_instance *wf, struct wf_file *fh, void *buf,
                         MPI_Count count, struct wf_type *datatype,
                         MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,    buf,
                             count, datatype,       false};

    return run_call(&c, status);
}

int wf_mpi_file_write_all(struct wf_instance *wf, struct wf_file *fh,
                          const void *buf, MPI_Count count,
                          struct wf_type *datatype, MPI_Status *status)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,   (void *)buf,
                             count, datatype,       true};

    return run_call(&c, status);
}

int wf_mpi_file_iread_all(struct wf_instance *wf, struct wf_file *fh, void *buf,
                          MPI_Count count, struct wf_type *datatype,
                          MPI_Request *request)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,    buf,
                             count, datatype,       false};

    return start_request(&c, "MPI_File_iread_all", request);
}

int wf_mpi_file_iwrite_all(struct wf_instance *wf, struct wf_file *fh,
                           const void *buf, MPI_Count count,
                           struct wf_type *datatype, MPI_Request *request)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,   (void *)buf,
                             count, datatype,       true};

    return start_request(&c, "MPI_File_iwrite_all", request);
}

int wf_mpi_file_read_all_begin(struct wf_instance *wf, struct wf_file *fh,
                               void *buf, MPI_Count count,
                               struct wf_type *datatype)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,    buf,
                             count, datatype,       false};

    return begin_split(&c, WF_SPLIT_READ_ALL, "MPI_File_read_all_begin");
}

int wf_mpi_file_write_all_begin(struct wf_instance *wf, struct wf_file *fh,
                                const void *buf, MPI_Count count,
                                struct wf_type *datatype)
{
    struct wf_file_call c = {fh,    WF_AT_POSITION, 0,   (void *)buf,
                             count, datatype,       true};

    return begin_split(&c, WF_SPLIT_WRITE_ALL, "MPI_File_write_all_begin");
}

int wf_mpi_file_read_all_end(struct wf_instance *wf, struct wf_file *fh,
                             void *buf, MPI_Status *status)
{
    return wf_file_end_split(fh, WF_SPLIT_READ_ALL, status);
}

int wf_mpi_file_write_all_end(struct wf_instance *wf, struct wf_file *fh,
                              const void *buf, MPI_Status *status)
{
    return wf_file_end_split(fh, WF_SPLIT_WRITE_ALL, status);
}
