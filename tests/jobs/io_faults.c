/* Collective accesses over a file system of faults: every n-th call of one rank
 * fails, for each n, or the disk is full from a byte on. All ranks get the same
 * class, nobody waits for ever, and what the status says is in the file.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "../fake/file_faults.h"
#include "strided_view.h"

enum { PIECE = 100, EACH = 60, SWEEP = 12 }; /* EACH pieces of each rank */

static int ranks, me;
static char path[200];
static unsigned char mine[EACH * PIECE], back[EACH * PIECE];

static unsigned char byte_at(int offset)
{
    return (unsigned char)(offset * 7 + offset / 251 + 1);
}

/* The file offset of a byte of this rank. */
static int offset_of(int k)
{
    return (k / PIECE * ranks + me) * PIECE + k % PIECE;
}

static MPI_File open_file(const char *two_phases)
{
    return open_strided(path, PIECE, two_phases, two_phases);
}

/* All ranks have the same outcome; returns its class. */
static int same_class(int rc)
{
    int class = class_of(rc), least, most;

    MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(least == most);
    return most;
}

static int access_by(int form, MPI_File f, int writes, MPI_Status *status)
{
    MPI_Request q;
    int n = sizeof mine, rc;

    if (form == 0)
        return writes ? MPI_File_write_at_all(f, 0, mine, n, MPI_BYTE, status)
                      : MPI_File_read_at_all(f, 0, back, n, MPI_BYTE, status);
    rc = writes ? MPI_File_iwrite_at_all(f, 0, mine, n, MPI_BYTE, &q)
                : MPI_File_iread_at_all(f, 0, back, n, MPI_BYTE, &q);
    return rc ? rc : MPI_Wait(&q, status);
}

