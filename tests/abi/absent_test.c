/* In libmpi_abi.so every function that is not implemented raises an error that
 * names it and its chapter, through the handler that the standard says.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "absent_test.h"

static int calls_of_self, calls_of_world;

static void note_self(MPI_Comm *comm, int *code, ...)
{
    assert_ptr_equal(*comm, MPI_COMM_SELF);
    assert_int_equal(*code, MPI_ERR_UNSUPPORTED_OPERATION);
    calls_of_self++;
}

static void note_world(MPI_Comm *comm, int *code, ...)
{
    assert_ptr_equal(*comm, MPI_COMM_WORLD);
    calls_of_world++;
}

static bool about_files(const struct absent_call *c)
{
    return strcmp(c->chapter, "I/O") == 0 &&
           strcmp(c->function, "MPI_File_create_errhandler") != 0;
}

static void each_raises_its_error(void **state)
{
    for (const struct absent_call *c = absent_calls; c->function; c++) {
        char text[MPI_MAX_ERROR_STRING], quoted[120];
        int n, before = calls_of_self;
        int rc = c->call();
        if (rc != MPI_ERR_UNSUPPORTED_OPERATION)
            fail_msg("%s returned %d", c->function, rc);
        assert_int_equal(MPI_Error_string(rc, text, &n), MPI_SUCCESS);
        snprintf(quoted, sizeof quoted, "chapter \"%s\"", c->chapter);
        if (!strstr(text, c->function) || !strstr(text, quoted))
            fail_msg("%s: %s", c->function, text);
        /* MPI_FILE_NULL has MPI_ERRORS_RETURN (MPI-5.0 s14.7) */
        if (calls_of_self - before != !about_files(c))
            fail_msg("%s called the handler of MPI_COMM_SELF %d times",
                     c->function, calls_of_self - before);
    }
    assert_int_equal(calls_of_world, 0);
}

static void null_handles_are_integers(void **state)
{
    assert_ptr_equal(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)),
                     MPI_WIN_NULL);
    assert_ptr_equal(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)),
                     MPI_FILE_NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_raises_its_error),
        cmocka_unit_test(null_handles_are_integers),
    };
    MPI_Errhandler of_self, of_world;
    int failed;

    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(note_self, &of_self);
    MPI_Comm_create_errhandler(note_world, &of_world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Errhandler_free(&of_self);
    MPI_Errhandler_free(&of_world);
    MPI_Finalize();
    return failed;
}
