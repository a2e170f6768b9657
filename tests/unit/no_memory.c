/* Calls for which there is no memory fail as the standard says, and succeed
 * when there is some again: the n-th allocation of a call fails, for each n.
 * That of all calls is the torture floor's, sweeps.py.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "mpi.h"
#include "../fake/memory_faults.h"

enum { MOST = 50 /* allocations of a call */, MANY = 100 };

static int class_of(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class;
}

static void a_communicator_needs_memory(void **state)
{
    int n = 0, rc;

    do {
        MPI_Comm copy = MPI_COMM_NULL;
        memory_fails_at = ++n;
        rc = MPI_Comm_dup(MPI_COMM_SELF, &copy);
        memory_fails_at = 0;
        if (rc == MPI_SUCCESS)
            MPI_Comm_free(&copy);
        else
            assert_int_equal(class_of(rc), MPI_ERR_NO_MEM);
    } while (rc != MPI_SUCCESS || n < 5);
    assert_true(n < MOST);
}

/* Each of them takes what is there, until more is needed. */
static void requests_need_memory(void **state)
{
    static MPI_Request r[MANY];
    static char byte[MANY];
    int failed = 0;

    for (int i = 0; i < MANY; i++)
        for (int n = 1, rc = -1; rc != MPI_SUCCESS; n++) {
            assert_true(n < MOST);
            memory_fails_at = n;
            rc = MPI_Irecv(&byte[i], 1, MPI_CHAR, 0, i, MPI_COMM_SELF, &r[i]);
            memory_fails_at = 0;
            failed += rc != MPI_SUCCESS;
            if (rc != MPI_SUCCESS)
                assert_int_equal(class_of(rc), MPI_ERR_NO_MEM);
        }
    assert_true(failed >= 4); /* two more slabs, two allocations each */
    for (char i = 0; i < MANY; i++)
        assert_int_equal(MPI_Send(&i, 1, MPI_CHAR, 0, i, MPI_COMM_SELF),
                         MPI_SUCCESS);
    assert_int_equal(MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(byte[i], i);
}

static int begin_case(void **state)
{
    return MPI_Init(NULL, NULL) ||
           MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

static int end_case(void **state)
{
    return MPI_Finalize();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_communicator_needs_memory),
        cmocka_unit_test(requests_need_memory),
    };

    return cmocka_run_group_tests(tests, begin_case, end_case);
}
