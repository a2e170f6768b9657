/* Derived datatypes are constructed here, MPI-5.0 s5.1.2.
 *
 * Each constructor writes its arguments into a constructor record and lets
 * wf_type_derive do the rest.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <limits.h>

#include "core_api.h"
#include "datatype/blocks.h"
#include "datatype/derive.h"
#include "datatype/derived.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "process/instance.h"
#include "report/state.h"

/* Returns whether the large-count form was called. Wide arrays of what the int
 * form has as int[] show it, and so do numbers that an int cannot hold; else
 * the bindings say it (report/state.h). */
static bool is_large(const struct wf_instance *wf, const struct wf_type *t,
                     struct wf_ints array)
{
    const struct wf_type_private *p = t->priv;

    if ((wf && wf_call_now.large) || array.width == 8)
        return true;
    for (int64_t i = 0; i < p->nvalue && i < p->nint; i++)
        if (p->value[i] != (int)p->value[i])
            return true;
    return false;
}

/* The last step of every constructor derives the type and returns its
 * handle. */
static int finish_type(const struct wf_instance *wf, struct wf_type *t,
                       struct wf_ints array, MPI_Datatype *newtype)
{
    bool large = is_large(wf, t, array);
    int rc = wf_type_derive(t, &t);

    if (rc)
        return rc;
    t->priv->large = large;
    *newtype = wf_type_handle(t);
    return MPI_SUCCESS;
}

static const struct wf_ints no_array = {NULL, 0};

/* Makes a type over one older type, as all constructors but struct do. */
static struct wf_type *create_over(int combiner, int64_t nint, int64_t naddr,
                                   struct wf_type *older)
{
    struct wf_type *t = wf_type_create(combiner, nint, naddr, 1);

    if (t)
        wf_type_set_older(t, 0, older);
    return t;
}

/* Limits a count of the user, so that sums of it do not overflow. */
static int check_count(MPI_Count count)
{
    if (count > INT64_MAX / 64)
        return wf_error(MPI_ERR_COUNT, "count %lld is more than memory holds",
                        (long long)count);
    return MPI_SUCCESS;
}

int wf_mpi_type_contiguous(struct wf_instance *wf, MPI_Count count,
                           struct wf_type *oldtype, MPI_Datatype *newtype)
{
    struct wf_type *t = create_over(MPI_COMBINER_CONTIGUOUS, 1, 0, oldtype);

    if (!t)
        return wf_type_report_no_memory();
    t->priv->value[0] = count;
    return finish_type(wf, t, no_array, newtype);
}

static int create_vector(struct wf_instance *wf, int combiner,
                         const MPI_Count values[static 3],
                         struct wf_type *oldtype, MPI_Datatype *newtype)
{
    int64_t naddr = combiner == MPI_COMBINER_HVECTOR;
    struct wf_type *t = create_over(combiner, 3 - naddr, naddr, oldtype);

    if (!t)
        return wf_type_report_no_memory();
    memcpy(t->priv->value, values, 3 * sizeof *values);
    return finish_type(wf, t, no_array, newtype);
}

int wf_mpi_type_vector(struct wf_instance *wf, MPI_Count count,
                       MPI_Count blocklength, MPI_Count stride,
                       struct wf_type *oldtype, MPI_Datatype *newtype)
{
    return create_vector(wf, MPI_COMBINER_VECTOR,
                         (MPI_Count[]){count, blocklength, stride}, oldtype,
                         newtype);
}

int wf_mpi_type_create_hvector(struct wf_instance *wf, MPI_Count count,
                               MPI_Count blocklength, MPI_Count stride,
                               struct wf_type *oldtype, MPI_Datatype *newtype)
{
    return create_vector(wf, MPI_COMBINER_HVECTOR,
                         (MPI_Count[]){count, blocklength, stride}, oldtype,
                         newtype);
}

/* Makes a type of blocks that are anywhere, all of one older type. block: the
 * length of all, where there is no array of lengths. */
static int create_indexed(struct wf_instance *wf, int combiner,
                          const struct wf_type_arrays *arrays, MPI_Count block,
                          struct wf_type *oldtype, MPI_Datatype *newtype)
{
    bool blocks = combiner == MPI_COMBINER_INDEXED_BLOCK ||
                  combiner == MPI_COMBINER_HINDEXED_BLOCK;
    struct wf_type *t;

