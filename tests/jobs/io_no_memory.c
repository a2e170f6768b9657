/* Collective calls on files where memory runs short in one rank: its n-th
 * allocation in the call fails, for each n. No rank waits for ever, all get the
 * same class, and the file can be used after it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_rig.h"
#include "../fake/memory_faults.h"

enum { MOST = 400, PIECE = 100, EACH = 40 };

static char mine[EACH * PIECE];

/* ---- the calls ----------------------------------------------------------- */

static int wait_for(int rc, MPI_Request *r)
{
    return rc ? rc : MPI_Wait(r, MPI_STATUS_IGNORE);
}

static int write_ordered(MPI_File f)
{
    return MPI_File_write_ordered(f, mine, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int read_ordered_split(MPI_File f)
{
    int rc = MPI_File_read_ordered_begin(f, mine, PIECE, MPI_BYTE);

    return rc ? rc : MPI_File_read_ordered_end(f, mine, MPI_STATUS_IGNORE);
}

static int write_at_all(MPI_File f)
{
    return MPI_File_write_at_all(f, 0, mine, sizeof mine, MPI_BYTE,
                                 MPI_STATUS_IGNORE);
}

static int read_at_all(MPI_File f)
{
    return MPI_File_read_at_all(f, 0, mine, sizeof mine, MPI_BYTE,
                                MPI_STATUS_IGNORE);
}

static int write_all_split(MPI_File f)
{
    int rc = MPI_File_write_at_all_begin(f, 0, mine, sizeof mine, MPI_BYTE);

    return rc ? rc : MPI_File_write_at_all_end(f, mine, MPI_STATUS_IGNORE);
}

static int start_write(MPI_File f)
{
    MPI_Request r;

    return wait_for(MPI_File_iwrite_at_all(f, 0, mine, sizeof mine, MPI_BYTE,
                                           &r),
                    &r);
}

static int start_two_reads(MPI_File f)
{
    MPI_Request r[2];
    int first = MPI_File_iread_at_all(f, 0, mine, PIECE, MPI_BYTE, &r[0]);
    int second =
        MPI_File_iread_at_all(f, PIECE, mine + PIECE, PIECE, MPI_BYTE, &r[1]);

    first = wait_for(first, &r[0]);
    second = wait_for(second, &r[1]);
    return first ? first : second;
}

static int seek_shared(MPI_File f)
{
    return MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
}

static int set_size(MPI_File f)
{
    return MPI_File_set_size(f, 100000);
}

static int set_view(MPI_File f)
{
    MPI_Datatype bytes, tile;
    int rc, n = size, left = memory_fails_at;

    atomic_store(&memory_fails_at, 0);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &bytes);
    MPI_Type_create_resized(bytes, 0, PIECE * n, &tile);
    MPI_Type_commit(&tile);
    atomic_store(&memory_fails_at, left);
    rc = MPI_File_set_view(f, rank * PIECE, MPI_BYTE, tile, "native",
                           MPI_INFO_NULL);
    left = memory_fails_at;
    atomic_store(&memory_fails_at, 0);
    MPI_Type_free(&bytes);
    MPI_Type_free(&tile);
    atomic_store(&memory_fails_at, left);
    return rc;
}

static int open_and_close(MPI_File f)
{
    MPI_File g = MPI_FILE_NULL;
    int rc = MPI_File_open(MPI_COMM_WORLD, name, RW, MPI_INFO_NULL, &g);
    int end = rc ? 0 : MPI_File_close(&g);

    return rc ? rc : end;
}

static const struct {
    const char *name;
    int (*call)(MPI_File);
} calls[] = {
    {"write_ordered", write_ordered},
    {"read_ordered_begin", read_ordered_split},
    {"seek_shared", seek_shared},
    {"set_size", set_size},
    {"set_view", set_view},
    {"write_at_all", write_at_all},
    {"read_at_all", read_at_all},
    {"write_at_all_begin", write_all_split},
    {"iwrite_at_all", start_write},
    {"two iread_at_all", start_two_reads},
    {"open", open_and_close},
};

/* ---- the sweep ----------------------------------------------------------- */

/* Returns whether an allocation of the call has failed. */
static int fail_call(int k, MPI_File f, int victim, int n)
{
    int rc, class, least, most, some;

    MPI_Barrier(MPI_COMM_WORLD);
    if (getenv("TALK") && rank == victim)
        fprintf(stderr, "%s: %d of rank %d\n", calls[k].name, n, victim);
    atomic_store(&memory_has_failed, 0);
    atomic_store(&memory_fails_at, rank == victim ? n : 0);
    rc = calls[k].call(f);
    atomic_store(&memory_fails_at, 0);
    class = class_of(rc);
    some = atomic_load(&memory_has_failed);
    MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (class != MPI_SUCCESS && class != MPI_ERR_NO_MEM &&
        class != MPI_ERR_NOT_SAME) /* of a communicator: another has failed */
        fprintf(stderr, "rank %d: %s, allocation %d of rank %d: class %d\n",
                rank, calls[k].name, n, victim, class);
    CHECK((least == MPI_SUCCESS) == (most == MPI_SUCCESS));
    CHECK(most == least || (calls[k].call == open_and_close &&
                            least == MPI_ERR_NO_MEM &&
                            most == MPI_ERR_NOT_SAME));
    return some;
}

static void sweep_call(int k, const char *two_phases, int victim)
{
    MPI_Info info;
    MPI_File f;
    int n = 1;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", two_phases);
    MPI_Info_set(info, "romio_cb_read", two_phases);
    CHECK(!MPI_File_open(MPI_COMM_WORLD, name, RW, info, &f));
    MPI_Info_free(&info);
    CHECK(set_view(f) == MPI_SUCCESS);
    while (n < MOST && fail_call(k, f, victim, n))
        n++;
    CHECK(n < MOST);
    CHECK(calls[k].call(f) == MPI_SUCCESS);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    io_begin(&argc, &argv, "io_no_memory");
    for (int i = 0; i < 4; i++)
        for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++)
            sweep_call((int)k, i < 2 ? "enable" : "disable",
                       i % 2 ? size - 1 : 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return job_end();
}
