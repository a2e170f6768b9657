/* A Fortran layer above this library tells it, once, which sizes its compiler
 * gives to the types that have none of their own (MPI-5.0 s21.4.1).
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_FORTRAN_H
#define WF_FORTRAN_H

#include "datatype/op_kernels.h"
#include "datatype/predefined.h"

/* Finds the kernel of a logical operation on Fortran's LOGICALs of this size,
 * if its values of true and false are set. NULL, as pointer or result: the
 * kernels of C apply. (op.c) */
extern wf_op_kernel *(*wf_op_find_fortran)(uint32_t op, int64_t size)WF_HIDDEN;

#endif
