/* MPI_Type_create_f90_real, _complex and _integer make Fortran's parametrised
 * types (MPI-5.0 s19.1.5).
 *
 * Such a type is predefined and has no name: it is committed, may be used with
 * the predefined operations, cannot be freed, and gives its parameters when it
 * is decoded. Asking again for the same parameters gives the same handle.
 *
 * SELECTED_REAL_KIND is assumed to choose the smallest of the IEEE types of 4,
 * 8 and 16 bytes, and before the last one the extended type of processors that
 * compute with 64 bits of precision.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <float.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/derive.h"
#include "datatype/named.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "process/rank.h"

/* A real type, and the decimal digits and exponents that it can hold. */
struct kind {
    int precision, range; /* decimal */
    MPI_Datatype real, complex;
};

static const struct kind reals[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
#if LDBL_MANT_DIG == 64
    {18, 4931, MPI_LONG_DOUBLE, MPI_C_LONG_DOUBLE_COMPLEX},
#endif
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};

static const struct {
    int range;
    MPI_Datatype type;
} integers[] = {
    {2, MPI_INTEGER1},  {4, MPI_INTEGER2},   {9, MPI_INTEGER4},
    {18, MPI_INTEGER8}, {38, MPI_INTEGER16},
};

enum { PARAMETERS_MAX = 2 };

static struct wf_type_f90 *find_f90_type(struct wf_instance *wf, int combiner,
                                         const int64_t value[PARAMETERS_MAX])
{
    struct wf_type_f90 *f = wf->rank->types ? wf->rank->types->f90 : NULL;

    while (f && (f->priv.combiner != combiner || f->value[0] != value[0] ||
                 f->value[1] != value[1]))
        f = f->next;
    return f;
}

static struct wf_type_f90 *make_f90_type(struct wf_instance *wf, int combiner,
                                         const int64_t value[PARAMETERS_MAX],
                                         const struct wf_type *like)
{
    struct wf_type_records *all = wf_type_records(wf);
    struct wf_type_f90 *f = all ? calloc(1, sizeof *f) : NULL;

    if (!f)
        return NULL;
    f->type = *like;
    f->type.priv = &f->priv;
    f->priv.combiner = combiner;
    f->priv.handles = 1;
    f->priv.align = wf_type_align(like);
    f->priv.elements = 1;
    f->priv.external = wf_type_external(like);
    f->priv.nint = combiner == MPI_COMBINER_F90_INTEGER ? 1 : 2;
    f->priv.nvalue = f->priv.nint;
    f->priv.value = memcpy(f->value, value, sizeof f->value);
    f->next = all->f90;
    all->f90 = f;
    return f;
}

/* Returns the type with these parameters; makes it at the first request. */
static int get_f90_type(struct wf_instance *wf, int combiner,
                        const int64_t value[PARAMETERS_MAX], MPI_Datatype like,
                        MPI_Datatype *newtype)
{
    struct wf_type_f90 *f = find_f90_type(wf, combiner, value);

    if (!f)
        f = make_f90_type(wf, combiner, value, wf_type_of(like));
    if (!f)
        return wf_error(MPI_ERR_NO_MEM, "no memory for a datatype");
    *newtype = wf_type_handle(&f->type);
    return MPI_SUCCESS;
}

static int get_f90_real(struct wf_instance *wf, int combiner, int p, int r,
                        MPI_Datatype *newtype)
{
    const int64_t value[PARAMETERS_MAX] = {p, r};

    if (p == MPI_UNDEFINED && r == MPI_UNDEFINED)
        return wf_error(MPI_ERR_ARG, "p and r are both MPI_UNDEFINED");
    if ((p < 0 && p != MPI_UNDEFINED) || (r < 0 && r != MPI_UNDEFINED))
        return wf_error(MPI_ERR_ARG,
                        "p is %d and r is %d, but they must be 0 or more", p,
                        r);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        const struct kind *k = &reals[i];
        if ((p == MPI_UNDEFINED || p <= k->precision) &&
            (r == MPI_UNDEFINED || r <= k->range) && wf_type_of(k->real))
            return get_f90_type(wf, combiner, value,
                                combiner == MPI_COMBINER_F90_REAL ? k->real
                                                                  : k->complex,
                                newtype);
    }
    return wf_error(MPI_ERR_ARG,
                    "no type has %d decimal digits and the exponent range %d",
                    p, r);
}

int wf_mpi_type_create_f90_real(struct wf_instance *wf, int p, int r,
                                MPI_Datatype *newtype)
{
    return get_f90_real(wf, MPI_COMBINER_F90_REAL, p, r, newtype);
}

int wf_mpi_type_create_f90_complex(struct wf_instance *wf, int p, int r,
                                   MPI_Datatype *newtype)
{
    return get_f90_real(wf, MPI_COMBINER_F90_COMPLEX, p, r, newtype);
}

int wf_mpi_type_create_f90_integer(struct wf_instance *wf, int r,
                                   MPI_Datatype *newtype)
{
    const int64_t value[PARAMETERS_MAX] = {r, 0};

    if (r < 0)
        return wf_error(MPI_ERR_ARG, "r is %d but must be 0 or more", r);
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (r <= integers[i].range && wf_type_of(integers[i].type))
            return get_f90_type(wf, MPI_COMBINER_F90_INTEGER, value,
                                integers[i].type, newtype);
    return wf_error(MPI_ERR_ARG, "no integer type has %d decimal digits", r);
}
