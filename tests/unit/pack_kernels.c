/* The copying loops against a byte at a time: every width, few and many
 * blocks, small, far and negative steps, and places in any order.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "datatype/kernels.h"

enum { WIDEST = 70, MOST = 11, FAR = 520, ROOM = 2 * MOST * (FAR + WIDEST) };

static char from[ROOM], to[ROOM], wanted[ROOM];

static void fill_buffer(void)
{
    static bool ready;

    for (int i = 0; i < ROOM && !ready; i++)
        from[i] = (char)(i * 7 + (i >> 8) * 3 + 1);
    ready = true;
    memset(to, 0x5a, ROOM);
    memset(wanted, 0x5a, ROOM);
}

static void blocks_agree(int64_t ds, int64_t ss, int64_t n, int64_t w)
{
    int64_t d = ds < 0 ? ROOM / 2 : 0, s = ss < 0 ? ROOM / 2 : 0;

    fill_buffer();
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < w; b++)
            wanted[d + i * ds + b] = from[s + i * ss + b];
    wf_copy_blocks(to + d, ds, from + s, ss, n, w);
    assert_memory_equal(to, wanted, ROOM);
}

static void blocks_move_from_steps_to_steps(void **state)
{
    for (int64_t w = 1; w <= WIDEST; w++)
        for (int64_t n = 0; n <= MOST; n++) {
            int64_t steps[] = {w + 1, -w, FAR, -FAR};

            for (int i = 0; i < 4; i++) {
                blocks_agree(w, steps[i], n, w);
                blocks_agree(steps[i], w, n, w);
            }
            blocks_agree(w + 3, 0, n, w); /* the same block again and again */
        }
}

/* Steps that share few sets of a cache are written a few at a time. */
static void blocks_move_to_steps_of_kilobytes(void **state)
{
    enum { STEP = 1024, BLOCKS = 1027 };
    static char wide[BLOCKS * STEP], back[BLOCKS * 24];

    for (int step = STEP; step <= 4 * STEP; step *= 2)
        for (int w = 1; w <= 24; w += 7) {
            int n = BLOCKS * STEP / step;

            fill_buffer();
            memset(wide, 0x5a, sizeof wide);
            wf_copy_blocks(wide, step, from, 3, n, w);
            for (int i = 0; i < n; i++) {
                assert_memory_equal(wide + i * step, from + i * 3, w);
                assert_int_equal(wide[i * step + w], 0x5a);
            }
            wf_copy_blocks(back + (n - 1) * w, -w, wide, step, n, w);
            for (int i = 0; i < n; i++)
                assert_memory_equal(back + (n - 1 - i) * w, from + i * 3, w);
        }
}

static void listed_blocks_move(void **state)
{
    int64_t at[MOST];

    for (int64_t w = 1; w <= WIDEST; w++)
        for (int64_t n = 0; n <= MOST; n++) {
            for (int64_t i = 0; i < n; i++)
                at[i] = (i * 7 % n) * (w + 2);
            fill_buffer();
            for (int64_t k = 0; k < n * w; k++)
                wanted[k] = from[at[k / w] + k % w];
            wf_copy_gather(to, (uintptr_t)from, at, n, w);
            assert_memory_equal(to, wanted, ROOM);
            fill_buffer();
            for (int64_t k = 0; n % 7 && k < n * w; k++)
                wanted[at[k / w] + k % w] = from[k];
            if (n % 7)
                wf_copy_scatter(from, (uintptr_t)to, at, n, w);
            assert_memory_equal(to, wanted, ROOM);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_move_from_steps_to_steps),
        cmocka_unit_test(blocks_move_to_steps_of_kilobytes),
        cmocka_unit_test(listed_blocks_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
