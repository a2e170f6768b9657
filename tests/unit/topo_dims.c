/* MPI_Dims_create: no product of factors has a smaller spread, for every
 * number up to 512 and for the hardest ones.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core_api.h"
#include "topo/dims.h"

/* The least spread of k factors of n that lie in low.., by trying all. */
static int least_spread(int n, int k, int low, int first)
{
    int best = INT_MAX;

    if (k == 1)
        return n >= low ? n - first : INT_MAX;
    for (int d = low; d <= n; d++) {
        int s = n % d ? INT_MAX
                      : least_spread(n / d, k - 1, d, first ? first : d);
        if (s < best)
            best = s;
    }
    return best;
}

static void check_factors(int n, int k, const int *dims)
{
    int64_t product = 1;

    for (int i = 0; i < k; i++) {
        product *= dims[i];
        if (i > 0)
            assert_true(dims[i] <= dims[i - 1]);
    }
    assert_int_equal(product, n);
}

static void the_spread_is_the_least_for_small_numbers(void **state)
{
    int dims[4];

    for (int n = 1; n <= 512; n++)
        for (int k = 2; k <= 4; k++) {
            assert_int_equal(wf_dims_balance(n, k, dims), MPI_SUCCESS);
            check_factors(n, k, dims);
            assert_int_equal(dims[0] - dims[k - 1],
                             least_spread(n, k, 1, 0));
        }
}

/* Numbers with most divisors, the largest prime, a large prime times much. */
static void large_numbers_are_factored_in_any_number_of_dimensions(void **state)
{
    static const int numbers[] = {2147483647, 2095133040, 1 << 30,
                                  720720 * 1021, 46337 * 46337};
    int dims[40];

    for (int i = 0; i < 5; i++)
        for (int k = 1; k <= 40; k += k < 6 ? 1 : 13) {
            assert_int_equal(wf_dims_balance(numbers[i], k, dims),
                             MPI_SUCCESS);
            check_factors(numbers[i], k, dims);
        }
}

static void a_square_a_cube_and_a_known_trap(void **state)
{
    int dims[3];

    wf_dims_balance(46337 * 46337, 2, dims);
    assert_int_equal(dims[0], 46337);
    wf_dims_balance(1290 * 1290 * 1290, 3, dims);
    assert_int_equal(dims[0], dims[2]);
    wf_dims_balance(72, 2, dims); /* taking primes in turn gives 12 x 6 */
    assert_int_equal(dims[0], 9);
}

static void given_dimensions_stay_and_the_others_are_filled(void **state)
{
    int a[] = {0, 3, 0}, b[] = {2, 3, 4};

    assert_int_equal(wf_mpi_dims_create(NULL, 36, 3, a), MPI_SUCCESS);
    assert_int_equal(a[0], 4);
    assert_int_equal(a[1], 3);
    assert_int_equal(a[2], 3);
    assert_int_equal(wf_mpi_dims_create(NULL, 24, 3, b), MPI_SUCCESS);
    assert_int_equal(wf_mpi_dims_create(NULL, 1, 0, NULL), MPI_SUCCESS);
}

static void impossible_dimensions_are_refused(void **state)
{
    int a[] = {0, 5}, b[] = {2, 2}, c[] = {-1, 0}, d[] = {0};

    assert_int_equal(wf_mpi_dims_create(NULL, 6, 2, a), MPI_ERR_DIMS);
    assert_int_equal(wf_mpi_dims_create(NULL, 8, 2, b), MPI_ERR_DIMS);
    assert_int_equal(wf_mpi_dims_create(NULL, 8, 2, c), MPI_ERR_DIMS);
    assert_int_equal(wf_mpi_dims_create(NULL, 0, 1, d), MPI_ERR_ARG);
    assert_int_equal(wf_mpi_dims_create(NULL, 4, 0, NULL), MPI_ERR_DIMS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_spread_is_the_least_for_small_numbers),
        cmocka_unit_test(
            large_numbers_are_factored_in_any_number_of_dimensions),
        cmocka_unit_test(a_square_a_cube_and_a_known_trap),
        cmocka_unit_test(given_dimensions_stay_and_the_others_are_filled),
        cmocka_unit_test(impossible_dimensions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
