/* CRC-32C: published values, pieces, and both ways to compute it.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "os/crc32c.h"

/* RFC 3720, B.4. */
static void known_values(void **state)
{
    wf_crc32c_fn *sum = wf_crc32c_choose();
    uint8_t zeros[32] = {0}, ones[32], up[32];

    memset(ones, 0xff, sizeof ones);
    for (unsigned i = 0; i < sizeof up; i++)
        up[i] = (uint8_t)i;
    assert_int_equal(sum(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(sum(0, zeros, 32), 0x8a9136aau);
    assert_int_equal(sum(0, ones, 32), 0x62a8ab43u);
    assert_int_equal(sum(0, up, 32), 0x46dd794eu);
}

static void pieces_and_the_table_agree(void **state)
{
    wf_crc32c_fn *sum = wf_crc32c_choose();
    uint8_t data[300];

    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i + 7);
    for (unsigned n = 0; n <= sizeof data; n += 13)
        for (unsigned at = 0; at <= n; at += 5) {
            uint32_t whole = wf_crc32c_table(0, data, n);
            assert_int_equal(sum(0, data, n), whole);
            assert_int_equal(
                sum(sum(0, data, at), data + at, n - at), whole);
        }
}

static void a_message_in_one_call_is_the_same_sum(void **state)
{
    wf_crc32c_message_fn *message = wf_crc32c_message_choose();
    uint8_t all[64 + 100];

    for (unsigned i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)(i * i + 3);
    for (unsigned n = 0; n <= 100; n += 9) {
        uint64_t eighth = 0, both;
        for (int i = 7; i >= 0; i--)
            eighth = eighth << 8 | all[56 + i];
        both = message(all, eighth, all + 64, n);
        assert_int_equal(both >> 32, wf_crc32c_table(0, all, 64));
        assert_int_equal((uint32_t)both, wf_crc32c_table(0, all, 64 + n));
        assert_true(both == wf_crc32c_message_table(all, eighth, all + 64, n));
    }
}

/* Sizes around those of the blocks that are summed side by side. */
static void large_data_have_the_sum_of_the_table(void **state)
{
    wf_crc32c_fn *sum = wf_crc32c_choose();
    static uint8_t data[3 * 3 * 2048 + 800];

    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i / 7 + 5 * i);
    for (unsigned n = 1; n <= sizeof data; n += n < 800 ? 1 : 101) {
        assert_int_equal(sum(0, data, n), wf_crc32c_table(0, data, n));
        assert_int_equal(sum(12345, data + 1, n - 1),
                         wf_crc32c_table(12345, data + 1, n - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(large_data_have_the_sum_of_the_table),
        cmocka_unit_test(pieces_and_the_table_agree),
        cmocka_unit_test(a_message_in_one_call_is_the_same_sum)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
