/* Files: what calls promise about positions, views, hints, atomic mode,
 * representations, split collectives and requests.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_rig.h"

/* ---- positions and views ------------------------------------------------- */

static void test_positions(void)
{
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Offset at = -1, disp = -1;
    MPI_Datatype column, etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    int combiner, n[3];

    MPI_Type_vector(4, 1, 3, MPI_INT, &column);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_INT, column, "native",
                                     MPI_INFO_NULL)) == MPI_ERR_TYPE);
    MPI_Type_commit(&column);
    CHECK(!MPI_File_set_view(f, 8, MPI_INT, column, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_seek(f, 5, MPI_SEEK_SET));
    CHECK(!MPI_File_seek(f, -2, MPI_SEEK_CUR));
    CHECK(!MPI_File_get_position(f, &at));
    CHECK(at == 3);
    CHECK(class_of(MPI_File_seek(f, -4, MPI_SEEK_CUR)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_seek(f, 0, 77)) == MPI_ERR_ARG);
    CHECK(!MPI_File_get_byte_offset(f, 5, &at));
    CHECK(at == 8 + 40 + 12); /* the second tile begins at 40 */
    CHECK(class_of(MPI_File_get_byte_offset(f, -1, &at)) == MPI_ERR_ARG);
    CHECK(!MPI_File_get_view(f, &disp, &etype, &filetype, datarep));
    CHECK(disp == 8 && etype == MPI_INT && !strcmp(datarep, "native"));
    MPI_Type_get_envelope(filetype, &n[0], &n[1], &n[2], &combiner);
    CHECK(combiner == MPI_COMBINER_VECTOR);
    MPI_Type_free(&filetype);
    CHECK(class_of(MPI_File_set_view(f, -5, MPI_INT, column, "native",
                                     MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_INT,
                                     column, "native", MPI_INFO_NULL)) ==
          MPI_ERR_ARG);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_DOUBLE, MPI_INT, "native",
                                     MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_INT, column, "strange",
                                     MPI_INFO_NULL)) ==
          MPI_ERR_UNSUPPORTED_DATAREP);
    MPI_Type_free(&column);
    CHECK(!MPI_File_close(&f));
}

/* Displacements do not decrease; bytes twice are for reading only. */
static void test_order(void)
{
    int lengths[2] = {1, 1}, back[2] = {3, 0}, twice[2] = {0, 0};
    MPI_File f = open_file(RW);
    MPI_Datatype t[2];

    MPI_Type_indexed(2, lengths, back, MPI_INT, &t[0]);
    MPI_Type_indexed(2, lengths, twice, MPI_INT, &t[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Type_commit(&t[i]);
        CHECK(class_of(MPI_File_set_view(f, 0, MPI_INT, t[i], "native",
                                         MPI_INFO_NULL)) == MPI_ERR_IO);
    }
    CHECK(!MPI_File_close(&f));
    f = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_INT, t[0], "native",
                                     MPI_INFO_NULL)) == MPI_ERR_IO);
    CHECK(!MPI_File_set_view(f, 0, MPI_INT, t[1], "native", MPI_INFO_NULL));
    CHECK(!MPI_File_close(&f));
    MPI_Type_free(&t[0]);
    MPI_Type_free(&t[1]);
}

