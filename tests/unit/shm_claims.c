/* plugins/shm: the word from which both sides claim pieces of a transfer.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../plugins/shm/claims.h"

enum { PIECES = 200000 };
static _Atomic uint64_t word;
static unsigned char taken[PIECES];

static void *take_next(void *end)
{
    uint32_t first, n, most = 1;
    while ((n = shm_claim(&word, 5, PIECES, most, *(enum shm_end *)end,
                          &first)) > 0) {
        for (uint32_t i = first; i < first + n; i++)
            taken[i]++;
        most = most % 7 + 1;
    }
    return NULL;
}

static void every_piece_is_taken_once(void **state)
{
    enum shm_end ends[4] = {SHM_FRONT, SHM_BACK, SHM_FRONT, SHM_BACK};
    pthread_t thread[4];
    atomic_store(&word, shm_claims(5));
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_next, &ends[i]),
                         0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < PIECES; i++)
        assert_int_equal(taken[i], 1);
    assert_int_equal(shm_unclaimed(atomic_load(&word), 5, PIECES), 0);
}

/* Large blocks for one that has long been alone, small ones at both ends. */
static void blocks_grow_and_shrink(void **state)
{
    enum { CHUNK = 16 << 10, ALL = (16 << 20) / CHUNK };
    uint32_t run = 0, calls = 0, before = 0, most = 0;
    (void)state;
    assert_int_equal(shm_block_pieces(CHUNK, 0, ALL), SHM_BLOCK / CHUNK);
    while (run < ALL) {
        uint32_t n = shm_block_pieces(CHUNK, run, ALL - run);
        assert_true(n >= 1 && n <= ALL - run);
        assert_true(n <= SHM_BLOCK_MOST / CHUNK);
        assert_true(n == 1 || n <= (ALL - run) / 2);
        most = n > most ? n : most;
        before = n;
        run += n;
        calls++;
    }
    assert_int_equal(before, 1);
    assert_int_equal(most, SHM_BLOCK_MOST / CHUNK);
    assert_true(calls < ALL * CHUNK / SHM_BLOCK / 2);
    assert_int_equal(shm_block_pieces(4 * SHM_BLOCK_MOST, 0, 100), 1);
}

static void nothing_is_taken_of_another_operation(void **state)
{
    static const uint64_t words[] = {
        SHM_CLAIMS_CLOSED, UINT64_MAX >> 16, UINT64_C(5) << 48 | 0xffffff,
        UINT64_C(5) << 48 | UINT64_C(10) << 24, UINT64_C(6) << 48, 0};
    uint32_t first;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        atomic_store(&word, words[i]);
        assert_int_equal(shm_claim(&word, 5, 10, 3, SHM_FRONT, &first), 0);
        assert_int_equal(shm_claim(&word, 5, 10, 3, SHM_BACK, &first), 0);
    }
    atomic_store(&word, shm_claims(5 + (1 << 16)));
    assert_int_equal(shm_claim(&word, 5 + (1 << 16), 10, 3, SHM_BACK, &first),
                     3);
    assert_int_equal(first, 7);
    assert_int_equal(shm_claim(&word, 5, 10, 30, SHM_FRONT, &first), 7);
    assert_int_equal(first, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_is_taken_once),
        cmocka_unit_test(blocks_grow_and_shrink),
        cmocka_unit_test(nothing_is_taken_of_another_operation)};
    return cmocka_run_group_tests_name("shm claims", tests, NULL, NULL);
}
