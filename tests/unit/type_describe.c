/* The description of a datatype gives the same layout elsewhere, and one that
 * makes no sense is refused.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* */
#include <cmocka.h>

#include "datatype/describe.h"
#include "datatype/move.h"
#include "type_rig.h"

enum { ROOM = 1 << 14, TYPES = 4 };

static MPI_Datatype made[TYPES];

static void make_types(void)
{
    static const int lengths[] = {3, 0, 1, 2}, displs[] = {9, 4, 0, 40};
    static const int sizes[] = {6, 7}, parts[] = {3, 4}, starts[] = {1, 2};

    wf_mpi_type_vector(&wf, 5, 2, 3, type_of(MPI_INT), &made[0]);
    wf_mpi_type_indexed(&wf, 4, ints_of(lengths), ints_of(displs),
                        type_of(made[0]), &made[1]);
    wf_mpi_type_create_subarray(&wf, 2, ints_of(sizes), ints_of(parts),
                                ints_of(starts), MPI_ORDER_C,
                                type_of(MPI_SHORT_INT), &made[2]);
    wf_mpi_type_contiguous(&wf, 7, type_of(MPI_DOUBLE), &made[3]);
}

static void free_types(void)
{
    for (int i = 0; i < TYPES; i++)
        free_type(made[i]);
}

static void check_same(struct wf_type *a, struct wf_type *b)
{
    enum { COUNT = 3 };
    static char memory[ROOM], x[ROOM], y[ROOM];
    uint64_t n = COUNT * (uint64_t)a->size;
    int64_t low, high;

    for (int i = 0; i < ROOM; i++)
        memory[i] = (char)(i * 7 + (i >> 8));
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->extent, b->extent);
    assert_int_equal(a->true_lb, b->true_lb);
    assert_int_equal(a->true_extent, b->true_extent);
    assert_true(wf_type_reach(b, COUNT, &low, &high));
    assert_true(low >= 0 && high <= ROOM && n <= ROOM);
    wf_type_pack(a, memory, COUNT, 0, x, n);
    wf_type_pack(b, memory, COUNT, 0, y, n);
    assert_memory_equal(x, y, n);
}

static void a_description_gives_the_same_layout(void **state)
{
    make_types();
    for (int i = 0; i < TYPES; i++) {
        struct wf_type *t = type_of(made[i]), *copy;
        bool no_memory;
        size_t n;
        int64_t *words = wf_type_describe(t, &n);

        assert_non_null(words);
        copy = wf_type_rebuild(words, n, &no_memory);
        assert_non_null(copy);
        check_same(t, copy);
        wf_type_put(copy);
        free(words);
    }
    free_types();
}

/* Whatever the words are, a type that is made of them keeps its bounds. */
static void nonsense_is_refused(void **state)
{
    unsigned seed = 1;
    int refused = 0;

    make_types();
    for (int round = 0; round < 20000; round++) {
        size_t n;
        bool no_memory;
        int64_t *words = wf_type_describe(type_of(made[round % TYPES]), &n);
        size_t used = n;

        for (int i = 0; i < 2; i++) {
            static const int64_t odd[] = {-1, 0, 1, 2, 3, INT64_MAX, INT64_MIN,
                                          1 << 20};
            seed = seed * 1103515245u + 12345u;
            words[seed / 65536 % n] = odd[seed / 1024 % 8];
        }
        if (round % 5 == 0)
            used = seed / 256 % n;
        struct wf_type *t = wf_type_rebuild(words, used, &no_memory);
        refused += t == NULL;
        if (t) {
            assert_true(t->size >= 0 && t->true_extent >= 0);
            wf_type_put(t);
        }
        free(words);
    }
    assert_true(refused > 100);
    free_types();
}

static void the_basic_type_is_found(void **state)
{
    make_types();
    assert_ptr_equal(wf_type_basic(type_of(made[1])), type_of(MPI_INT));
    assert_ptr_equal(wf_type_basic(type_of(made[2])), type_of(MPI_SHORT_INT));
    extent_is(made[3], 0, 7 * sizeof(double));
    free_types();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_gives_the_same_layout),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(the_basic_type_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