/* A view without bytes, as a process has that takes no part. */
static void test_empty_view(void)
{
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype none;
    MPI_Status status;
    int x = 1;

    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    CHECK(!MPI_File_set_view(f, 0, MPI_INT, rank ? none : MPI_INT, "native",
                             MPI_INFO_NULL));
    CHECK(!MPI_File_write_all(f, &x, rank ? 0 : 1, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == (rank ? 0 : 1));
    if (rank)
        CHECK(class_of(MPI_File_write(f, &x, 1, MPI_INT, &status)) ==
              MPI_ERR_ARG);
    MPI_Type_free(&none);
    CHECK(!MPI_File_close(&f));
}

/* Offsets, and a file, beyond 2^32. */
static void test_large_offsets(void)
{
    MPI_Offset far = (MPI_Offset)5 << 30, end = 0;
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    double x = rank, y = -1;

    CHECK(!MPI_File_set_view(f, far, MPI_DOUBLE, MPI_DOUBLE, "native",
                             MPI_INFO_NULL));
    CHECK(!MPI_File_write_at(f, far + rank, &x, 1, MPI_DOUBLE, &status));
    CHECK(count_of(&status, MPI_DOUBLE) == 1);
    CHECK(!MPI_File_read_at(f, far + rank, &y, 1, MPI_DOUBLE, &status));
    CHECK(y == rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!MPI_File_get_size(f, &end));
    CHECK(end == far + (far + size) * 8);
    CHECK(class_of(MPI_File_write_at(f, INT64_MAX / 8, &x, 1, MPI_DOUBLE,
                                     &status)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_write_at(f, INT64_MAX / 2, &x, 1, MPI_DOUBLE,
                                     &status)) == MPI_ERR_ARG);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!MPI_File_close(&f));
}

/* ---- hints --------------------------------------------------------------- */

static bool has_hint(MPI_Info info, const char *key, const char *value)
{
    char got[64] = "";
    int n = sizeof got, found = 0;

    MPI_Info_get_string(info, key, &n, got, &found);
    return found && !strcmp(got, value);
}

static void test_hints(void)
{
    MPI_Info info, used;
    MPI_File f;

    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "cb_nodes", "many");
    MPI_Info_set(info, "romio_ds_read", "disable");
    MPI_Info_set(info, "file_perm", "0640");
    MPI_Info_set(info, "unheard_of", "1");
    umask(0);
    CHECK(!MPI_File_open(MPI_COMM_WORLD, name, RW, info, &f));
    CHECK(!MPI_File_get_info(f, &used));
    CHECK(has_hint(used, "cb_buffer_size", "65536"));
    CHECK(has_hint(used, "romio_ds_read", "disable"));
    CHECK(has_hint(used, "romio_ds_write", "automatic"));
    CHECK(has_hint(used, "romio_cb_write", "automatic"));
    CHECK(has_hint(used, "filename", name));
    CHECK(!has_hint(used, "cb_nodes", "many"));
    CHECK(!has_hint(used, "unheard_of", "1"));
    MPI_Info_free(&used);
    /* one member's wish to sieve writes is in force in all */
    MPI_Info_set(info, "romio_ds_write", "enable");
    CHECK(!MPI_File_set_info(f, rank == size - 1 ? info : MPI_INFO_NULL));
    CHECK(!MPI_File_get_info(f, &used));
    CHECK(has_hint(used, "romio_ds_write", "enable"));
    MPI_Info_free(&used);
    MPI_Info_free(&info);
    struct stat s;
    CHECK(stat(name, &s) == 0 && (s.st_mode & 0777) == 0640);
    CHECK(!MPI_File_close(&f));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK(!MPI_File_delete(name, MPI_INFO_NULL));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- atomic mode --------------------------------------------------------- */

