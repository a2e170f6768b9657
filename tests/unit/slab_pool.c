/* Cells: apart from one another, used again, and given back after a burst.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "protocol/slab.h"

enum { SIZE = 300, BURST = 20000 };

static void *taken[BURST];

static void take_all(struct wf_slab *c, int n)
{
    for (int i = 0; i < n; i++) {
        taken[i] = wf_slab_alloc(c);
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i] % WF_CACHE_LINE, 0);
        memset(taken[i], i, SIZE);
    }
}

static void give_all(struct wf_slab *c, int n)
{
    for (int i = 0; i < n; i++)
        wf_slab_free(c, taken[i]);
}

static void cells_do_not_overlap(void **state)
{
    struct wf_slab c;

    wf_slab_init(&c, SIZE);
    take_all(&c, BURST);
    for (int i = 0; i < BURST; i++)
        for (int k = 0; k < SIZE; k++)
            assert_int_equal(((unsigned char *)taken[i])[k], i & 255);
    give_all(&c, BURST);
    wf_slab_fini(&c);
}

static void the_last_one_given_is_the_next_taken(void **state)
{
    struct wf_slab c;
    void *cell;

    wf_slab_init(&c, SIZE);
    take_all(&c, 5);
    wf_slab_free(&c, taken[2]);
    cell = wf_slab_alloc(&c);
    assert_ptr_equal(cell, taken[2]);
    assert_int_equal(c.slab_count, 1);
    wf_slab_fini(&c);
}

static void a_burst_gives_its_memory_back_unless_it_comes_again(void **state)
{
    struct wf_slab c;
    uint32_t slabs;

    wf_slab_init(&c, SIZE);
    take_all(&c, BURST);
    assert_true(c.slab_count * c.slab > WF_SLAB_KEEP);
    slabs = c.slab_count;
    for (int i = 0; i < 3; i++) {
        give_all(&c, BURST);
        assert_int_equal(c.slab_count, slabs);
        take_all(&c, BURST);
    }
    give_all(&c, BURST);
    take_all(&c, 100);
    give_all(&c, 100);
    assert_int_equal(c.slab_count, 0);
    take_all(&c, 100); /* few stay */
    give_all(&c, 100);
    assert_int_equal(c.slab_count, 1);
    wf_slab_fini(&c);
}

static void a_slab_has_room_for_two_of_any_size(void **state)
{
    struct wf_slab c;
    char *cell[3];

    wf_slab_init(&c, 100000);
    for (int i = 0; i < 3; i++) {
        cell[i] = wf_slab_alloc(&c);
        assert_non_null(cell[i]);
        memset(cell[i], i, 100000);
    }
    assert_int_equal(c.slab_count, 2);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cell[i][0], i);
        assert_int_equal(cell[i][99999], i);
        wf_slab_free(&c, cell[i]);
    }
    assert_int_equal(c.slab_count, 2); /* for the next burst */
    wf_slab_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_do_not_overlap),
        cmocka_unit_test(the_last_one_given_is_the_next_taken),
        cmocka_unit_test(a_burst_gives_its_memory_back_unless_it_comes_again),
        cmocka_unit_test(a_slab_has_room_for_two_of_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
