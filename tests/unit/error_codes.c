/* Error classes, codes and strings, and which handler an error reaches, in a
 * program alone (a singleton).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mpi.h"

static int called, seen_code;
static MPI_Comm seen_comm;

static void note_event(MPI_Comm *comm, int *code, ...)
{
    called++;
    seen_comm = *comm;
    seen_code = *code;
}

static void every_class_has_a_sentence(void **state)
{
    char text[MPI_MAX_ERROR_STRING];
    int len, mpi_class;
    for (int c = MPI_SUCCESS; c <= MPI_ERR_ABI; c++) {
        assert_int_equal(MPI_Error_string(c, text, &len), MPI_SUCCESS);
        assert_int_equal(strlen(text), len);
        assert_int_equal(text[len - 1], '.');
        assert_non_null(strchr(text, ' '));
        MPI_Error_class(c, &mpi_class);
        assert_int_equal(mpi_class, c);
    }
    assert_int_equal(MPI_Error_class(99999, &mpi_class), MPI_ERR_ARG);
}

static void the_last_error_adds_its_detail(void **state)
{
    char text[MPI_MAX_ERROR_STRING];
    int len, x = 0;
    int rc = MPI_Send(&x, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
    assert_int_equal(rc, MPI_ERR_RANK);
    MPI_Error_string(rc, text, &len);
    assert_non_null(strstr(text, "dest is 7"));
    MPI_Error_string(MPI_ERR_TAG, text, &len);
    assert_null(strstr(text, "dest is 7"));
}

static void codes_of_the_user_come_and_go(void **state)
{
    char text[MPI_MAX_ERROR_STRING];
    int c, code, got, len, *last, flag;
    MPI_Add_error_class(&c);
    MPI_Add_error_code(c, &code);
    assert_true(c > MPI_ERR_LASTCODE && code > c);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    assert_true(flag && *last == code);
    MPI_Error_string(code, text, &len);
    assert_int_equal(len, 0);
    MPI_Add_error_string(code, "out of paint");
    MPI_Error_string(code, text, &len);
    assert_string_equal(text, "out of paint");
    MPI_Error_class(code, &got);
    assert_int_equal(got, c);
    assert_int_equal(MPI_Remove_error_class(c), MPI_ERR_ARG); /* in use */
    assert_int_equal(MPI_Remove_error_code(code), MPI_ERR_ARG);
    assert_int_equal(MPI_Remove_error_string(code), MPI_SUCCESS);
    assert_int_equal(MPI_Remove_error_code(code), MPI_SUCCESS);
    assert_int_equal(MPI_Remove_error_class(c), MPI_SUCCESS);
    assert_int_equal(MPI_Error_class(code, &got), MPI_ERR_ARG);
    assert_int_equal(MPI_Add_error_string(MPI_ERR_TAG, "x"), MPI_ERR_ARG);
    assert_int_equal(MPI_Remove_error_class(MPI_ERR_TAG), MPI_ERR_ARG);
}

/* In constant time each: many classes must not take for ever. */
static void a_class_goes_when_its_codes_are_gone(void **state)
{
    int c, code;
    for (int i = 0; i < 200000; i++) {
        MPI_Add_error_class(&c);
        MPI_Add_error_code(c, &code);
        assert_int_equal(MPI_Remove_error_class(c), MPI_ERR_ARG);
        assert_int_equal(MPI_Remove_error_code(code), MPI_SUCCESS);
        assert_int_equal(MPI_Remove_error_class(c), MPI_SUCCESS);
    }
}

static void an_error_reaches_the_handler_of_its_communicator(void **state)
{
    MPI_Comm comm;
    MPI_Errhandler e, f;
    int x = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(note_event, &e);
    MPI_Comm_set_errhandler(comm, e);
    MPI_Comm_get_errhandler(comm, &f);
    assert_ptr_equal(e, f);
    MPI_Errhandler_free(&f);
    MPI_Errhandler_free(&e);
    assert_ptr_equal(e, MPI_ERRHANDLER_NULL);
    called = 0;
    MPI_Send(&x, 1, MPI_INT, 3, 0, comm);
    assert_int_equal(called, 1);
    assert_ptr_equal(seen_comm, comm);
    assert_int_equal(seen_code, MPI_ERR_RANK);
    MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    assert_int_equal(called, 2);
    MPI_Comm_free(&comm);
}

static void none(MPI_Session *session, int *code, ...) {}

/* The sentence names the function that makes the right ones. */
static void a_handler_for_other_objects_is_refused(void **state)
{
    MPI_Errhandler of_comm, of_session;
    MPI_Session session;
    char text[MPI_MAX_ERROR_STRING];
    int n;

    MPI_Comm_create_errhandler(note_event, &of_comm);
    MPI_Session_create_errhandler(none, &of_session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    assert_int_equal(MPI_Comm_set_errhandler(MPI_COMM_SELF, of_session),
                     MPI_ERR_ERRHANDLER);
    MPI_Error_string(MPI_ERR_ERRHANDLER, text, &n);
    assert_non_null(strstr(text, "MPI_Comm_create_errhandler"));
    assert_int_equal(MPI_Session_set_errhandler(session, of_comm),
                     MPI_ERR_ERRHANDLER);
    MPI_Error_string(MPI_ERR_ERRHANDLER, text, &n);
    assert_non_null(strstr(text, "MPI_Session_create_errhandler"));
    MPI_Session_finalize(&session);
    MPI_Errhandler_free(&of_session);
    MPI_Errhandler_free(&of_comm);
}

static void predefined_attributes_are_pointers_to_int(void **state)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    assert_true(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag);
    assert_true(flag && *value == MPI_PROC_NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
    assert_true(flag && *value == MPI_ANY_SOURCE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    assert_true(flag && (*value == 0 || *value == 1));
    assert_int_equal(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL),
                     MPI_ERR_KEYVAL);
}

static void communicators_that_stay_are_not_freed(void **state)
{
    MPI_Comm world = MPI_COMM_WORLD, stale, comm;
    int size;
    assert_int_equal(MPI_Comm_free(&world), MPI_ERR_COMM);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    stale = comm;
    MPI_Comm_free(&comm);
    assert_int_equal(MPI_Comm_size(stale, &size), MPI_ERR_COMM);
}

static int begin_case(void **state)
{
    if (MPI_Init(NULL, NULL))
        return -1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static int end_case(void **state)
{
    return MPI_Finalize();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_has_a_sentence),
        cmocka_unit_test(the_last_error_adds_its_detail),
        cmocka_unit_test(codes_of_the_user_come_and_go),
        cmocka_unit_test(a_class_goes_when_its_codes_are_gone),
        cmocka_unit_test(an_error_reaches_the_handler_of_its_communicator),
        cmocka_unit_test(a_handler_for_other_objects_is_refused),
        cmocka_unit_test(predefined_attributes_are_pointers_to_int),
        cmocka_unit_test(communicators_that_stay_are_not_freed),
    };
    return cmocka_run_group_tests(tests, begin_case, end_case);
}
