/* MPI_Type_match_size and MPI_Type_get_value_index find a predefined type by
 * its properties.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/match.h"

#include "core_api.h"
#include "datatype/predefined.h"
#include "object/error.h"

/* A type that has a class and a size. */
struct sized {
    int typeclass, size;
    MPI_Datatype type;
};

static const struct sized sized[] = {
    {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},
    {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
    {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},
    {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
    {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16},
    {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
    {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
    {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
    {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
    {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
    {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},
    {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
    {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
    {MPIX_TYPECLASS_LOGICAL, 1, MPI_LOGICAL1},
    {MPIX_TYPECLASS_LOGICAL, 2, MPI_LOGICAL2},
    {MPIX_TYPECLASS_LOGICAL, 4, MPI_LOGICAL4},
    {MPIX_TYPECLASS_LOGICAL, 8, MPI_LOGICAL8},
    {MPIX_TYPECLASS_LOGICAL, 16, MPI_LOGICAL16},
};

MPI_Datatype wf_type_find_sized(int typeclass, int64_t size)
{
    for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
        if (sized[i].typeclass == typeclass && sized[i].size == size &&
            wf_type_of(sized[i].type))
            return sized[i].type;
    return MPI_DATATYPE_NULL;
}

int wf_mpi_type_match_size(struct wf_instance *wf, int typeclass, int size,
                           MPI_Datatype *datatype)
{
    MPI_Datatype found = wf_type_find_sized(typeclass, size);

    if (found != MPI_DATATYPE_NULL) {
        *datatype = found;
        return MPI_SUCCESS;
    }
    if (typeclass == MPI_TYPECLASS_INTEGER || typeclass == MPI_TYPECLASS_REAL ||
        typeclass == MPI_TYPECLASS_COMPLEX ||
        typeclass == MPIX_TYPECLASS_LOGICAL)
        return wf_error(MPI_ERR_ARG,
                        "no predefined type of this class has size %d", size);
    return wf_error(MPI_ERR_ARG,
                    "typeclass %d is not MPI_TYPECLASS_INTEGER, _REAL or "
                    "_COMPLEX",
                    typeclass);
}

/* *pair_type is MPI_DATATYPE_NULL when there is no such pair type (MPI-5.0
 * s5.1.13). */
int wf_mpi_type_get_value_index(struct wf_instance *wf,
                                struct wf_type *value_type,
                                struct wf_type *index_type,
                                MPI_Datatype *pair_type)
{
    *pair_type = MPI_DATATYPE_NULL;
    if (!value_type->predefined || !index_type->predefined)
        return MPI_SUCCESS;
    for (uintptr_t v = (uintptr_t)MPI_FLOAT_INT; v <= (uintptr_t)MPI_2INTEGER;
         v++) {
        struct wf_type *t = wf_type_find_predefined(v);
        const struct wf_predefined *p = t ? wf_predefined(t) : NULL;

        if (p && p->value && 0x200u + p->value == value_type->predefined &&
            0x200u + p->index == index_type->predefined) {
            *pair_type = wf_type_handle(t);
            return MPI_SUCCESS;
        }
    }
    return MPI_SUCCESS;
}
