/* The last step of the agreement on a communicator fails in rank 0, which has
 * no memory for a receive: one other rank learns of it in the agreement, the
 * rest have made the communicator (core/comm/agree.h). These do not wait for
 * rank 0: neither in collectives, nor for the shared pointer of a file, which
 * rank 0 would keep, nor for its part of a window. Linked with
 * -Wl,--wrap=wf_irecv.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_rig.h"

#include "protocol/receive.h"

static int lacks_memory;

int __real_wf_irecv(struct wf_comm *, void *, uint64_t, struct wf_type *, int,
                    int, enum wf_space, struct wf_req **);
int __wrap_wf_irecv(struct wf_comm *, void *, uint64_t, struct wf_type *, int,
                    int, enum wf_space, struct wf_req **);

/* The last step but for rank 0 itself: the receive from the middle. */
int __wrap_wf_irecv(struct wf_comm *comm, void *buf, uint64_t count,
                    struct wf_type *type, int source, int tag,
                    enum wf_space space, struct wf_req **out)
{
    if (!lacks_memory || space != WF_SPACE_NBC || source != size - 2)
        return __real_wf_irecv(comm, buf, count, type, source, tag, space, out);
    lacks_memory = 0;
    return WEFT_ENOMEM;
}

/* Checks that a call has failed in rank 0 and in the one that it tells, and has
 * this class in others. Returns whether it has made something here. */
static int has_made(int rc, int others)
{
    int class = class_of(rc);

    CHECK(!lacks_memory);
    if (rank == 0)
        CHECK(class == MPI_ERR_NO_MEM);
    else if (rank == 2)
        CHECK(class == MPI_ERR_NOT_SAME);
    else
        CHECK(class == others);
    return class == MPI_SUCCESS;
}

static void check_communicator(void)
{
    MPI_Comm child = MPI_COMM_NULL;

    lacks_memory = rank == 0;
    if (has_made(MPI_Comm_dup(MPI_COMM_WORLD, &child), MPI_SUCCESS)) {
        CHECK(class_of(MPI_Barrier(child)) == MPI_ERR_PROC_ABORTED);
        MPI_Comm_free(&child);
    }
    check_talks(MPI_COMM_WORLD);
}

static void check_file(int other_is_open)
{
    MPI_File f = MPI_FILE_NULL, other = MPI_FILE_NULL;

    if (other_is_open) /* then rank 0 listens to messages about files */
        other = open_file(RW);
    lacks_memory = rank == 0;
    if (has_made(MPI_File_open(MPI_COMM_WORLD, name, RW, MPI_INFO_NULL, &f),
                 MPI_SUCCESS)) {
        for (int i = 0; i < 2; i++)
            CHECK(class_of(MPI_File_write_shared(f, &rank, 1, MPI_INT,
                                                 MPI_STATUS_IGNORE)) ==
                  MPI_ERR_PROC_ABORTED);
        CHECK(class_of(MPI_File_close(&f)) == MPI_ERR_PROC_ABORTED);
    }
    check_talks(MPI_COMM_WORLD);
    if (other_is_open)
        CHECK(MPI_File_close(&other) == MPI_SUCCESS);
}

static int make_window(int flavor, MPI_Win *win)
{
    static int memory[4];
    void *base;

    switch (flavor) {
    case MPI_WIN_FLAVOR_CREATE:
        return MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL,
                              MPI_COMM_WORLD, win);
    case MPI_WIN_FLAVOR_ALLOCATE:
        return MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                                win);
    default:
        return MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win);
    }
}

static void check_window(int flavor)
{
    MPI_Win win = MPI_WIN_NULL;

    lacks_memory = rank == 0;
    CHECK(!has_made(make_window(flavor, &win), MPI_ERR_PROC_ABORTED));
    CHECK(win == MPI_WIN_NULL);
    check_talks(MPI_COMM_WORLD);
    CHECK(make_window(flavor, &win) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    io_begin(&argc, &argv, "engines_open_failure");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check_communicator();
    check_file(0);
    check_file(1);
    check_window(MPI_WIN_FLAVOR_CREATE);
    check_window(MPI_WIN_FLAVOR_ALLOCATE);
    check_window(MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return job_end();
}