/* The bytes that the status counts are in the file. */
static void check_written(const MPI_Status *status)
{
    FILE *in;
    int n = -1;

    MPI_Get_count(status, MPI_BYTE, &n);
    CHECK(n >= 0 && n <= (int)sizeof mine);
    MPI_Barrier(MPI_COMM_WORLD);
    in = fopen(path, "rb");
    CHECK(in != NULL);
    for (int k = 0; in && k < n; k++) {
        fseek(in, offset_of(k), SEEK_SET);
        CHECK(fgetc(in) == byte_at(offset_of(k)));
    }
    if (in)
        fclose(in);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_read(const MPI_Status *status)
{
    int n = -1;

    MPI_Get_count(status, MPI_BYTE, &n);
    CHECK(n >= 0 && n <= (int)sizeof back);
    for (int k = 0; k < n; k++)
        CHECK(back[k] == byte_at(offset_of(k)));
}

/* Each rank writes, then reads; the n-th call of one rank, and each n-th after
 * it, fails. */
static void sweep_calls(const char *two_phases, int form, int broken)
{
    MPI_File f = open_file(two_phases);
    MPI_Status status;
    int rc, failed = 0, some;

    for (unsigned n = 1; n <= SWEEP; n++)
        for (int writes = 1; writes >= 0; writes--) {
            no_file_faults();
            if (me == broken || broken < 0)
                file_faults.every = n;
            file_faults.error = writes ? ENOSPC : EIO;
            MPI_Barrier(MPI_COMM_WORLD);
            rc = same_class(access_by(form, f, writes, &status));
            CHECK(rc == MPI_SUCCESS ||
                  rc == (writes ? MPI_ERR_NO_SPACE : MPI_ERR_IO));
            failed += rc != MPI_SUCCESS;
            some = file_faults.failed > 0;
            MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_LOR,
                          MPI_COMM_WORLD);
            CHECK((rc != MPI_SUCCESS) == some);
            no_file_faults();
            MPI_Barrier(MPI_COMM_WORLD);
            if (writes)
                check_written(&status);
            else
                check_read(&status);
            CHECK(same_class(access_by(form, f, 1, &status)) == MPI_SUCCESS);
        }
    CHECK(failed > 0 || (broken > 0 && ranks > 2)); /* it may do nothing */
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

/* The disk is full from a byte on, in all ranks. */
static void fill_disk(const char *two_phases, int form)
{
    MPI_File f = open_file(two_phases);
    MPI_Status status;
    int all = (int)sizeof mine * ranks, want, n;

    for (int full = 0; full <= all; full += all / 7 + 1) {
        no_file_faults();
        file_faults.has_fails_at = file_faults.writes_only = true;
        file_faults.fails_at = full;
        file_faults.at_error = ENOSPC;
        CHECK(MPI_File_set_size(f, 0) == MPI_SUCCESS);
        CHECK(same_class(access_by(form, f, 1, &status)) == MPI_ERR_NO_SPACE);
        MPI_Get_count(&status, MPI_BYTE, &n);
        for (want = 0; want < (int)sizeof mine && offset_of(want) < full;)
            want++;
        CHECK(n == want);
        check_written(&status);
        no_file_faults();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

static int write_ordered(MPI_File f)
{
    return MPI_File_write_ordered(f, mine, PIECE, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int write_ordered_split(MPI_File f)
{
    int rc = MPI_File_write_ordered_begin(f, mine, PIECE, MPI_BYTE);

    return rc ? rc : MPI_File_write_ordered_end(f, mine, MPI_STATUS_IGNORE);
}

static int write_all_split(MPI_File f)
{
    int rc = MPI_File_write_all_begin(f, mine, PIECE, MPI_BYTE);

    return rc ? rc : MPI_File_write_all_end(f, mine, MPI_STATUS_IGNORE);
}

static int set_size(MPI_File f)
{
    return MPI_File_set_size(f, (int)sizeof mine);
}

static int take_storage(MPI_File f)
{
    return MPI_File_preallocate(f, (int)sizeof mine);
}

/* Other collective calls: the same where the next call of one rank fails. */
static void fail_others(const char *two_phases, int broken)
{
    static int (*const calls[])(MPI_File) = {write_ordered, write_ordered_split,
                                             write_all_split, set_size,
                                             take_storage};
    MPI_File f = open_file(two_phases);

    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
        int rc, some;

        no_file_faults();
        file_faults.every = me == broken;
        file_faults.error = ENOSPC;
        MPI_Barrier(MPI_COMM_WORLD);
        rc = same_class(calls[k](f));
        some = file_faults.failed > 0;
        MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
        CHECK(rc == (some ? MPI_ERR_NO_SPACE : MPI_SUCCESS));
        CHECK(some || broken > 0); /* which rank 0 does for all, or collects */
        no_file_faults();
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(same_class(calls[k](f)) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

/* Short counts, signals and stale handles are no errors. */
static void pass_over(const char *two_phases, int form)
{
    static const int errors[] = {EINTR, ESTALE};
    MPI_File f = open_file(two_phases);
    MPI_Status status;

    for (int i = 0; i < 3; i++) {
        no_file_faults();
        file_faults.most = i < 2 ? 0 : 33;
        file_faults.error = i < 2 ? errors[i] : 0;
        file_faults.every = i < 2 ? 2 : 0;
        file_faults.times = i == 1; /* a file is opened again once */
        for (int writes = 1; writes >= 0; writes--)
            CHECK(same_class(access_by(form, f, writes, &status)) ==
                  MPI_SUCCESS);
        no_file_faults();
        check_read(&status);
        check_written(&status);
    }
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

/* Atomic mode on a file system without locks. */
static void do_without_locks(void)
{
    MPI_File f = open_file("automatic");
    MPI_Status status;

    CHECK(MPI_File_set_atomicity(f, 1) == MPI_SUCCESS);
    no_file_faults();
    file_faults.lock_error = ENOLCK;
    CHECK(same_class(access_by(0, f, 1, &status)) == MPI_ERR_IO);
    no_file_faults();
    CHECK(same_class(access_by(0, f, 1, &status)) == MPI_SUCCESS);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

/* Returns the transfers of this rank and, in *all, those of all. */
static int count_transfers(int *all)
{
    int own = (int)file_faults.transfers;

    MPI_Allreduce(&own, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return own;
}

/* In a local file system small pieces are written in two phases, larger ones by
 * a call each, and what is read each rank reads by itself, all at once. */
static void choose_ways(void)
{
    enum { LARGE = 8 << 10, COUNT = 3 };
    static char large[COUNT * LARGE];
    MPI_File f = open_file("automatic");
    MPI_Status status;
    int all;

    no_file_faults();
    CHECK(access_by(0, f, 1, &status) == MPI_SUCCESS);
    count_transfers(&all);
    CHECK(ranks == 1 || all < ranks * EACH / 4);
    no_file_faults();
    CHECK(access_by(0, f, 0, &status) == MPI_SUCCESS);
    CHECK(count_transfers(&all) == 1);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
    f = open_strided(path, LARGE, "automatic", "automatic");
    no_file_faults();
    CHECK(MPI_File_write_all(f, large, sizeof large, MPI_BYTE, &status) ==
          MPI_SUCCESS);
    CHECK(count_transfers(&all) == (ranks == 1 ? 1 : COUNT));
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    static const char *const forms[] = {"enable", "disable"};
    const char *folder = getenv("TMPDIR");

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s/weft-faults-%d", folder ? folder : "/tmp",
             (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int k = 0; k < (int)sizeof mine; k++)
        mine[k] = byte_at(offset_of(k));
    for (int i = 0; i < 4; i++) {
        sweep_calls(forms[i / 2], i % 2, 0);
        sweep_calls(forms[i / 2], i % 2, ranks - 1);
        sweep_calls(forms[i / 2], i % 2, -1);
        fail_others(forms[i / 2], i % 2 ? ranks - 1 : 0);
        pass_over(forms[i / 2], i % 2);
        if (i < 2) /* independent accesses count for each rank by itself */
            fill_disk(forms[i / 2], i % 2);
    }
    do_without_locks();
    choose_ways();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0)
        remove(path);
    return job_end();
}
