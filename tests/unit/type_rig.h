/* This header starts tests of datatypes as objects.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_TEST_TYPE_RIG_H
#define WF_TEST_TYPE_RIG_H

#include "core_api.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "process/rank.h"

static struct wf_rank wf_rank;
static struct wf_instance wf = {.rank = &wf_rank};

static struct wf_ints ints_of(const int *a)
{
    return (struct wf_ints){a, sizeof *a};
}

static struct wf_type *type_of(MPI_Datatype handle)
{
    struct wf_type *t = wf_type_of(handle);

    assert_non_null(t);
    return t;
}

static void free_type(MPI_Datatype type)
{
    assert_int_equal(wf_mpi_type_free(&wf, &type), MPI_SUCCESS);
    assert_ptr_equal(type, MPI_DATATYPE_NULL);
}

static void extent_is(MPI_Datatype type, MPI_Count lb, MPI_Count extent)
{
    MPI_Count got_lb, got_extent;

    wf_mpi_type_get_extent(&wf, type_of(type), &got_lb, &got_extent);
    assert_int_equal(got_lb, lb);
    assert_int_equal(got_extent, extent);
}

#endif
