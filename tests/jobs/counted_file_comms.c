/* The private communicator of a file is kept for the next one over the same
 * communicator: whatever was open at the same time, and however the files end.
 * Linked with -Wl,--wrap=wf_derive_create_private, so that those that are made
 * are counted; with several engines (FILES_EXPECT=any) they may lie on others,
 * and are not kept.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_rig.h"

#include <pthread.h>

#include "comm/derive.h"

enum { TIMES = 10, BOTH = 2, PIECE = 8 };

static _Thread_local int made;
static int expects_any;

int __real_wf_derive_create_private(struct wf_comm *, enum wf_route_kind, int,
                                    struct wf_comm **);
int __wrap_wf_derive_create_private(struct wf_comm *, enum wf_route_kind, int,
                                    struct wf_comm **);

int __wrap_wf_derive_create_private(struct wf_comm *over,
                                    enum wf_route_kind kind, int rc,
                                    struct wf_comm **out)
{
    made++;
    return __real_wf_derive_create_private(over, kind, rc, out);
}

static MPI_File open_over(MPI_Comm comm)
{
    MPI_File f = MPI_FILE_NULL;

    CHECK(!MPI_File_open(comm, name, RW, MPI_INFO_NULL, &f));
    return f;
}

/* Every member of the file appends to it by the shared pointer. */
static void use_file(MPI_File f)
{
    MPI_Offset end = -1;
    char piece[PIECE] = {0};

    CHECK(!MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
    for (int i = 0; i < 3; i++)
        CHECK(!MPI_File_write_shared(f, piece, PIECE, MPI_BYTE,
                                     MPI_STATUS_IGNORE));
    CHECK(!MPI_File_write_ordered(f, piece, PIECE, MPI_BYTE,
                                  MPI_STATUS_IGNORE));
    CHECK(!MPI_File_get_position_shared(f, &end));
    CHECK(end == 4 * size * PIECE);
}

static void check_one_after_another(MPI_Comm comm)
{
    int before = made;

    for (int i = 0; i < TIMES; i++) {
        MPI_File f = open_over(comm);

        use_file(f);
        CHECK(!MPI_File_close(&f));
    }
    CHECK(expects_any || made - before == 1);
}

static void check_several_at_once(MPI_Comm comm)
{
    MPI_File f[BOTH];
    int before = 0;

    for (int i = 0; i < TIMES; i++) {
        if (i == 1)
            before = made;
        for (int k = 0; k < BOTH; k++)
            f[k] = open_over(comm);
        for (int k = 0; k < BOTH; k++)
            use_file(f[k]);
        for (int k = 0; k < BOTH; k++)
            CHECK(!MPI_File_close(&f[k ^ (i & 1)]));
    }
    CHECK(expects_any || made - before == (BOTH - 1) * (TIMES - 1));
}

/* A file whose opening fails in one member, or that fails to end, keeps
 * nothing that others have not. */
static void check_failure(MPI_Comm comm)
{
    MPI_File f;

    for (int i = 0; i < TIMES; i++) {
        CHECK(MPI_File_open(comm, i % size == rank ? "/no/such/file" : name, RW,
                            MPI_INFO_NULL, &f) != MPI_SUCCESS);
        f = open_over(comm);
        use_file(f);
        CHECK(!MPI_File_close(&f));
    }
}

/* A file outlives the communicator over which it was opened. */
static void check_without_parent(void)
{
    for (int i = 0; i < TIMES; i++) {
        MPI_File f;
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        f = open_over(comm);
        CHECK(!MPI_File_close(&f));
        f = open_over(comm);
        MPI_Comm_free(&comm);
        use_file(f);
        CHECK(!MPI_File_close(&f));
    }
}

static void *close_file(void *f)
{
    return MPI_File_close(f) == MPI_SUCCESS ? f : NULL;
}

/* Two threads close a file each, in any order in each member: so members may
 * keep different communicators. */
static void check_closed_by_threads(MPI_Comm comm)
{
    for (int i = 0; i < 3 * TIMES; i++) {
        MPI_File f[BOTH];
        pthread_t thread;
        void *closed = NULL;

        for (int k = 0; k < BOTH; k++) {
            f[k] = open_over(comm);
            use_file(f[k]);
        }
        CHECK(!pthread_create(&thread, NULL, close_file, &f[0]));
        CHECK(close_file(&f[1]));
        pthread_join(thread, &closed);
        CHECK(closed);
    }
}

/* A thread closes a file while another one opens the next: one may be kept
 * during the vote about the other. */
static void check_open_beside_close(MPI_Comm comm)
{
    MPI_File f = open_over(comm);

    for (int i = 0; i < 10 * TIMES; i++) {
        MPI_File before = f;
        pthread_t thread;
        void *closed = NULL;

        CHECK(!pthread_create(&thread, NULL, close_file, &before));
        f = open_over(comm);
        pthread_join(thread, &closed);
        CHECK(closed);
        use_file(f);
    }
    CHECK(!MPI_File_close(&f));
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int level;

    expects_any = getenv("FILES_EXPECT") != NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    io_choose_name("counted_file_comms");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check_one_after_another(comm);
    check_several_at_once(comm);
    check_failure(comm);
    check_without_parent();
    check_closed_by_threads(comm);
    check_open_beside_close(comm);
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return job_end();
}
