/* Info objects, without an instance: MPI allows them at any time.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "core_api.h"
#include "object/info.h"

static struct wf_info *info_of(MPI_Info i)
{
    return wf_info_of(NULL, i);
}

static void keys_keep_their_order_and_last_value(void **state)
{
    MPI_Info i, copy;
    char key[MPI_MAX_INFO_KEY], value[8];
    int n, flag;
    wf_mpi_info_create(NULL, &i);
    wf_mpi_info_set(NULL, info_of(i), "b", "1");
    wf_mpi_info_set(NULL, info_of(i), "a", "2");
    wf_mpi_info_set(NULL, info_of(i), "b", "three");
    wf_mpi_info_get_nkeys(NULL, info_of(i), &n);
    assert_int_equal(n, 2);
    wf_mpi_info_get_nthkey(NULL, info_of(i), 0, key);
    assert_string_equal(key, "b");
    assert_int_equal(wf_mpi_info_get_nthkey(NULL, info_of(i), 2, key),
                     MPI_ERR_ARG);
    wf_mpi_info_dup(NULL, info_of(i), &copy);
    assert_int_equal(wf_mpi_info_delete(NULL, info_of(i), "b"), MPI_SUCCESS);
    assert_int_equal(wf_mpi_info_delete(NULL, info_of(i), "b"),
                     MPI_ERR_INFO_NOKEY);
    assert_int_equal(wf_mpi_info_get(NULL, info_of(copy), "b", 3, value, &flag),
                     MPI_SUCCESS);
    assert_true(flag);
    assert_string_equal(value, "thr"); /* three characters and a null */
    wf_mpi_info_free(NULL, &i);
    wf_mpi_info_free(NULL, &copy);
    assert_ptr_equal(i, MPI_INFO_NULL);
}

static void get_string_tells_the_room_it_needs(void **state)
{
    MPI_Info i;
    char value[4] = "zzz";
    int len = 0, flag;
    wf_mpi_info_create(NULL, &i);
    wf_mpi_info_set(NULL, info_of(i), "k", "value");
    wf_mpi_info_get_string(NULL, info_of(i), "k", &len, NULL, &flag);
    assert_true(flag);
    assert_int_equal(len, 6);
    len = 4;
    wf_mpi_info_get_string(NULL, info_of(i), "k", &len, value, &flag);
    assert_string_equal(value, "val");
    assert_int_equal(len, 6);
    len = 9;
    wf_mpi_info_get_string(NULL, info_of(i), "none", &len, value, &flag);
    assert_false(flag);
    assert_int_equal(len, 9);
    wf_mpi_info_free(NULL, &i);
}

static void lengths_are_limited(void **state)
{
    MPI_Info i;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[MPI_MAX_INFO_KEY] = value[MPI_MAX_INFO_VAL] = 0;
    wf_mpi_info_create(NULL, &i);
    assert_int_equal(wf_mpi_info_set(NULL, info_of(i), key, "v"),
                     MPI_ERR_INFO_KEY);
    assert_int_equal(wf_mpi_info_set(NULL, info_of(i), "", "v"),
                     MPI_ERR_INFO_KEY);
    assert_int_equal(wf_mpi_info_set(NULL, info_of(i), "k", value),
                     MPI_ERR_INFO_VALUE);
    assert_int_equal(wf_mpi_info_set(NULL, info_of(i), key + 1, value + 1),
                     MPI_SUCCESS);
    wf_mpi_info_free(NULL, &i);
}

static void the_environment_is_read_only(void **state)
{
    MPI_Info i = MPI_INFO_ENV;
    char *argv[] = {"prog", "a", "b c", NULL};
    assert_int_equal(wf_mpi_info_set(NULL, info_of(i), "k", "v"), MPI_ERR_INFO);
    assert_int_equal(wf_mpi_info_free(NULL, &i), MPI_ERR_INFO);
    assert_int_equal(wf_mpi_info_create_env(NULL, 3, argv, &i), MPI_SUCCESS);
    assert_string_equal(wf_info_find(info_of(i), "command"), "prog");
    assert_string_equal(wf_info_find(info_of(i), "argv"), "a b c");
    assert_non_null(wf_info_find(info_of(i), "wdir"));
    wf_mpi_info_free(NULL, &i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_keep_their_order_and_last_value),
        cmocka_unit_test(get_string_tells_the_room_it_needs),
        cmocka_unit_test(lengths_are_limited),
        cmocka_unit_test(the_environment_is_read_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
