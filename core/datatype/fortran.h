/* What a Fortran compiler makes of the types without a size of their own
 * (MPI-5.0 s21.4.1): told by a Fortran layer above this library, once.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_FORTRAN_H
#define WF_FORTRAN_H

#include "datatype/op_kernels.h"
#include "datatype/predefined.h"

/* A predefined type takes the size and the scalar of another one. A pair is two
 * of them in a row. (predefined.c) */
void wf_type_become(MPI_Datatype, const struct wf_type *like, uint8_t scalar);
/* There is no such type any more. */
void wf_type_remove(MPI_Datatype);

/* The predefined type of this class and size, or MPI_DATATYPE_NULL (match.c). */
MPI_Datatype wf_type_sized(int typeclass, int64_t size);

/* Logical operations on Fortran's LOGICALs of this size, once its values of
 * true and false are known; NULL: those of C do. (op.c) */
extern wf_op_kernel *(*wf_op_fortran)(uint32_t op, int64_t size) WF_HIDDEN;

#endif