    if (check_count(arrays->count))
        return MPI_ERR_COUNT;
    t = wf_type_create_irregular(combiner, 1 + blocks, 1, arrays);
    if (!t)
        return wf_type_report_no_memory();
    wf_type_set_older(t, 0, oldtype);
    if (blocks)
        t->priv->value[1] = block;
    /* Displacements in bytes are 64 bits wide in both forms: they do not tell
     * which one was called. */
    return finish_type(wf, t,
                       combiner == MPI_COMBINER_INDEXED_BLOCK ? arrays->places
                                                              : arrays->lengths,
                       newtype);
}

int wf_mpi_type_indexed(struct wf_instance *wf, MPI_Count count,
                        struct wf_ints array_of_blocklengths,
                        struct wf_ints array_of_displacements,
                        struct wf_type *oldtype, MPI_Datatype *newtype)
{
    return create_indexed(wf, MPI_COMBINER_INDEXED,
                          &(struct wf_type_arrays){count, array_of_blocklengths,
                                                   array_of_displacements},
                          0, oldtype, newtype);
}

int wf_mpi_type_create_hindexed(struct wf_instance *wf, MPI_Count count,
                                struct wf_ints array_of_blocklengths,
                                struct wf_ints array_of_displacements,
                                struct wf_type *oldtype, MPI_Datatype *newtype)
{
    return create_indexed(wf, MPI_COMBINER_HINDEXED,
                          &(struct wf_type_arrays){count, array_of_blocklengths,
                                                   array_of_displacements},
                          0, oldtype, newtype);
}

int wf_mpi_type_create_indexed_block(struct wf_instance *wf, MPI_Count count,
                                     MPI_Count blocklength,
                                     struct wf_ints array_of_displacements,
                                     struct wf_type *oldtype,
                                     MPI_Datatype *newtype)
{
    return create_indexed(
        wf, MPI_COMBINER_INDEXED_BLOCK,
        &(struct wf_type_arrays){count, no_array, array_of_displacements},
        blocklength, oldtype, newtype);
}

int wf_mpi_type_create_hindexed_block(struct wf_instance *wf, MPI_Count count,
                                      MPI_Count blocklength,
                                      struct wf_ints array_of_displacements,
                                      struct wf_type *oldtype,
                                      MPI_Datatype *newtype)
{
    return create_indexed(
        wf, MPI_COMBINER_HINDEXED_BLOCK,
        &(struct wf_type_arrays){count, no_array, array_of_displacements},
        blocklength, oldtype, newtype);
}

/* Checks that every entry of array_of_types is a datatype. */
static int check_types(MPI_Count count, const MPI_Datatype types[])
{
    for (MPI_Count i = 0; i < count; i++)
        if (!wf_type_of(types[i]))
            return wf_error(MPI_ERR_TYPE,
                            "array_of_types[%lld] is not a datatype",
                            (long long)i);
    return MPI_SUCCESS;
}

int wf_mpi_type_create_struct(struct wf_instance *wf, MPI_Count count,
                              struct wf_ints array_of_blocklengths,
                              struct wf_ints array_of_displacements,
                              const MPI_Datatype array_of_types[],
                              MPI_Datatype *newtype)
{
    struct wf_type *t;

    if (check_count(count))
        return MPI_ERR_COUNT;
    if (check_types(count, array_of_types))
        return MPI_ERR_TYPE;
    t = wf_type_create_irregular(
        MPI_COMBINER_STRUCT, 1, count,
        &(struct wf_type_arrays){count, array_of_blocklengths,
                                 array_of_displacements});
    if (!t)
        return wf_type_report_no_memory();
    for (MPI_Count i = 0; i < count; i++)
        wf_type_set_older(t, i, wf_type_of(array_of_types[i]));
    return finish_type(wf, t, array_of_blocklengths, newtype);
}

int wf_mpi_type_create_resized(struct wf_instance *wf, struct wf_type *oldtype,
                               MPI_Count lb, MPI_Count extent,
                               MPI_Datatype *newtype)
{
    struct wf_type *t = create_over(MPI_COMBINER_RESIZED, 0, 2, oldtype);
    int64_t ub;

    if (!t)
        return wf_type_report_no_memory();
    if (__builtin_add_overflow(lb, extent, &ub)) {
        wf_type_put(t);
        return wf_error(MPI_ERR_ARG, "lb %lld + extent %lld overflows",
                        (long long)lb, (long long)extent);
    }
    t->priv->value[0] = lb;
    t->priv->value[1] = extent;
    return finish_type(wf, t, no_array, newtype);
}
