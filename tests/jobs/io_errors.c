/* Files: access modes, error handlers, and errors that all processes get.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "io_rig.h"

/* ---- opening ------------------------------------------------------------- */

static void test_modes(void)
{
    char prefixed[100];
    MPI_File f;
    int amode = 0;

    CHECK(open_class(MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
    CHECK(open_class(0) == MPI_ERR_AMODE);
    CHECK(open_class(MPI_MODE_RDONLY | MPI_MODE_RDWR) == MPI_ERR_AMODE);
    CHECK(open_class(MPI_MODE_RDONLY | MPI_MODE_CREATE) == MPI_ERR_AMODE);
    CHECK(open_class(MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL) == MPI_ERR_AMODE);
    CHECK(open_class(MPI_MODE_RDWR | 1 << 20) == MPI_ERR_AMODE);
    if (size > 1)
        CHECK(open_class(RW | (rank ? MPI_MODE_APPEND : 0)) ==
              MPI_ERR_NOT_SAME);
    unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(open_class(RW | MPI_MODE_EXCL) == MPI_SUCCESS);
    CHECK(open_class(RW | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    f = open_file(MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN);
    CHECK(!MPI_File_get_amode(f, &amode));
    CHECK(amode == (MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN));
    CHECK(!MPI_File_close(&f));
    CHECK(f == MPI_FILE_NULL);
    snprintf(prefixed, sizeof prefixed, "ufs:%s", name);
    CHECK(!MPI_File_open(MPI_COMM_SELF, prefixed, MPI_MODE_RDONLY,
                         MPI_INFO_NULL, &f));
    CHECK(!MPI_File_close(&f));
    f = open_file(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(!MPI_File_close(&f));
    CHECK(access(name, F_OK) != 0);
    CHECK(class_of(MPI_File_delete(name, MPI_INFO_NULL)) ==
          MPI_ERR_NO_SUCH_FILE);
    MPI_Barrier(MPI_COMM_WORLD); /* before somebody makes it again */
}

static void test_append(void)
{
    MPI_File f = open_file(RW);
    MPI_Offset at = -1;
    MPI_Status status;

    CHECK(!MPI_File_set_size(f, 10));
    CHECK(!MPI_File_close(&f));
    f = open_file(MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
    CHECK(!MPI_File_get_position(f, &at));
    CHECK(at == 10);
    CHECK(!MPI_File_read(f, &at, 1, MPI_BYTE, &status));
    CHECK(count_of(&status, MPI_BYTE) == 0);
    CHECK(!MPI_File_close(&f));
}

static void test_group(void)
{
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Group g, all;
    int same = 0;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    CHECK(!MPI_File_get_group(f, &g));
    MPI_Group_compare(g, all, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&g);
    MPI_Group_free(&all);
    CHECK(MPI_File_fromint(MPI_File_toint(f)) == f);
    CHECK(!MPI_File_close(&f));
}

/* ---- what a mode allows -------------------------------------------------- */

static void test_allowed(void)
{
    MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_WRONLY);
    MPI_Request r = NULL;
    MPI_Offset at;
    char c = 7;

    CHECK(!MPI_File_write_at(f, rank, &c, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(class_of(MPI_File_read_at(f, 0, &c, 1, MPI_BYTE,
                                    MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS);
    CHECK(!MPI_File_close(&f));
    f = open_file(MPI_MODE_RDONLY);
    CHECK(class_of(MPI_File_write_at(f, 0, &c, 1, MPI_BYTE,
                                     MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_write_all(f, &c, 1, MPI_BYTE,
                                      MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_iwrite(f, &c, 1, MPI_BYTE, &r)) ==
          MPI_ERR_READ_ONLY);
    CHECK(r == MPI_REQUEST_NULL);
    CHECK(class_of(MPI_File_set_size(f, 0)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_preallocate(f, 0)) == MPI_ERR_READ_ONLY);
    CHECK(!MPI_File_close(&f));
    f = open_file(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL |
                  MPI_MODE_DELETE_ON_CLOSE);
    CHECK(class_of(MPI_File_read_at(f, 0, &c, 1, MPI_BYTE,
                                    MPI_STATUS_IGNORE)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_seek(f, 0, MPI_SEEK_SET)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_get_position(f, &at)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native",
                                     MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(!MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE,
                             "native", MPI_INFO_NULL));
    CHECK(!MPI_File_close(&f));
}

/* ---- errors -------------------------------------------------------------- */

static _Thread_local int handled;
static _Thread_local MPI_File handled_file;

static void handle_error(MPI_File *f, int *code, ...)
{
    handled++;
    handled_file = *f;
}

static void test_handlers(void)
{
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Errhandler e, old;
    char c;

    CHECK(!MPI_File_get_errhandler(f, &old));
    CHECK(old == MPI_ERRORS_RETURN);
    CHECK(!MPI_File_create_errhandler(handle_error, &e));
    CHECK(!MPI_File_set_errhandler(f, e));
    CHECK(class_of(MPI_File_read_at(f, -1, &c, 1, MPI_BYTE,
                                    MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
    CHECK(handled == 1 && handled_file == f);
    CHECK(!MPI_File_call_errhandler(f, MPI_ERR_OTHER));
    CHECK(handled == 2);
    CHECK(!MPI_File_set_errhandler(MPI_FILE_NULL, e));
    CHECK(open_class(0) == MPI_ERR_AMODE);
    CHECK(handled == 3 && handled_file == MPI_FILE_NULL);
    CHECK(class_of(MPI_File_delete("no such file", MPI_INFO_NULL)) ==
          MPI_ERR_NO_SUCH_FILE);
    CHECK(handled == 4);
    CHECK(class_of(MPI_File_sync(MPI_FILE_NULL)) == MPI_ERR_FILE);
    CHECK(handled == 5);
    CHECK(!MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    CHECK(!MPI_Errhandler_free(&e));
    CHECK(!MPI_File_close(&f));
}

/* A process whose arguments are wrong does not leave the others waiting. */
static void test_wrong_arguments(void)
{
    MPI_File f = open_file(RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Request r;
    MPI_Status status;
    MPI_File none = MPI_FILE_NULL;
    MPI_Info nonsense = (MPI_Info)MPI_INT;
    int x = 1, last = rank == size - 1, rc;

    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, last ? NULL : name, RW,
                                 MPI_INFO_NULL, &none)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name, RW | MPI_MODE_EXCL,
                                 last ? nonsense : MPI_INFO_NULL, &none)) ==
          MPI_ERR_INFO);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, name, RW, MPI_INFO_NULL,
                                 last ? NULL : &none)) == MPI_ERR_ARG);
    CHECK(none == MPI_FILE_NULL);
    CHECK(class_of(MPI_File_set_info(f, last ? nonsense : MPI_INFO_NULL)) ==
          MPI_ERR_INFO);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_INT,
                                     last ? MPI_DATATYPE_NULL : MPI_INT,
                                     "native", MPI_INFO_NULL)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_File_set_view(f, 0, MPI_INT, MPI_INT,
                                     last ? NULL : "native", MPI_INFO_NULL)) ==
          MPI_ERR_ARG);
    CHECK(class_of(MPI_File_write_all(f, &x, last ? -1 : 1, MPI_INT,
                                      &status)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_File_read_at_all(f, last ? -1 : 0, &x, 1, MPI_INT,
                                        &status)) == MPI_ERR_ARG);
    rc = MPI_File_iread_all(f, &x, 1, last ? MPI_DATATYPE_NULL : MPI_INT, &r);
    CHECK(class_of(last ? rc : MPI_Wait(&r, &status)) == MPI_ERR_TYPE);
    rc = MPI_File_write_all_begin(f, last ? NULL : &x, 1, MPI_INT);
    if (!last)
        rc = rc ? rc : MPI_File_write_all_end(f, &x, &status);
    CHECK(class_of(rc) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_File_set_view(f, last ? -3 : 0, MPI_INT, MPI_INT,
                                     "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_set_size(f, last ? -1 : 4)) ==
          MPI_ERR_ARG);
    CHECK(!MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    CHECK(class_of(MPI_File_read_at(f, 0, &x, 1, MPI_SHORT, &status)) ==
          MPI_ERR_IO); /* half an etype */
    CHECK(!MPI_File_close(&f));
}

/* Nor if it is to collect the data of the others. */
static void test_wrong_aggregator(void)
{
    char mine[64] = "";
    MPI_Info info;
    MPI_File f;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    CHECK(!MPI_File_open(MPI_COMM_WORLD, name, RW | MPI_MODE_DELETE_ON_CLOSE,
                         info, &f));
    MPI_Info_free(&info);
    for (int wrong = 0; wrong < size; wrong++)
        for (int form = 0; form < 4; form++) {
            int n = rank == wrong ? -1 : (int)sizeof mine, rc;
            MPI_Offset at = rank * (MPI_Offset)sizeof mine;
            MPI_Request r;
            MPI_Status status;

            if (form == 0)
                rc = MPI_File_write_at_all(f, at, mine, n, MPI_BYTE, &status);
            else if (form == 1)
                rc = MPI_File_read_at_all(f, at, mine, n, MPI_BYTE, &status);
            else if (form == 2)
                rc = MPI_File_iwrite_at_all(f, at, mine, n, MPI_BYTE, &r);
            else
                rc = MPI_File_iread_at_all(f, at, mine, n, MPI_BYTE, &r);
            if (form > 1 && !rc)
                rc = MPI_Wait(&r, &status);
            CHECK(class_of(rc) == MPI_ERR_COUNT);
            if (rank != wrong)
                CHECK(count_of(&status, MPI_BYTE) == (int)sizeof mine);
        }
    CHECK(!MPI_File_close(&f));
}

int main(int argc, char **argv)
{
    io_begin(&argc, &argv, "io_errors");
    test_modes();
    test_append();
    test_group();
    test_allowed();
    test_handlers();
    test_wrong_arguments();
    test_wrong_aggregator();
    return job_end();
}
