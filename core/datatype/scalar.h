/* A scalar is the machine type behind a predefined datatype.
 *
 * Many predefined types share one scalar (MPI_INT, MPI_INTEGER and MPI_INT32_T
 * are one 32-bit signed integer); reduction kernels exist once per scalar.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_SCALAR_H
#define WF_SCALAR_H

#include <float.h>

#include "base.h"

enum wf_scalar {
    WF_SCALAR_NONE,
    WF_SCALAR_I8,
    WF_SCALAR_I16,
    WF_SCALAR_I32,
    WF_SCALAR_I64,
    WF_SCALAR_I128,
    WF_SCALAR_U8,
    WF_SCALAR_U16,
    WF_SCALAR_U32,
    WF_SCALAR_U64,
    WF_SCALAR_U128,
    WF_SCALAR_F16,
    WF_SCALAR_F32,
    WF_SCALAR_F64,
    WF_SCALAR_FLD, /* long double */
    WF_SCALAR_F128,
    WF_SCALAR_C16, /* complex numbers: two floats of this width each */
    WF_SCALAR_C32,
    WF_SCALAR_C64,
    WF_SCALAR_CLD,
    WF_SCALAR_C128,
    WF_SCALAR_PAIR_F32_INT,
    WF_SCALAR_PAIR_F64_INT,
    WF_SCALAR_PAIR_LONG_INT,
    WF_SCALAR_PAIR_INT_INT,
    WF_SCALAR_PAIR_SHORT_INT,
    WF_SCALAR_PAIR_FLD_INT,
    WF_SCALAR_PAIR_F32_F32,
    WF_SCALAR_PAIR_F64_F64,
    WF_SCALAR_PAIR_INTEGERS,
    WF_SCALAR_PAIR_I64_I64, /* Fortran's pairs where its types are wide */
    WF_SCALAR_PAIR_F128_F128,
    WF_SCALAR_COUNT
};

/* Operations are defined on groups of types, MPI-5.0 s6.9.2. */
enum wf_op_group {
    WF_GROUP_NONE = 0, /* no operation is defined: characters, packed data */
    WF_GROUP_C_INTEGER = 1u << 0,
    WF_GROUP_FORTRAN_INTEGER = 1u << 1,
    WF_GROUP_FLOATING = 1u << 2,
    WF_GROUP_LOGICAL = 1u << 3,
    WF_GROUP_COMPLEX = 1u << 4,
    WF_GROUP_BYTE = 1u << 5,
    WF_GROUP_MULTI = 1u << 6, /* Aint, Offset, Count */
    WF_GROUP_PAIR = 1u << 7
};

/* Extended scalars exist where the compiler has them. Otherwise the type keeps
 * its size (a byte array stands for it) and has no operations. */
#if defined(__FLT16_MAX__) && (!defined(__clang__) || __clang_major__ >= 15)
#define WF_HAVE_F16 1
typedef _Float16 wf_f16;
#else
#define WF_HAVE_F16 0
typedef uint16_t wf_f16;
#endif

#if defined(__SIZEOF_FLOAT128__)
#define WF_HAVE_F128 1
typedef __float128 wf_f128;
#elif LDBL_MANT_DIG == 113
#define WF_HAVE_F128 1
typedef long double wf_f128;
#else
#define WF_HAVE_F128 0
typedef struct {
    _Alignas(16) unsigned char bytes[16];
} wf_f128;
#endif

#if defined(__SIZEOF_INT128__)
#define WF_HAVE_I128 1
typedef __int128 wf_i128;
typedef unsigned __int128 wf_u128;
#else
#define WF_HAVE_I128 0
typedef struct {
    _Alignas(16) unsigned char bytes[16];
} wf_i128, wf_u128;
#endif

/* The scalar of an integer type of C. */
#define WF_SIGNED(T)                                                           \
    (sizeof(T) == 1   ? WF_SCALAR_I8                                           \
     : sizeof(T) == 2 ? WF_SCALAR_I16                                          \
     : sizeof(T) == 4 ? WF_SCALAR_I32                                          \
                      : WF_SCALAR_I64)
#define WF_UNSIGNED(T)                                                         \
    (sizeof(T) == 1   ? WF_SCALAR_U8                                           \
     : sizeof(T) == 2 ? WF_SCALAR_U16                                          \
     : sizeof(T) == 4 ? WF_SCALAR_U32                                          \
                      : WF_SCALAR_U64)

#endif
