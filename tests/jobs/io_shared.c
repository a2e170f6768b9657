/* Shared file pointers: every record of every rank is in the file once, those
 * of ordered calls in the order of the ranks.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "check.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS = 60, INTS = 4 };

static _Thread_local int ranks, me;
static _Thread_local char path[200];

struct record {
    int rank, number, check[INTS - 2];
};

static struct record make_record(int rank, int number)
{
    return (struct record){rank, number, {rank * 1000 + number, ~number}};
}

static int is_sound(const struct record *r)
{
    struct record want = make_record(r->rank, r->number);

    return r->rank >= 0 && r->rank < ranks && !memcmp(r, &want, sizeof want);
}

static MPI_File open_file(int amode)
{
    MPI_File f = MPI_FILE_NULL;

    CHECK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &f) ==
          MPI_SUCCESS);
    CHECK(MPI_File_set_view(f,
                            amode & MPI_MODE_SEQUENTIAL
                                ? MPI_DISPLACEMENT_CURRENT
                                : 0,
                            MPI_INT, MPI_INT, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    return f;
}

static MPI_Offset tell_position(MPI_File f)
{
    MPI_Offset at = -1;

    CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS);
    return at;
}

/* Reads the file, and counts each record of `count` per rank. */
static void check_records(int count)
{
    int *seen = calloc((size_t)(ranks * count), sizeof *seen);
    struct record r;
    FILE *in;

    MPI_Barrier(MPI_COMM_WORLD);
    in = fopen(path, "rb");
    CHECK(in != NULL);
    for (int i = 0; in && i < ranks * count; i++) {
        CHECK(fread(&r, sizeof r, 1, in) == 1);
        CHECK(is_sound(&r) && r.number < count);
        if (is_sound(&r) && r.number < count)
            seen[r.rank * count + r.number]++;
    }
    CHECK(in && fgetc(in) == EOF);
    for (int i = 0; i < ranks * count; i++)
        CHECK(seen[i] == 1);
    if (in)
        fclose(in);
    free(seen);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- each rank by itself ------------------------------------------------- */

static void write_alone(MPI_File f)
{
    struct record r[RECORDS];
    MPI_Request q[RECORDS];
    MPI_Status status;
    int n, pending = 0;

    for (int i = 0; i < RECORDS; i++) {
        r[i] = make_record(me, i);
        if (i % 3) {
            CHECK(MPI_File_write_shared(f, &r[i], INTS, MPI_INT, &status) ==
                  MPI_SUCCESS);
            MPI_Get_count(&status, MPI_INT, &n);
            CHECK(n == INTS);
        } else {
            CHECK(MPI_File_iwrite_shared(f, &r[i], INTS, MPI_INT,
                                         &q[pending++]) == MPI_SUCCESS);
        }
    }
    CHECK(MPI_Waitall(pending, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(tell_position(f) == ranks * RECORDS * INTS);
    check_records(RECORDS);
}

/* All ranks together read each record once, and then the end of the file. */
static void read_alone(MPI_File f)
{
    struct record r;
    MPI_Status status;
    MPI_Request q;
    int n, found = 0, all;

    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    for (int i = 0; i < ranks * RECORDS; i++) {
        memset(&r, -1, sizeof r);
        if (i % 2) {
            CHECK(MPI_File_iread_shared(f, &r, INTS, MPI_INT, &q) ==
                  MPI_SUCCESS);
            CHECK(MPI_Wait(&q, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_read_shared(f, &r, INTS, MPI_INT, &status) ==
                  MPI_SUCCESS);
        }
        MPI_Get_count(&status, MPI_INT, &n);
        CHECK(n == 0 || n == INTS);
        CHECK(n == 0 || is_sound(&r));
        found += n == INTS;
    }
    MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == ranks * RECORDS);
}

/* ---- all in their order -------------------------------------------------- */

/* Rank r writes r % 3 records each time. */
static int records_of(int rank)
{
    return rank % 3;
}

static int records_before(int rank)
{
    int n = 0;

    for (int i = 0; i < rank; i++)
        n += records_of(i);
    return n;
}

static void check_ordered(const struct record *all, int step)
{
    for (int rank = 0, i = 0; rank < ranks; rank++)
        for (int k = 0; k < records_of(rank); k++, i++) {
            struct record want = make_record(rank, 10 * step + k);
            CHECK(!memcmp(&all[i], &want, sizeof want));
        }
}

static void write_in_order(MPI_File f)
{
    enum { STEPS = 20 };
    int each = records_before(ranks);
    struct record mine[3], *all = calloc((size_t)each + 1, sizeof *all);
    MPI_Status status;

    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    for (int step = 0; step < STEPS; step++) {
        for (int k = 0; k < records_of(me); k++)
            mine[k] = make_record(me, 10 * step + k);
        if (step % 2) {
            CHECK(MPI_File_write_ordered_begin(f, mine, records_of(me) * INTS,
                                               MPI_INT) == MPI_SUCCESS);
            CHECK(MPI_File_write_ordered_end(f, mine, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_write_ordered(f, mine, records_of(me) * INTS,
                                         MPI_INT, &status) == MPI_SUCCESS);
        }
    }
    CHECK(tell_position(f) == (MPI_Offset)STEPS * each * INTS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < STEPS; step++) {
        CHECK(MPI_File_read_at(f, (MPI_Offset)step * each * INTS, all,
                               each * INTS, MPI_INT, &status) == MPI_SUCCESS);
        check_ordered(all, step);
    }
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    for (int step = 0; step < STEPS; step++) {
        struct record want;
        if (step % 2) {
            CHECK(MPI_File_read_ordered_begin(f, mine, records_of(me) * INTS,
                                              MPI_INT) == MPI_SUCCESS);
            CHECK(MPI_File_read_ordered_end(f, mine, &status) == MPI_SUCCESS);
        } else {
            CHECK(MPI_File_read_ordered(f, mine, records_of(me) * INTS,
                                        MPI_INT, &status) == MPI_SUCCESS);
        }
        for (int k = 0; k < records_of(me); k++) {
            want = make_record(me, 10 * step + k);
            CHECK(!memcmp(&mine[k], &want, sizeof want));
        }
    }
    free(all);
}

/* ---- the pointer --------------------------------------------------------- */

static void seek_pointer(MPI_File f)
{
    MPI_Offset end;
    int rc;

    MPI_File_get_size(f, &end);
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(tell_position(f) == end / 4);
    CHECK(MPI_File_seek_shared(f, 7, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(tell_position(f) == 7);
    CHECK(MPI_File_seek_shared(f, -3, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(tell_position(f) == 4);
    CHECK(MPI_File_seek_shared(f, -9, MPI_SEEK_CUR) != MPI_SUCCESS);
    CHECK(tell_position(f) == 4);
    if (ranks > 1) {
        rc = MPI_File_seek_shared(f, me, MPI_SEEK_SET);
        CHECK(class_of(rc) == MPI_ERR_NOT_SAME);
    }
    CHECK(tell_position(f) == 4);
    for (int i = 0; i < 50; i++) { /* no request overtakes a collective call */
        MPI_Offset at;
        CHECK(MPI_File_seek_shared(f, i, MPI_SEEK_SET) == MPI_SUCCESS);
        at = tell_position(f);
        CHECK(at == i);
        CHECK(MPI_File_set_view(f, 4 * i, MPI_INT, MPI_INT, "native",
                                MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(tell_position(f) == 0);
    }
}

/* A wrong argument of one rank is an error of all, and nobody waits. */
static void make_mistakes(MPI_File f)
{
    int count = me == ranks - 1 ? -1 : 1, word = me, rc;
    MPI_Status status;

    rc = MPI_File_write_ordered(f, &word, count, MPI_INT, &status);
    CHECK(class_of(rc) == MPI_ERR_COUNT);
    rc = MPI_File_write_ordered_begin(f, &word, count, MPI_INT);
    if (rc == MPI_SUCCESS)
        rc = MPI_File_write_ordered_end(f, &word, &status);
    CHECK(class_of(rc) == MPI_ERR_COUNT);
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Offset file_size(void)
{
    struct stat s;

    return stat(path, &s) ? -1 : s.st_size;
}

/* Where all share memory, others move the pointer while its keeper calls
 * nothing. */
static void write_beside_keeper(MPI_File f)
{
    struct record r = make_record(me, 0);
    const char *expect = getenv("IO_EXPECT");
    MPI_Offset end = file_size();

    if (!expect || strcmp(expect, "shared") != 0)
        return;
    end += (MPI_Offset)sizeof r * RECORDS * (ranks - 1);
    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(tell_position(f) > 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < RECORDS && me > 0; i++)
        CHECK(MPI_File_write_shared(f, &r, INTS, MPI_INT,
                                    MPI_STATUS_IGNORE) == MPI_SUCCESS);
    while (me == 0 && file_size() < end)
        sched_yield();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(4 * tell_position(f) == end);
}

static void open_sequential(void)
{
    MPI_File f;
    struct record r = make_record(me, 0);
    MPI_Status status;

    f = open_file(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    CHECK(MPI_File_write_shared(f, &r, INTS, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_write(f, &r, INTS, MPI_INT, &status)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    MPI_File f;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(path, sizeof path, "%s/weft-shared-%d", folder ? folder : "/tmp",
             (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    f = open_file(MPI_MODE_RDWR | MPI_MODE_CREATE);
    write_alone(f);
    read_alone(f);
    write_in_order(f);
    seek_pointer(f);
    make_mistakes(f);
    write_beside_keeper(f);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
    open_sequential();
    f = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(tell_position(f) == 0);
    CHECK(MPI_File_close(&f) == MPI_SUCCESS);
    return job_end();
}
