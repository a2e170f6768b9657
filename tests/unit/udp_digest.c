/* The digest that a packet's code is made of: the sum it should be, whatever
 * the pieces, and another one for each other packet.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "../../plugins/udp-reliable/digest.h"

enum { TEXT = 1300 };

static uint64_t key[DIGEST_KEY];
static uint8_t text[TEXT];

static int make_object(void **state)
{
    uint64_t x = 1;

    for (int i = 0; i < DIGEST_KEY; i++)
        key[i] = x = x * 6364136223846793005u + 1442695040888963407u;
    for (int i = 0; i < TEXT; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        text[i] = (uint8_t)(x >> 56);
    }
    return 0;
}

static size_t digest_text(size_t n, uint64_t *out)
{
    struct iovec v = {.iov_base = text, .iov_len = n};

    return wf_udp_digest(key, &v, 1, out);
}

/* Word i of the text, of which n bytes count. */
static uint64_t word_at(size_t i, size_t n)
{
    uint64_t w = 0;

    for (size_t b = 8 * i; b < 8 * i + 8 && b < n; b++)
        w |= (uint64_t)text[b] << 8 * (b % 8);
    return w;
}

/* The product of two words by halves, added to a sum of two words. */
static void add_product(uint64_t a, uint64_t b, uint64_t sum[2])
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t middle = ah * bl + (al * bl >> 32), other = al * bh;
    uint64_t low = a * b, high;

    middle += (uint32_t)other;
    high = ah * bh + (middle >> 32) + (other >> 32);
    sum[0] += low;
    sum[1] += high + (sum[0] < low);
}

static void the_digest_is_the_published_one(void **state)
{
    uint64_t got[DIGEST_MAX];

    for (size_t n = 0; n <= TEXT; n += n < 40 ? 1 : 37) {
        size_t words = digest_text(n, got),
               blocks = (n + DIGEST_BLOCK - 1) / DIGEST_BLOCK;
        assert_int_equal(words, 2 * blocks + 1);
        for (size_t b = 0; b < blocks; b++) {
            uint64_t sum[2] = {0, 0};
            for (size_t i = 0; i < DIGEST_KEY; i += 2) {
                size_t at = b * DIGEST_KEY + i;
                if (8 * at < n)
                    add_product(word_at(at, n) + key[i],
                                word_at(at + 1, n) + key[i + 1], sum);
            }
            assert_memory_equal(got + 2 * b, sum, sizeof sum);
        }
        assert_int_equal(got[2 * blocks], n);
    }
}

static void pieces_make_no_difference(void **state)
{
    uint64_t whole[DIGEST_MAX], cut[DIGEST_MAX];
    size_t words = digest_text(TEXT, whole);

    for (size_t a = 0; a <= TEXT; a += 13)
        for (size_t b = a; b <= TEXT; b += 111) {
            struct iovec v[4] = {{text, a}, {text + a, 0}, {text + a, b - a},
                                 {text + b, TEXT - b}};
            assert_int_equal(wf_udp_digest(key, v, 4, cut), words);
            assert_memory_equal(cut, whole, words * sizeof *cut);
        }
}

static void a_change_of_any_bit_changes_the_digest(void **state)
{
    uint64_t first[DIGEST_MAX], other[DIGEST_MAX];
    size_t words = digest_text(TEXT, first);

    for (size_t i = 0; i < 8 * TEXT; i += 5) {
        text[i / 8] ^= (uint8_t)(1 << i % 8);
        digest_text(TEXT, other);
        assert_memory_not_equal(first, other, words * sizeof *first);
        text[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

static void zeros_at_the_end_count(void **state)
{
    uint64_t first[DIGEST_MAX], other[DIGEST_MAX];

    memset(text + 30, 0, 10);
    digest_text(30, first);
    for (size_t n = 31; n < 40; n++) {
        size_t words = digest_text(n, other);
        assert_memory_not_equal(first, other, words * sizeof *first);
    }
    make_object(state);
}

static void the_largest_packet_fits(void **state)
{
    static uint8_t zero[DIGEST_PACKET];
    struct iovec v = {.iov_base = zero, .iov_len = sizeof zero};
    uint64_t out[DIGEST_MAX];

    assert_true(wf_udp_digest(key, &v, 1, out) <= DIGEST_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_digest_is_the_published_one),
        cmocka_unit_test(pieces_make_no_difference),
        cmocka_unit_test(a_change_of_any_bit_changes_the_digest),
        cmocka_unit_test(zeros_at_the_end_count),
        cmocka_unit_test(the_largest_packet_fits),
    };
    return cmocka_run_group_tests(tests, make_object, NULL);
}
