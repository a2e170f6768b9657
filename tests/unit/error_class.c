/* The boundary between statuses and MPI error classes (object/error_class.h).
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "object/error.h"

static void each_status_has_a_class(void **state)
{
    static const struct {
        int status, mpi_class;
    } all[] = {
        {0, MPI_SUCCESS},
        {WEFT_ENOMEM, MPI_ERR_NO_MEM},
        {WEFT_EPEER, MPI_ERR_PROC_ABORTED},
        {WEFT_ELINK, MPI_ERR_PROC_ABORTED},
        {WF_ETRUNCATED, MPI_ERR_TRUNCATE},
        {WF_ESHORT, MPI_ERR_COUNT},
        {WEFT_EUNREACH, MPI_ERR_OTHER},
        {WEFT_ESYS, MPI_ERR_OTHER},
        {-20, MPI_ERR_OTHER}, /* of a newer plugin */
        {WF_ECHAPTER, MPI_ERR_OTHER},
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(wf_error_class(all[i].status), all[i].mpi_class);
}

/* A request carries the class of its chapter as a status, and gives it back. */
static void a_class_comes_back(void **state)
{
    static const int added[] = {MPI_ERR_LASTCODE + 1, MPI_ERR_LASTCODE + 4711,
                                INT_MAX + WF_ECHAPTER};

    for (int c = MPI_SUCCESS; c <= MPI_ERR_LASTCODE; c++) {
        assert_true(wf_error_status(c) <= 0);
        assert_int_equal(wf_error_class(wf_error_status(c)), c);
    }
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        assert_int_equal(wf_error_class(wf_error_status(added[i])), added[i]);
}

/* The engine tells these apart, whoever has ended the request. */
static void a_class_of_the_engine_is_its_status(void **state)
{
    assert_int_equal(wf_error_status(MPI_ERR_NO_MEM), WEFT_ENOMEM);
    assert_true(wf_status_is_loss(wf_error_status(MPI_ERR_PROC_ABORTED)));
    assert_true(wf_status_is_wrong_length(wf_error_status(MPI_ERR_TRUNCATE)));
    assert_true(wf_status_is_wrong_length(wf_error_status(MPI_ERR_COUNT)));
}

/* As a callback of the program may return. */
static void a_value_that_is_no_class_is_unknown(void **state)
{
    static const int bad[] = {-1, INT_MIN, INT_MAX, INT_MAX + WF_ECHAPTER + 1};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(wf_error_class(wf_error_status(bad[i])),
                         MPI_ERR_UNKNOWN);
}

/* The text that the engine has recorded is found under the class. */
static void a_recorded_status_is_raised_as_its_class(void **state)
{
    struct wf_error_record *r;

    assert_int_equal(wf_fail(WEFT_EPEER, "it is gone"), WEFT_EPEER);
    r = wf_error_take_record(MPI_ERR_PROC_ABORTED);
    assert_string_equal(r->text, "it is gone");
    r = wf_error_take_record(MPI_ERR_PROC_ABORTED);
    assert_string_equal(r->text, ""); /* it was raised */
    wf_fail(WEFT_EPEER, "it is gone");
    r = wf_error_take_record(MPI_ERR_OTHER);
    assert_string_equal(r->text, "");
    assert_int_equal(wf_error_class(r->status), MPI_ERR_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_a_class),
        cmocka_unit_test(a_class_comes_back),
        cmocka_unit_test(a_class_of_the_engine_is_its_status),
        cmocka_unit_test(a_value_that_is_no_class_is_unknown),
        cmocka_unit_test(a_recorded_status_is_raised_as_its_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
