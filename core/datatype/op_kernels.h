/* Reduction kernels are one loop for each predefined operation and machine
 * scalar.
 *
 * Every op_*.c file has one group of operations; wf_op_<group>() finds the
 * kernel, or NULL when the operation is not defined on the scalar. Loops are
 * written so that the compiler vectorises them; gcc at -O2 does so only when
 * told, since it does not know that loop counts are large.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_OP_KERNELS_H
#define WF_OP_KERNELS_H

#include "datatype/scalar.h"

typedef void wf_op_kernel(const void *restrict in, void *restrict inout,
                          size_t n);

/* Predefined operations are numbered by the low byte of their ABI values. */
enum wf_op_code {
    WF_OP_SUM = 0x21,
    WF_OP_MIN = 0x22,
    WF_OP_MAX = 0x23,
    WF_OP_PROD = 0x24,
    WF_OP_BAND = 0x28,
    WF_OP_BOR = 0x29,
    WF_OP_BXOR = 0x2a,
    WF_OP_LAND = 0x30,
    WF_OP_LOR = 0x31,
    WF_OP_LXOR = 0x32,
    WF_OP_MINLOC = 0x38,
    WF_OP_MAXLOC = 0x39,
    WF_OP_REPLACE = 0x3c,
    WF_OP_NO_OP = 0x3d
};

struct wf_op;
struct wf_type;

/* Returns the kernel of a predefined operation on a predefined type; NULL: it
 * is not defined there. Kernels of bitwise operations count bytes. (op.c) */
wf_op_kernel *wf_op_find_kernel(const struct wf_op *, const struct wf_type *);

/* sum, min, max, prod */
wf_op_kernel *wf_op_arithmetic(uint32_t op, uint8_t scalar);
wf_op_kernel *wf_op_bitwise(uint32_t op); /* n counts bytes */
wf_op_kernel *wf_op_logical(uint32_t op, uint8_t scalar);
wf_op_kernel *wf_op_complex(uint32_t op, uint8_t scalar);
wf_op_kernel *wf_op_location(uint32_t op, uint8_t scalar);

/* The same for vector units that not every processor of the architecture has
 * (op_wide.h); the caller must know that this processor has them. */
#if defined(__x86_64__) && defined(__GNUC__)
#define WF_HAVE_WIDE 1
wf_op_kernel *wf_op_avx2(uint32_t op, uint8_t scalar);
wf_op_kernel *wf_op_avx512(uint32_t op, uint8_t scalar);
#else
#define WF_HAVE_WIDE 0
#endif

#if defined(__GNUC__) && !defined(__clang__)
#define WF_VECTORISE                                                           \
    __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#else
#define WF_VECTORISE
#endif

/* Defines a kernel: b[i] = EXPR of a[i] and b[i]. may_alias: user memory may
 * have been written as another type of the same scalar (long and long long). */
#define WF_KERNEL(NAME, T, EXPR)                                               \
    WF_VECTORISE static void NAME(const void *restrict in,                     \
                                  void *restrict inout, size_t n)              \
    {                                                                          \
        typedef T elem __attribute__((may_alias));                             \
        const elem *restrict x = in;                                           \
        elem *restrict y = inout;                                              \
                                                                               \
        for (size_t i = 0; i < n; i++) {                                       \
            const T a = x[i], b = y[i];                                        \
            y[i] = (T)(EXPR);                                                  \
        }                                                                      \
    }

/* These are the operations on machine words of up to 64 bits: K(name, type,
 * expression). A promoted product of 8 or 16 bits is kept unsigned. */
#define WF_SUM_PROD(K, S, T)                                                   \
    K(sum_##S, T, a + b)                                                       \
    K(prod_##S, T, a *b)
#define WF_MIN_MAX(K, S, T)                                                    \
    K(min_##S, T, a < b ? a : b)                                               \
    K(max_##S, T, a > b ? a : b)
#define WF_FLOATING(K, S, T) WF_SUM_PROD(K, S, T) WF_MIN_MAX(K, S, T)
#define WF_WORD_KERNELS(K)                                                     \
    K(sum_U8, uint8_t, a + b)                                                  \
    K(prod_U8, uint8_t, (unsigned)a *b)                                        \
    K(sum_U16, uint16_t, a + b)                                                \
    K(prod_U16, uint16_t, (unsigned)a *b)                                      \
    WF_SUM_PROD(K, U32, uint32_t)                                              \
    WF_SUM_PROD(K, U64, uint64_t)                                              \
    WF_MIN_MAX(K, I8, int8_t)                                                  \
    WF_MIN_MAX(K, I16, int16_t)                                                \
    WF_MIN_MAX(K, I32, int32_t)                                                \
    WF_MIN_MAX(K, I64, int64_t)                                                \
    WF_MIN_MAX(K, U8, uint8_t)                                                 \
    WF_MIN_MAX(K, U16, uint16_t)                                               \
    WF_MIN_MAX(K, U32, uint32_t)                                               \
    WF_MIN_MAX(K, U64, uint64_t)                                               \
    WF_FLOATING(K, F32, float)                                                 \
    WF_FLOATING(K, F64, double)
#define WF_BITWISE_KERNELS(K)                                                  \
    K(band, uint8_t, a &b)                                                     \
    K(bor, uint8_t, a | b)                                                     \
    K(bxor, uint8_t, a ^ b)
/* A row has the kernels in the order of the operations: sum and prod of the
 * unsigned twin U, min and max of S itself. */
#define WF_OP_ROW(S, U)                                                        \
    [WF_SCALAR_##S] = {sum_##U, min_##S, max_##S, prod_##U}
#define WF_WORD_ROWS                                                           \
    WF_OP_ROW(I8, U8), WF_OP_ROW(I16, U16), WF_OP_ROW(I32, U32),               \
        WF_OP_ROW(I64, U64), WF_OP_ROW(U8, U8), WF_OP_ROW(U16, U16),           \
        WF_OP_ROW(U32, U32), WF_OP_ROW(U64, U64), WF_OP_ROW(F32, F32),         \
        WF_OP_ROW(F64, F64)

#endif
