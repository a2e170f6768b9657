/* MPI_Type_get_envelope and MPI_Type_get_contents decode datatypes, MPI-5.0
 * s5.1.13.
 *
 * The constructor record holds the integers and addresses of the int form in
 * that order. The large-count form gives nearly all of them as counts, in the
 * same order; subarray and darray keep some as integers (see shape_of).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "core_api.h"
#include "datatype/derived.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "object/error.h"

/* A shape says how the record divides among the four output arrays. */
struct shape {
    int64_t nint, naddr, ncount, ntype;
};

static struct shape shape_of(const struct wf_type *t)
{
    const struct wf_type_private *p = t->priv;
    int64_t n;

    if (!p)
        return (struct shape){0};
    if (!p->large)
        return (struct shape){p->nint, p->naddr, 0, p->ntype};
    switch (p->combiner) {
    case MPI_COMBINER_SUBARRAY: /* ndims, order; sizes, subsizes, starts */
        n = wf_type_value(t, 0);
        return (struct shape){2, 0, 3 * n, p->ntype};
    case MPI_COMBINER_DARRAY: /* all but gsizes are integers */
        n = wf_type_value(t, 2);
        return (struct shape){4 + 3 * n, 0, n, p->ntype};
    default:
        return (struct shape){0, 0, p->nint + p->naddr, p->ntype};
    }
}

/* Returns whether value i of the record is given as a count. */
static bool is_count(const struct wf_type *t, int64_t i)
{
    const struct wf_type_private *p = t->priv;

    if (!p->large)
        return false;
    switch (p->combiner) {
    case MPI_COMBINER_SUBARRAY:
        return i > 0 && i < p->nint - 1;
    case MPI_COMBINER_DARRAY:
        return i >= 3 && i < 3 + wf_type_value(t, 2);
    default:
        return true;
    }
}

static int combiner_of(const struct wf_type *t)
{
    return t->priv ? t->priv->combiner : MPI_COMBINER_NAMED;
}

static int refuse_large(const struct wf_type *t, const char *use)
{
    return wf_error(MPI_ERR_TYPE,
                    "datatype was made by a large-count constructor; use %s",
                    use);
}

int wf_mpi_type_get_envelope(struct wf_instance *wf, struct wf_type *datatype,
                             MPI_Count *num_integers, MPI_Count *num_addresses,
                             MPI_Count *num_datatypes, int *combiner)
{
    struct shape s = shape_of(datatype);

    if (s.ncount)
        return refuse_large(datatype, "MPI_Type_get_envelope_c");
    *num_integers = s.nint;
    *num_addresses = s.naddr;
    *num_datatypes = s.ntype;
    *combiner = combiner_of(datatype);
    return MPI_SUCCESS;
}

int wf_mpi_type_get_envelope_c(struct wf_instance *wf, struct wf_type *datatype,
                               MPI_Count *num_integers,
                               MPI_Count *num_addresses,
                               MPI_Count *num_large_counts,
                               MPI_Count *num_datatypes, int *combiner)
{
    struct shape s = shape_of(datatype);

    *num_integers = s.nint;
    *num_addresses = s.naddr;
    *num_large_counts = s.ncount;
    *num_datatypes = s.ntype;
    *combiner = combiner_of(datatype);
    return MPI_SUCCESS;
}

static int check_room(const char *what, MPI_Count room, int64_t need)
{
    if (room >= need)
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_ARG, "%s is %lld; the datatype has %lld", what,
                    (long long)room, (long long)need);
}

static void output_types(struct wf_type *t, MPI_Datatype out[])
{
    for (int64_t i = 0; i < t->priv->ntype; i++) {
        struct wf_type *older = t->priv->older[i];

        /* A derived type is returned as a new handle, which the user frees. */
        wf_type_get(older);
        if (older->priv)
            older->priv->handles++;
        out[i] = wf_type_handle(older);
    }
}

int wf_mpi_type_get_contents(struct wf_instance *wf, struct wf_type *datatype,
                             MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_datatypes, int array_of_integers[],
                             MPI_Aint array_of_addresses[],
                             MPI_Datatype array_of_datatypes[])
{
    if (shape_of(datatype).ncount)
        return refuse_large(datatype, "MPI_Type_get_contents_c");
    return wf_mpi_type_get_contents_c(
        wf, datatype, max_integers, max_addresses, 0, max_datatypes,
        array_of_integers, array_of_addresses, NULL, array_of_datatypes);
}

int wf_mpi_type_get_contents_c(struct wf_instance *wf, struct wf_type *datatype,
                               MPI_Count max_integers, MPI_Count max_addresses,
                               MPI_Count max_large_counts,
                               MPI_Count max_datatypes, int array_of_integers[],
                               MPI_Aint array_of_addresses[],
                               MPI_Count array_of_large_counts[],
                               MPI_Datatype array_of_datatypes[])
{
    const struct wf_type_private *p = datatype->priv;
    struct shape s = shape_of(datatype);
    int64_t ni = 0, na = 0, nc = 0;

    if (!p)
        return wf_error(MPI_ERR_TYPE,
                        "%s is predefined: it has no contents to decode",
                        wf_type_name(datatype));
    if (check_room("max_integers", max_integers, s.nint) ||
        check_room("max_addresses", max_addresses, s.naddr) ||
        check_room("max_large_counts", max_large_counts, s.ncount) ||
        check_room("max_datatypes", max_datatypes, s.ntype))
        return MPI_ERR_ARG;
    for (int64_t i = 0; i < p->nint + p->naddr; i++) {
        if (is_count(datatype, i))
            array_of_large_counts[nc++] = wf_type_value(datatype, i);
        else if (i < p->nint)
            array_of_integers[ni++] = (int)wf_type_value(datatype, i);
        else
            array_of_addresses[na++] = (MPI_Aint)wf_type_value(datatype, i);
    }
    output_types(datatype, array_of_datatypes);
    return MPI_SUCCESS;
}
