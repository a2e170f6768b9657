/* Types nested thousands of levels deep, and types whose parts are shared so
 * often that a walk over all of them would never end.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* */
#include <cmocka.h>

#include "core_api.h"
#include "datatype/move.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "process/rank.h"

enum { DEPTH = 10000 };

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};

/* One more level: an equal type, or one with a further byte two places on. */
static MPI_Datatype level_of(MPI_Datatype old, int kind, int i)
{
    MPI_Aint at[2] = {0, 2 * i + 3};
    MPI_Datatype t, parts[2] = {old, MPI_CHAR};

    if (kind == 0)
        wf_mpi_type_dup(&wf, wf_type_of(old), &t);
    else if (kind == 1)
        wf_mpi_type_contiguous(&wf, 1, wf_type_of(old), &t);
    else
        wf_mpi_type_create_struct(
            &wf, 2, (struct wf_ints){(int[]){1, 1}, sizeof(int)},
            (struct wf_ints){at, sizeof *at}, parts, &t);
    return t;
}

static void check_deep(int kind)
{
    static char from[3 * DEPTH], to[DEPTH + 8], external[DEPTH + 8];
    MPI_Datatype t, next;
    MPI_Count at = 0;
    int64_t n;

    for (int i = 0; i < 3 * DEPTH; i++)
        from[i] = (char)(i * 7 + (i >> 8));
    wf_mpi_type_dup(&wf, wf_type_of(MPI_CHAR), &t);
    for (int i = 0; i < DEPTH; i++, t = next) {
        next = level_of(t, kind, i);
        wf_mpi_type_free(&wf, &t);
    }
    n = wf_type_of(t)->size;
    assert_int_equal(n, kind == 2 ? DEPTH + 1 : 1);
    wf_type_pack(wf_type_of(t), from, 1, 0, to, (uint64_t)n);
    for (int i = 1; i < n; i++)
        assert_int_equal(to[i], from[2 * i + 1]);
    assert_int_equal(wf_mpi_pack_external(&wf, "external32", from, 1,
                                          wf_type_of(t), external,
                                          sizeof external, &at),
                     MPI_SUCCESS);
    assert_int_equal(at, n);
    assert_memory_equal(external, to, (size_t)n);
    wf_mpi_type_free(&wf, &t);
}

static void ten_thousand_levels_are_packed_and_freed(void **state)
{
    for (int kind = 0; kind < 3; kind++)
        check_deep(kind);
}

/* Each level holds the one before twice: 2^40 ints. */
static void shared_parts_are_measured_once(void **state)
{
    MPI_Datatype t = MPI_INT, next;
    MPI_Count size = 0;

    for (int i = 0; i < 40; i++, t = next) {
        MPI_Aint at[2] = {0, (MPI_Aint)8 << i};
        MPI_Datatype parts[2] = {t, t};

        wf_mpi_type_create_struct(
            &wf, 2, (struct wf_ints){(int[]){1, 1}, sizeof(int)},
            (struct wf_ints){at, sizeof *at}, parts, &next);
        if (t != MPI_INT)
            wf_mpi_type_free(&wf, &t);
    }
    assert_int_equal(wf_mpi_pack_external_size(&wf, "external32", 1,
                                               wf_type_of(t), &size),
                     MPI_SUCCESS);
    assert_int_equal(size, (MPI_Count)4 << 40);
    wf_mpi_type_free(&wf, &t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_levels_are_packed_and_freed),
        cmocka_unit_test(shared_parts_are_measured_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
