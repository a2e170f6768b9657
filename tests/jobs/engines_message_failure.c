/* One message of a collective operation in rank 0 finds no memory at first: it
 * starts when there is some, and nobody notices, nor waits for ever for it. So
 * for each message, of a collective and of an access in two phases. Linked with
 * -Wl,--wrap=wf_isend,--wrap=wf_irecv.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "strided_view.h"

#include <unistd.h>

#include "protocol/receive.h"
#include "protocol/send.h"

enum { PIECE = 64, EACH = 40, MOST = 200 };

static char mine[EACH * PIECE];
static int fails_at; /* the n-th message from now on; 0: none */

static int has_memory(enum wf_space space)
{
    return space != WF_SPACE_COLL || fails_at <= 0 || --fails_at > 0;
}

int __real_wf_irecv(struct wf_comm *, void *, uint64_t, struct wf_type *, int,
                    int, enum wf_space, struct wf_req **);
int __wrap_wf_irecv(struct wf_comm *, void *, uint64_t, struct wf_type *, int,
                    int, enum wf_space, struct wf_req **);
int __real_wf_isend(struct wf_comm *, const void *, uint64_t, struct wf_type *,
                    int, int, enum wf_space, enum wf_send_mode,
                    struct wf_req **);
int __wrap_wf_isend(struct wf_comm *, const void *, uint64_t, struct wf_type *,
                    int, int, enum wf_space, enum wf_send_mode,
                    struct wf_req **);

int __wrap_wf_irecv(struct wf_comm *comm, void *buf, uint64_t count,
                    struct wf_type *type, int source, int tag,
                    enum wf_space space, struct wf_req **out)
{
    return has_memory(space) ? __real_wf_irecv(comm, buf, count, type, source,
                                               tag, space, out)
                             : WEFT_ENOMEM;
}

int __wrap_wf_isend(struct wf_comm *comm, const void *buf, uint64_t count,
                    struct wf_type *type, int dest, int tag,
                    enum wf_space space, enum wf_send_mode mode,
                    struct wf_req **out)
{
    return has_memory(space) ? __real_wf_isend(comm, buf, count, type, dest,
                                               tag, space, mode, out)
                             : WEFT_ENOMEM;
}

static int wait_for(int rc, MPI_Request *r)
{
    return rc ? rc : MPI_Wait(r, MPI_STATUS_IGNORE);
}

static int sum_up(MPI_File f)
{
    int one = 1, sum = 0;
    MPI_Request r;
    int rc = wait_for(
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r),
        &r);

    CHECK(sum == size_of(MPI_COMM_WORLD));
    return rc;
}

static int read_file(MPI_File f)
{
    MPI_Request r;

    return wait_for(
        MPI_File_iread_at_all(f, 0, mine, sizeof mine, MPI_BYTE, &r), &r);
}

/* Fails one message of a call after the other, until a call has no more. */
static void sweep_call(int (*call)(MPI_File), MPI_File f)
{
    int rank = rank_in(MPI_COMM_WORLD), n = 0, some = 1;

    while (some && ++n < MOST) {
        MPI_Barrier(MPI_COMM_WORLD);
        fails_at = rank == 0 ? n : 0;
        CHECK(call(f) == MPI_SUCCESS);
        some = rank == 0 && fails_at <= 0;
        fails_at = 0;
        MPI_Bcast(&some, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(n < MOST);
}

int main(int argc, char **argv)
{
    char path[80];
    int pid = (int)getpid();
    MPI_File f;

    job_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "engines_message_failure.%d.tmp", pid);
    f = open_strided(path, PIECE, "enable", "enable");
    CHECK(MPI_File_write_all(f, mine, sizeof mine, MPI_BYTE,
                             MPI_STATUS_IGNORE) == MPI_SUCCESS);
    sweep_call(sum_up, f);
    sweep_call(read_file, f);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
    if (rank_in(MPI_COMM_WORLD) == 0)
        MPI_File_delete(path, MPI_INFO_NULL);
    return job_end();
}
