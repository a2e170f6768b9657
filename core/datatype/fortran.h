/* A Fortran layer above this library tells it, once, which sizes its compiler
 * gives to the types that have none of their own (MPI-5.0 s21.4.1).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_FORTRAN_H
#define WF_FORTRAN_H

#include "datatype/op_kernels.h"
#include "datatype/predefined.h"

/* Gives a predefined type the size and the scalar of another one. A pair type
 * becomes two of them in a row. (predefined.c) */
void wf_type_set_like(MPI_Datatype, const struct wf_type *like, uint8_t scalar);
/* Removes a predefined type: its handle is invalid from now on.
 * (predefined.c) */
void wf_type_remove(MPI_Datatype);

/* Returns the predefined type of this class and size, or MPI_DATATYPE_NULL
 * (match.c). */
MPI_Datatype wf_type_find_sized(int typeclass, int64_t size);

/* Finds the kernel of a logical operation on Fortran's LOGICALs of this size,
 * if its values of true and false are set. NULL, as pointer or result: the
 * kernels of C apply. (op.c) */
extern wf_op_kernel *(*wf_op_find_fortran)(uint32_t op, int64_t size)WF_HIDDEN;

#endif
