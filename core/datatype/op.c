/* This file has the table of predefined operations, makes operations of the
 * user, and applies both.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/op.h"

#include <limits.h>
#include <stdlib.h>

#include "config/config.h"
#include "core_api.h"
#include "datatype/derived.h"
#include "datatype/move.h"
#include "datatype/op_kernels.h"
#include "datatype/predefined.h"
#include "datatype/type.h"
#include "object/error.h"
#include "process/instance.h"
#include "process/rank.h"

enum { FIRST = WF_OP_SUM, LAST = WF_OP_NO_OP, COUNT = LAST - FIRST + 1 };

enum {
    INTEGERS = WF_GROUP_C_INTEGER | WF_GROUP_FORTRAN_INTEGER | WF_GROUP_MULTI,
    NUMBERS = INTEGERS | WF_GROUP_FLOATING
};

/* Each operation has a name, whether it commutes, and the groups of types on
 * which it is defined (MPI-5.0 s6.9.2, s6.9.4). REPLACE and NO_OP are only for
 * one-sided communication (s12.3.4). */
#define OPERATIONS(X)                                                          \
    X(SUM, true, NUMBERS | WF_GROUP_COMPLEX)                                   \
    X(MIN, true, NUMBERS)                                                      \
    X(MAX, true, NUMBERS)                                                      \
    X(PROD, true, NUMBERS | WF_GROUP_COMPLEX)                                  \
    X(BAND, true, INTEGERS | WF_GROUP_BYTE)                                    \
    X(BOR, true, INTEGERS | WF_GROUP_BYTE)                                     \
    X(BXOR, true, INTEGERS | WF_GROUP_BYTE)                                    \
    X(LAND, true, WF_GROUP_C_INTEGER | WF_GROUP_MULTI | WF_GROUP_LOGICAL)      \
    X(LOR, true, WF_GROUP_C_INTEGER | WF_GROUP_MULTI | WF_GROUP_LOGICAL)       \
    X(LXOR, true, WF_GROUP_C_INTEGER | WF_GROUP_MULTI | WF_GROUP_LOGICAL)      \
    X(MINLOC, true, WF_GROUP_PAIR)                                             \
    X(MAXLOC, true, WF_GROUP_PAIR)                                             \
    X(REPLACE, false, WF_GROUP_NONE)                                           \
    X(NO_OP, false, WF_GROUP_NONE)

static const struct wf_op ops[COUNT] = {
#define OP(NAME, COMMUTES, GROUPS)                                             \
    [WF_OP_##NAME - FIRST] = {.object = {WF_KIND_OP, 1},                       \
                              .predefined = WF_OP_##NAME,                      \
                              .commutes = (COMMUTES)},
    OPERATIONS(OP)
#undef OP
};

