/* MPI_T shows what is set, but no secret.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mpi.h"

enum { LONG_ENOUGH = 200 };

/* The text, and how many characters there are said to be. */
static int read_text(const char *name, char *text)
{
    MPI_T_cvar_handle h;
    int index, count;

    assert_int_equal(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS);
    assert_int_equal(MPI_T_cvar_handle_alloc(index, NULL, &h, &count),
                     MPI_SUCCESS);
    assert_in_range(count, 1, LONG_ENOUGH);
    memset(text, '?', LONG_ENOUGH);
    assert_int_equal(MPI_T_cvar_read(h, text), MPI_SUCCESS);
    MPI_T_cvar_handle_free(&h);
    return count;
}

static void the_job_key_is_not_shown(void **state)
{
    char text[LONG_ENOUGH];
    int provided;

    setenv("WEFT_SET", "core.job=mine core.job_key=0123456789abcdef0123", 1);
    assert_int_equal(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided),
                     MPI_SUCCESS);
    assert_int_equal(read_text("core.job", text), strlen("mine") + 1);
    assert_string_equal(text, "mine");
    assert_int_equal(read_text("core.job_key", text), 1);
    assert_string_equal(text, "");
    MPI_T_finalize();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_job_key_is_not_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
