/* Distributed arrays and subarrays.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
/* */
#include <cmocka.h>

#include "datatype/move.h"
#include "datatype/segments.h"
#include "type_rig.h"

/* Every element of the array belongs to exactly one process's darray. */
static void darray_covers(int ndims, const int *gsizes, const int *distribs,
                          const int *dargs, const int *psizes, int order)
{
    int size = 1, total = 1;
    unsigned char *owner;

    for (int d = 0; d < ndims; d++) {
        size *= psizes[d];
        total *= gsizes[d];
    }
    owner = calloc((size_t)total, 1);
    for (int rank = 0; rank < size; rank++) {
        struct iovec v;
        MPI_Datatype t;
        uint64_t off = 0;

        assert_int_equal(wf_mpi_type_create_darray(
                             &wf, size, rank, ndims, ints_of(gsizes), distribs,
                             dargs, psizes, order, type_of(MPI_BYTE), &t),
                         MPI_SUCCESS);
        extent_is(t, 0, total);
        while (wf_type_list_segments(type_of(t), owner, 1, off, &v, 1)) {
            for (size_t i = 0; i < v.iov_len; i++)
                ((unsigned char *)v.iov_base)[i]++;
            off += v.iov_len;
        }
        assert_int_equal(off, type_of(t)->size);
        free_type(t);
    }
    for (int i = 0; i < total; i++)
        assert_int_equal(owner[i], 1);
    free(owner);
}

static void darrays_of_all_processes_tile_the_array(void **state)
{
    const int D = MPI_DISTRIBUTE_DFLT_DARG;

    for (int order = 0; order < 2; order++) {
        int o = order ? MPI_ORDER_C : MPI_ORDER_FORTRAN;

        darray_covers(1, (int[]){17}, (int[]){MPI_DISTRIBUTE_CYCLIC},
                      (int[]){3}, (int[]){4}, o);
        darray_covers(1, (int[]){3}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){D},
                      (int[]){5}, o);
        darray_covers(3, (int[]){7, 5, 9},
                      (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE,
                              MPI_DISTRIBUTE_CYCLIC},
                      (int[]){D, D, 2}, (int[]){3, 1, 2}, o);
        darray_covers(2, (int[]){8, 10},
                      (int[]){MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
                      (int[]){D, 6}, (int[]){3, 2}, o);
    }
}

static void a_darray_places_its_elements_in_row_major_process_order(void **st)
{
    MPI_Datatype t;
    unsigned char data[12], packed[2];

    /* 3 x 4 over 2 x 2 blocks in C order: rank 1 has rows 0-1, columns 2-3 */
    for (int i = 0; i < 12; i++)
        data[i] = (unsigned char)i;
    wf_mpi_type_create_darray(
        &wf, 4, 1, 2, ints_of((int[]){3, 4}),
        (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK},
        (int[]){MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG},
        (int[]){2, 2}, MPI_ORDER_C, type_of(MPI_BYTE), &t);
    assert_int_equal(type_of(t)->size, 4);
    wf_type_pack(type_of(t), data, 1, 1, packed, 2);
    assert_int_equal(packed[0], 3);
    assert_int_equal(packed[1], 6);
    free_type(t);
}

static void wrong_array_arguments_are_named(void **state)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;

    assert_int_equal(
        wf_mpi_type_create_subarray(&wf, 1, ints_of((int[]){4}),
                                    ints_of((int[]){5}), ints_of((int[]){0}),
                                    MPI_ORDER_C, type_of(MPI_INT), &t),
        MPI_ERR_ARG);
    assert_int_equal(
        wf_mpi_type_create_subarray(&wf, 1, ints_of((int[]){4}),
                                    ints_of((int[]){2}), ints_of((int[]){3}),
                                    MPI_ORDER_C, type_of(MPI_INT), &t),
        MPI_ERR_ARG);
    assert_int_equal(wf_mpi_type_create_subarray(
                         &wf, 1, ints_of((int[]){4}), ints_of((int[]){2}),
                         ints_of((int[]){0}), 77, type_of(MPI_INT), &t),
                     MPI_ERR_ARG);
    assert_int_equal(wf_mpi_type_create_darray(
                         &wf, 4, 0, 1, ints_of((int[]){9}),
                         (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){2}, (int[]){4},
                         MPI_ORDER_C, type_of(MPI_INT), &t),
                     MPI_ERR_ARG);
    assert_int_equal(wf_mpi_type_create_darray(
                         &wf, 4, 0, 1, ints_of((int[]){9}),
                         (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){4}, (int[]){3},
                         MPI_ORDER_C, type_of(MPI_INT), &t),
                     MPI_ERR_ARG);
    assert_ptr_equal(t, MPI_DATATYPE_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(darrays_of_all_processes_tile_the_array),
        cmocka_unit_test(
            a_darray_places_its_elements_in_row_major_process_order),
        cmocka_unit_test(wrong_array_arguments_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