static const struct {
    const char *name;
    uint8_t groups;
} facts[COUNT] = {
#define OP(NAME, COMMUTES, GROUPS)                                             \
    [WF_OP_##NAME - FIRST] = {"MPI_" #NAME, (uint8_t)(GROUPS)},
    OPERATIONS(OP)
#undef OP
};

struct wf_op *wf_op_of(MPI_Op handle)
{
    uintptr_t i = (uintptr_t)handle - FIRST;

    if (i < COUNT)
        return ops[i].predefined ? (struct wf_op *)&ops[i] : NULL;
    return wf_is_object(handle, WF_KIND_OP) ? (struct wf_op *)handle : NULL;
}

MPI_Op wf_op_handle(struct wf_op *op)
{
    if (!op)
        return MPI_OP_NULL;
    return op->predefined ? (MPI_Op)(uintptr_t)op->predefined : (MPI_Op)op;
}

void wf_op_get(struct wf_op *op)
{
    if (!op->predefined)
        wf_object_get(&op->object);
}

void wf_op_put(struct wf_op *op)
{
    if (op->predefined || !wf_object_put(&op->object))
        return;
    op->object.kind = WF_KIND_DEAD;
    free(op);
}

/* ---- application ------------------------------------------------------ */

wf_op_kernel *(*wf_op_find_fortran)(uint32_t op, int64_t size);

/* Returns the kernel of an operation on Fortran's LOGICALs, where it differs
 * from that of C, or NULL. */
static wf_op_kernel *find_fortran_kernel(uint32_t code, const struct wf_type *t,
                                         const struct wf_predefined *p)
{
    if (!wf_op_find_fortran || p->group != WF_GROUP_LOGICAL ||
        t->predefined == (uintptr_t)MPI_C_BOOL ||
        t->predefined == (uintptr_t)MPI_CXX_BOOL)
        return NULL;
    return wf_op_find_fortran(code, t->size);
}

/* Returns the kernel for the widest vectors that this processor has, or NULL.
 * The first generation with AVX-512, which lacks VBMI2, lowers its clock for
 * it. */
static wf_op_kernel *find_wide_kernel(uint32_t code, uint8_t scalar)
{
#if WF_HAVE_WIDE
    if (__builtin_cpu_supports("avx512vbmi2") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return wf_op_avx512(code, scalar);
    if (__builtin_cpu_supports("avx2"))
        return wf_op_avx2(code, scalar);
#endif
    return NULL;
}

static bool is_bitwise(uint32_t code)
{
    return code >= WF_OP_BAND && code <= WF_OP_BXOR;
}

wf_op_kernel *wf_op_find_kernel(const struct wf_op *op, const struct wf_type *t)
{
    const struct wf_predefined *p = wf_predefined(t);
    uint32_t code = op->predefined;
    wf_op_kernel *kernel;

    if (!p || !(facts[code - FIRST].groups & p->group))
        return NULL;
    if (p->group == WF_GROUP_COMPLEX)
        return wf_op_complex(code, p->scalar);
    kernel = find_wide_kernel(code, p->scalar);
    if (kernel)
        return kernel;
    if (code <= WF_OP_PROD)
        return wf_op_arithmetic(code, p->scalar);
    if (code <= WF_OP_BXOR)
        return wf_op_bitwise(code);
    if (code <= WF_OP_LXOR) {
        kernel = find_fortran_kernel(code, t, p);
        return kernel ? kernel : wf_op_logical(code, p->scalar);
    }
    return wf_op_location(code, p->scalar);
}

static int report_undefined(const struct wf_op *op, const struct wf_type *t)
{
    if (op->predefined >= WF_OP_REPLACE)
        return wf_error(MPI_ERR_OP,
                        "%s is only for MPI_Accumulate and its relatives",
                        facts[op->predefined - FIRST].name);
    return wf_error(MPI_ERR_OP,
                    "%s is not defined on %s; create an operation with "
                    "MPI_Op_create, or use another type",
                    facts[op->predefined - FIRST].name, wf_type_name(t));
}

bool wf_op_is_defined(const struct wf_op *op, const struct wf_type *t)
{
    return wf_op_find_kernel(op, t) != NULL;
}

bool wf_op_is_withheld(const struct wf_instance *wf, const struct wf_type *t)
{
    return t->predefined == (uintptr_t)MPI_CHAR && wf &&
           wf->rank->options->strict;
}

static WF_COLD int check_characters(const struct wf_op *op,
                                    const struct wf_type *t,
                                    const struct wf_instance *wf)
{
    if (!wf_op_find_kernel(op, t))
        return report_undefined(op, t);
    if (!wf_op_is_withheld(wf, t))
        return MPI_SUCCESS;
    return wf_error(MPI_ERR_OP,
                    "%s is not defined on MPI_CHAR, which is for printable "
                    "characters (MPI-5.0 s6.9.2), and core.strict is yes; "
                    "use MPI_SIGNED_CHAR or MPI_UNSIGNED_CHAR",
                    facts[op->predefined - FIRST].name);
}

int wf_op_check(const struct wf_op *op, const struct wf_type *t,
                const struct wf_instance *wf)
{
    if (!op->predefined)
        return MPI_SUCCESS;
    if (wf_unlikely(t->predefined == (uintptr_t)MPI_CHAR))
        return check_characters(op, t, wf);
    return wf_op_find_kernel(op, t) ? MPI_SUCCESS : report_undefined(op, t);
}

static void call_user(struct wf_op *op, const void *in, void *inout,
                      uint64_t count, MPI_Datatype *handle)
{
    if (op->user.large) {
        MPI_Count n = (MPI_Count)count;

        ((MPI_User_function_c *)op->user.fn)((void *)in, inout, &n, handle);
    } else {
        int n = (int)count;

        ((MPI_User_function *)op->user.fn)((void *)in, inout, &n, handle);
    }
}

/* Calls a function of the user. One of the int form gets at most INT_MAX
 * elements at a time. */
static int apply_user(struct wf_instance *wf, struct wf_op *op, const void *in,
                      void *inout, uint64_t count, struct wf_type *t)
{
    MPI_Datatype handle = wf_type_handle(t);
    uintptr_t from = (uintptr_t)in, to = (uintptr_t)inout;
    uint64_t most = op->user.large ? UINT64_MAX : INT_MAX;

    if (wf)
        wf_cs_leave(&wf->api);
    while (count > 0) {
        uint64_t n = count < most ? count : most;

        call_user(op, (const void *)from, (void *)to, n, &handle);
        from += n * (uintptr_t)t->extent;
        to += n * (uintptr_t)t->extent;
        count -= n;
    }
    if (wf)
        wf_cs_enter(&wf->api);
    return MPI_SUCCESS;
}

int wf_op_apply(struct wf_instance *wf, struct wf_op *op, const void *in,
                void *inout, uint64_t count, struct wf_type *t)
{
    wf_op_kernel *kernel;

    if (!op->predefined)
        return apply_user(wf, op, in, inout, count, t);
    if (op->predefined == WF_OP_NO_OP)
        return MPI_SUCCESS;
    if (op->predefined == WF_OP_REPLACE)
        return wf_type_copy(t, in, count, t, inout, count);
    kernel = wf_op_find_kernel(op, t);
    if (!kernel)
        return report_undefined(op, t);
    if (is_bitwise(op->predefined))
        count *= (uint64_t)t->size;
    kernel(in, inout, (size_t)count);
    return MPI_SUCCESS;
}

/* ---- MPI functions ---------------------------------------------------- */

int wf_mpi_op_create(struct wf_instance *wf, struct wf_polyfn user_fn,
                     int commute, MPI_Op *op)
{
    struct wf_op *o = calloc(1, sizeof *o);

    if (!o)
        return wf_error(MPI_ERR_NO_MEM, "no memory for the new operation");
    wf_object_init(&o->object, WF_KIND_OP);
    o->commutes = commute != 0;
    o->user = user_fn;
    *op = (MPI_Op)o;
    return MPI_SUCCESS;
}

int wf_mpi_op_free(struct wf_instance *wf, MPI_Op *op)
{
    struct wf_op *o = wf_op_of(*op);

    if (!o)
        return wf_error(MPI_ERR_OP, "*op is not an operation");
    if (o->predefined)
        return wf_error(MPI_ERR_OP, "%s is predefined and cannot be freed",
                        facts[o->predefined - FIRST].name);
    wf_op_put(o);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int wf_mpi_op_commutative(struct wf_instance *wf, struct wf_op *op,
                          int *commute)
{
    *commute = op->commutes;
    return MPI_SUCCESS;
}

int wf_mpi_reduce_local(struct wf_instance *wf, const void *inbuf,
                        void *inoutbuf, MPI_Count count,
                        struct wf_type *datatype, struct wf_op *op)
{
    int rc = wf_op_check(op, datatype, wf);

    if (rc || count == 0)
        return rc;
    if (inbuf && inbuf == inoutbuf && datatype->size)
        return wf_error(MPI_ERR_BUFFER,
                        "inbuf and inoutbuf are the same memory (%p)", inbuf);
    return wf_op_apply(wf, op, inbuf, inoutbuf, (uint64_t)count, datatype);
}
