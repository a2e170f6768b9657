/* The keyed code of a datagram: the published values, whatever the pieces, and
 * another code for another key, nonce, or bit.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
/* */
#include <cmocka.h>

#include "crypto/mac.h"

static const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
static const unsigned char count[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                        8, 9, 10, 11, 12, 13, 14, 15};

/* Key and message of the appendix of the SipHash paper; and the next length,
 * from the vectors of its reference program: whole words. */
static void the_published_values(void **state)
{
    struct iovec v = {.iov_base = (void *)(uintptr_t)(count + 8), .iov_len = 7};

    assert_int_equal(wf_mac64(key, 0x0706050403020100u, &v, 1),
                     0xa129ca6149be45e5u);
    v.iov_len = 0;
    assert_int_equal(wf_mac64(key, 0x0706050403020100u, &v, 1),
                     0x93f5f5799a932462u);
}

static void pieces_make_no_difference(void **state)
{
    unsigned char text[100];
    struct iovec whole = {.iov_base = text, .iov_len = sizeof text};
    uint64_t expected;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * 7);
    expected = wf_mac64(key, 9, &whole, 1);
    for (size_t a = 0; a <= sizeof text; a++)
        for (size_t b = a; b <= sizeof text; b += 3) {
            struct iovec v[3] = {
                {.iov_base = text, .iov_len = a},
                {.iov_base = text + a, .iov_len = b - a},
                {.iov_base = text + b, .iov_len = sizeof text - b}};
            assert_int_equal(wf_mac64(key, 9, v, 3), expected);
        }
}

static void a_change_of_any_bit_changes_the_code(void **state)
{
    unsigned char text[33] = "what somebody on the way changes";
    struct iovec v = {.iov_base = text, .iov_len = sizeof text};
    uint64_t other[2] = {key[0], key[1] ^ 1};
    uint64_t first = wf_mac64(key, 1, &v, 1);

    assert_int_not_equal(wf_mac64(key, 2, &v, 1), first);
    assert_int_not_equal(wf_mac64(other, 1, &v, 1), first);
    for (size_t i = 0; i < 8 * sizeof text; i++) {
        text[i / 8] ^= (unsigned char)(1 << i % 8);
        assert_int_not_equal(wf_mac64(key, 1, &v, 1), first);
        text[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    v.iov_len--;
    assert_int_not_equal(wf_mac64(key, 1, &v, 1), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_values),
        cmocka_unit_test(pieces_make_no_difference),
        cmocka_unit_test(a_change_of_any_bit_changes_the_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