/* Each rank writes all of a strided region; what is there is of one rank. */
static void test_atomic(void)
{
    enum { N = 200 };
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype strided;
    int x[N], y[N], flag = -1;

    CHECK(!MPI_File_get_atomicity(f, &flag));
    CHECK(flag == 0);
    if (size > 1)
        CHECK(class_of(MPI_File_set_atomicity(f, rank > 0)) ==
              MPI_ERR_NOT_SAME);
    CHECK(!MPI_File_set_atomicity(f, 1));
    CHECK(!MPI_File_get_atomicity(f, &flag));
    CHECK(flag == 1);
    MPI_Type_vector(N, 1, 3, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    CHECK(!MPI_File_set_view(f, 4, MPI_INT, strided, "native", MPI_INFO_NULL));
    for (int round = 0; round < 20; round++) {
        int mixed = 0;

        for (int i = 0; i < N; i++)
            x[i] = rank + size * round;
        CHECK(!MPI_File_write_at(f, 0, x, N, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(!MPI_File_read_at(f, 0, y, N, MPI_INT, MPI_STATUS_IGNORE));
        for (int i = 1; i < N; i++)
            mixed += y[i] != y[0];
        CHECK(mixed == 0);
    }
    MPI_Type_free(&strided);
    CHECK(!MPI_File_close(&f));
}

/* ---- representations ----------------------------------------------------- */

/* In a file of this representation an int has 8 bytes: its own, and their
 * complement. */
static int file_extent(MPI_Datatype t, MPI_Aint *extent, void *extra)
{
    int n;

    MPI_Type_size(t, &n);
    *extent = 2 * n;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int write_twice(void *user, MPI_Datatype t, int count, void *file,
                       MPI_Offset position, void *extra)
{
    const int *from = (const int *)user + position;
    int *to = file;

    if (t != MPI_INT)
        return MPI_ERR_TYPE;
    for (int i = 0; i < count; i++) {
        to[2 * i] = from[i];
        to[2 * i + 1] = ~from[i];
    }
    return MPI_SUCCESS;
}

static int read_twice(void *user, MPI_Datatype t, MPI_Count count, void *file,
                      MPI_Offset position, void *extra)
{
    int *to = (int *)user + position;
    const int *from = file;

    for (MPI_Count i = 0; i < count; i++) {
        if (from[2 * i] != ~from[2 * i + 1])
            return MPI_ERR_OTHER;
        to[i] = from[2 * i];
    }
    return MPI_SUCCESS;
}

static int read_int(void *user, MPI_Datatype t, int count, void *file,
                    MPI_Offset position, void *extra)
{
    return read_twice(user, t, count, file, position, extra);
}

static void test_registered(void)
{
    static _Thread_local int asked;
    static _Thread_local int x[40000], y[40000];
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype pair;
    MPI_Aint extent = 0;
    MPI_Status status;
    MPI_Request r;
    MPI_Offset end;

    CHECK(!MPI_Register_datarep("twice", read_int, write_twice, file_extent,
                                &asked));
    CHECK(class_of(MPI_Register_datarep_c("twice", read_twice, NULL,
                                          file_extent, &asked)) ==
          MPI_ERR_DUP_DATAREP);
    CHECK(class_of(MPI_Register_datarep("native", NULL, NULL, file_extent,
                                        &asked)) == MPI_ERR_DUP_DATAREP);
    CHECK(!MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
    CHECK(asked > 0);
    MPI_Type_vector(2, 1, 3, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    CHECK(!MPI_File_get_type_extent(f, pair, &extent));
    CHECK(extent == 4 * 8);
    for (int i = 0; i < 40000; i++)
        x[i] = i * 3 + rank;
    CHECK(!MPI_File_write_at_all(f, rank * 40000, x, 40000, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 40000);
    CHECK(!MPI_File_get_size(f, &end));
    CHECK(end == (MPI_Offset)size * 40000 * 8);
    CHECK(!MPI_File_iread_at(f, rank * 40000, y, 40000, MPI_INT, &r));
    CHECK(!MPI_Wait(&r, &status));
    CHECK(count_of(&status, MPI_INT) == 40000);
    CHECK(!memcmp(x, y, sizeof x));
    CHECK(class_of(MPI_File_write_at(f, 0, x, 1, pair, &status)) ==
          MPI_ERR_CONVERSION);
    MPI_Type_free(&pair);
    CHECK(!MPI_File_close(&f));
}

static void test_external32(void)
{
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    static const unsigned char bytes[4] = {1, 2, 3, 4};
    long x[4] = {1, -2, 3, -4}, y[4] = {0};
    int n = 0x01020304;
    MPI_Datatype strided;
    MPI_Aint extent;
    MPI_Status status;
    unsigned char raw[4];

    CHECK(!MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "external32",
                             MPI_INFO_NULL));
    if (rank == 0)
        CHECK(!MPI_File_write_at(f, 0, &n, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(!MPI_File_sync(f));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "internal",
                             MPI_INFO_NULL));
    CHECK(!MPI_File_read_at(f, 0, raw, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(!memcmp(raw, bytes, 4));
    /* a long has 4 bytes there: displacements in extents follow */
    MPI_Type_vector(4, 1, size, MPI_LONG, &strided);
    MPI_Type_commit(&strided);
    CHECK(!MPI_File_set_view(f, 4 + 4 * rank, MPI_LONG, strided, "external32",
                             MPI_INFO_NULL));
    CHECK(!MPI_File_get_type_extent(f, strided, &extent));
    CHECK(extent == (3 * size + 1) * 4);
    CHECK(!MPI_File_write_all(f, x, 4, MPI_LONG, &status));
    CHECK(count_of(&status, MPI_LONG) == 4);
    CHECK(!MPI_File_read_at_all(f, 0, y, 4, MPI_LONG, &status));
    CHECK(!memcmp(x, y, sizeof x));
    x[0] = 1L << 40;
    if (sizeof(long) > 4)
        CHECK(class_of(MPI_File_write_at(f, 0, x, 1, MPI_LONG, &status)) ==
              MPI_ERR_CONVERSION);
    MPI_Type_free(&strided);
    CHECK(!MPI_File_close(&f));
}

/* ---- split collectives and requests -------------------------------------- */

static void test_split(void)
{
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Status status;
    int x = rank, y = -1;

    CHECK(class_of(MPI_File_read_all_end(f, &y, &status)) == MPI_ERR_IO);
    CHECK(!MPI_File_write_at_all_begin(f, 4 * rank, &x, 1, MPI_INT));
    CHECK(class_of(MPI_File_read_all_begin(f, &y, 1, MPI_INT)) == MPI_ERR_IO);
    CHECK(class_of(MPI_File_write_all_end(f, &x, &status)) == MPI_ERR_IO);
    CHECK(!MPI_File_write_at_all_end(f, &x, &status));
    CHECK(count_of(&status, MPI_INT) == 1);
    CHECK(!MPI_File_read_at_all_begin(f, 4 * rank, &y, 1, MPI_INT));
    CHECK(!MPI_File_close(&f)); /* ends it */
    CHECK(y == rank);
}

/* Many at a time, independent and collective ones in another order. */
static void test_requests(void)
{
    enum { N = 40 };
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    int x[N], y[N];
    MPI_Request r[N];
    MPI_Status status[N];

    for (int i = 0; i < N; i++) {
        MPI_Offset at = 4 * (i * size + rank);

        x[i] = i * 100 + rank;
        if (i % 3)
            CHECK(!MPI_File_iwrite_at(f, at, &x[i], 1, MPI_INT, &r[i]));
        else
            CHECK(!MPI_File_iwrite_at_all(f, at, &x[i], 1, MPI_INT, &r[i]));
    }
    CHECK(!MPI_Waitall(N, r, status));
    for (int i = 0; i < N; i++)
        CHECK(count_of(&status[i], MPI_INT) == 1);
    for (int i = N - 1; i >= 0; i--)
        CHECK(!MPI_File_iread_at(f, 4 * (i * size + rank), &y[i], 1, MPI_INT,
                                 &r[i]));
    MPI_Request_free(&r[3]);
    for (int i = 0, done = 0; i < N; i++, done = 0)
        while (r[i] != MPI_REQUEST_NULL && !done)
            CHECK(!MPI_Test(&r[i], &done, &status[i]));
    CHECK(!MPI_File_close(&f)); /* waits for the freed one */
    CHECK(!memcmp(x, y, sizeof x));
}

int main(int argc, char **argv)
{
    io_begin(&argc, &argv, "io_values");
    test_positions();
    test_order();
    test_empty_view();
    test_large_offsets();
    test_hints();
    test_atomic();
    test_registered();
    test_external32();
    test_split();
    test_requests();
    return job_end();
}
