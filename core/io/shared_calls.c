/* Accesses by the shared file pointer (MPI-5.0 s14.4.4).
 *
 * The pointer advances by what is asked for, before the access, so that others
 * go on behind it. A nonblocking call waits for the keeper of the pointer, not
 * for the disk.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io/shared_calls.h"

#include "core_api.h"
#include "io/calls.h"
#include "io/collective.h"
#include "io/collective_calls.h"
#include "io/file.h"
#include "io/prepare.h"
#include "io/query.h"
#include "io/shared.h"
#include "io/view.h"
#include "io/vote.h"
#include "object/error.h"
#include "object/status.h"
#include "process/instance.h"
#include "protocol/request.h"

/* ---- one process --------------------------------------------------------- */

/* Prepares an access where the pointer is, which moves behind it. */
static int prepare_next(const struct wf_file_call *c, struct wf_access *a)
{
    int rc = wf_file_prepare(c, a);

    if (rc == MPI_SUCCESS)
        rc = wf_shared_add(c->file, a->stream_bytes, &a->stream);
    return rc ? rc : wf_view_check_range(a->view, a->stream, a->stream_bytes);
}

int wf_file_run_shared(const struct wf_file_call *c,
                       const struct wf_file_function *f, void *status)
{
    struct wf_access a;
    int rc = prepare_next(c, &a);

    return wf_file_finish_call(c->file, &a, rc, status);
}

int wf_file_start_shared(const struct wf_file_call *c,
                         const struct wf_file_function *f, void *request)
{
    struct wf_access a;
    int rc = prepare_next(c, &a);

    return wf_file_start_call(c, f, &a, rc, request);
}

/* ---- all processes ------------------------------------------------------- */

/* Prepares the accesses of all members, one behind the other. rc: the error
 * that this one has met; then it only takes part. */
static int prepare_ordered(const struct wf_file_call *c, struct wf_access *a)
{
    int rc = wf_file_prepare(c, a);
    int rc_add =
        wf_shared_add_ordered(c->file, rc ? 0 : a->stream_bytes, &a->stream);

    if (rc || rc_add)
        return rc ? rc : rc_add;
    return wf_view_check_range(a->view, a->stream, a->stream_bytes);
}

/* The accesses of all members lie behind each other, so none is made in two
 * phases. */
int wf_file_run_ordered(const struct wf_file_call *c,
                        const struct wf_file_function *f, void *status)
{
    struct wf_access a;
    int rc = prepare_ordered(c, &a);
    bool wrong = rc != MPI_SUCCESS;

    if (!wrong)
        rc = wf_file_run(c->file, &a);
    rc = wf_file_agree(c->file->comm, rc);
    if (!wrong)
        wf_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, a.bytes_done, false);
    return rc;
}

int wf_file_begin_ordered(const struct wf_file_call *c,
                          const struct wf_file_function *f, void *none)
{
    struct wf_access a;
    int rc = wf_file_check_split(c->file);

    return rc ? rc : wf_file_begin_split(c, f, &a, prepare_ordered(c, &a));
}

int wf_file_refuse_ordered(struct wf_file *f, int rc, bool waits)
{
    uint64_t old;

    WF_SECTION(api, f->wf) {
        wf_shared_add_ordered(f, 0, &old);
        if (waits)
            wf_file_agree(f->comm, rc);
    }
    return waits ? rc : wf_file_refuse(f, rc, false);
}

/* ---- the pointer --------------------------------------------------------- */

/* The keeper alone knows where the pointer is; its error is that of all. */
int wf_mpi_file_seek_shared(struct wf_instance *wf, struct wf_file *fh,
                            MPI_Offset offset, int whence)
{
    struct wf_file_vote vote = {.same = {offset, whence},
                                .names = {"offset", "whence"}};
    uint64_t at = 0;

    if (fh->comm->rank == 0) {
        vote.rc = wf_shared_add(fh, 0, &at);
        if (vote.rc == MPI_SUCCESS)
            vote.rc = wf_file_find_position(fh, offset, whence, at, &at);
    }
    if (wf_file_vote(fh->comm, &vote) == MPI_SUCCESS)
        wf_shared_set(fh, at);
    return vote.rc;
}

int wf_mpi_file_get_position_shared(struct wf_instance *wf, struct wf_file *fh,
                                    MPI_Offset *offset)
{
    uint64_t at = 0;
    int rc = wf_shared_add(fh, 0, &at);

    if (rc == MPI_SUCCESS)
        *offset = wf_file_count_etypes(fh, at);
    return rc;
}
