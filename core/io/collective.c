/* Collective accesses of a blocking call, and split ones.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/collective.h"

#include "io/file.h"
#include "io/prepare.h"
#include "io/twophase.h"
#include "object/error.h"
#include "protocol/request.h"

int wf_file_run_collective(struct wf_file *f, struct wf_access *a, int rc)
{
    if (f->comm->size > 1)
        return wf_twophase_run(f, a, rc);
    return rc ? rc : wf_file_run(f, a);
}

/* ---- split collectives --------------------------------------------------- */

static const char *const names[] = {
    [WF_SPLIT_READ_AT_ALL] = "MPI_File_read_at_all",
    [WF_SPLIT_WRITE_AT_ALL] = "MPI_File_write_at_all",
    [WF_SPLIT_READ_ALL] = "MPI_File_read_all",
    [WF_SPLIT_WRITE_ALL] = "MPI_File_write_all",
    [WF_SPLIT_READ_ORDERED] = "MPI_File_read_ordered",
    [WF_SPLIT_WRITE_ORDERED] = "MPI_File_write_ordered",
};

int wf_file_check_split(const struct wf_file *f)
{
    if (f->split == WF_SPLIT_NONE)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_IO,
                    "%s_begin is under way on this file: call %s_end first",
                    names[f->split], names[f->split]);
}

int wf_file_end_split(struct wf_file *f, enum wf_split which,
                      MPI_Status *status)
{
    struct wf_req *r = f->split_request;

    if (f->split == WF_SPLIT_NONE)
        return wf_error(MPI_ERR_IO,
                        "no split collective is under way on this "
                        "file: call %s_begin first",
                        names[which]);
    if (f->split != which)
        return wf_error(MPI_ERR_IO,
                        "%s_begin is under way on this file, which "
                        "%s_end does not end",
                        names[f->split], names[which]);
    f->split = WF_SPLIT_NONE;
    f->split_request = NULL;
    return wf_error_class(wf_wait(&r, status));
}
