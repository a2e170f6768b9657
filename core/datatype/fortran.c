/* MPI_Abi_set_fortran_info and MPI_Abi_set_fortran_booleans set properties of
 * Fortran's types; their counterparts return what was set (MPI-5.0 s21.4.1).
 *
 * DESIGN  The library is made without a Fortran compiler and takes INTEGER,
 * LOGICAL and REAL to have 4 bytes and DOUBLE PRECISION 8. A layer whose
 * compiler was told otherwise says so here, and the predefined types change in
 * place. That is a property of the program, not of a rank: ranks that are
 * threads share it, and only the first call sets it.
 *
 * LOCK  `lock` for everything in this file. Types and kernels are read without
 * it: the program must not set them while another thread communicates with
 * Fortran's types.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/fortran.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "core_api.h"
#include "datatype/match.h"
#include "datatype/predefined.h"
#include "object/error.h"
#include "object/info.h"
#include "os/mutex.h"

enum { LOGICAL_SIZES = 5, LOGICAL_MAX = 16 }; /* 1, 2, 4, 8, 16 bytes */

static struct {
    struct wf_mutex lock;
    struct wf_info *info; /* NULL: nothing was set */
    struct {
        bool is_set;
        union {
            unsigned char bytes[LOGICAL_MAX];
            uint8_t u8;
            uint16_t u16;
            uint32_t u32;
            uint64_t u64;
#if WF_HAVE_I128
            wf_u128 u128;
#endif
        } true_value, false_value;
    } logicals[LOGICAL_SIZES];
} fortran;

/* ---- sizes ------------------------------------------------------------ */

/* A rule lists the types that a key is about, and the class of the types that
 * they become. */
static const struct rule {
    const char *key;
    MPI_Datatype plain, complex, pair;
    int typeclass;
} rules[] = {
    {"mpi_logical_size", MPI_LOGICAL, NULL, NULL, MPIX_TYPECLASS_LOGICAL},
    {"mpi_integer_size", MPI_INTEGER, NULL, MPI_2INTEGER,
     MPI_TYPECLASS_INTEGER},
    {"mpi_real_size", MPI_REAL, MPI_COMPLEX, MPI_2REAL, MPI_TYPECLASS_REAL},
    {"mpi_double_precision_size", MPI_DOUBLE_PRECISION, MPI_DOUBLE_COMPLEX,
     MPI_2DOUBLE_PRECISION, MPI_TYPECLASS_REAL},
};

static const MPI_Datatype optional[] = {
    MPI_LOGICAL1,  MPI_LOGICAL2,  MPI_LOGICAL4,      MPI_LOGICAL8,
    MPI_LOGICAL16, MPI_INTEGER1,  MPI_INTEGER2,      MPI_INTEGER4,
    MPI_INTEGER8,  MPI_INTEGER16, MPI_REAL2,         MPI_REAL4,
    MPI_REAL8,     MPI_REAL16,    MPI_COMPLEX4,      MPI_COMPLEX8,
    MPI_COMPLEX16, MPI_COMPLEX32, MPI_DOUBLE_COMPLEX};

enum {
    RULES = sizeof rules / sizeof *rules,
    OPTIONAL = sizeof optional / sizeof *optional
};

/* Returns the size that the info sets for a rule's types; 0: the key is not
 * there; -1: its value is no size of such a type. */
static int64_t requested_size(const struct wf_info *info, const struct rule *r)
{
    const char *text = wf_info_find(info, r->key);
    char *end;
    long n;

    if (!text)
        return 0;
    n = strtol(text, &end, 10);
    if (!*text || *end || n <= 0)
        return -1;
    return wf_type_find_sized(r->typeclass, n) == MPI_DATATYPE_NULL ? -1 : n;
}

static uint8_t pair_scalar_of(uint8_t scalar)
{
    switch (scalar) {
    case WF_SCALAR_I32:
        return WF_SCALAR_PAIR_INTEGERS;
    case WF_SCALAR_I64:
        return WF_SCALAR_PAIR_I64_I64;
    case WF_SCALAR_F32:
        return WF_SCALAR_PAIR_F32_F32;
    case WF_SCALAR_F64:
        return WF_SCALAR_PAIR_F64_F64;
    case WF_SCALAR_F128:
        return WF_SCALAR_PAIR_F128_F128;
    default:
        return WF_SCALAR_NONE; /* such a pair can be sent, but has no
                                  operation */
    }
}

static void resize_types(const struct rule *r, int64_t size)
{
    struct wf_type *like = wf_type_of(wf_type_find_sized(r->typeclass, size));
    uint8_t scalar = wf_predefined(like)->scalar;
    struct wf_type *twice;

    if (wf_type_of(r->plain)->size == size)
        return;
    wf_type_set_like(r->plain, like, scalar);
    if (r->pair)
        wf_type_set_like(r->pair, like, pair_scalar_of(scalar));
    if (!r->complex)
        return;
    twice = wf_type_of(wf_type_find_sized(MPI_TYPECLASS_COMPLEX, 2 * size));
    wf_type_set_like(r->complex, twice, wf_predefined(twice)->scalar);
}

/* ---- optional types --------------------------------------------------- */

/* Returns the value of the key of an optional type, such as
 * "mpi_integer16_supported" for MPI_INTEGER16, or NULL. */
static const char *support_of(const struct wf_info *info, MPI_Datatype type)
{
    char key[MPI_MAX_INFO_KEY];
    int n = snprintf(key, sizeof key, "%s_supported",
                     wf_predefined(wf_type_of(type))->name);

    for (int i = 0; i < n; i++)
        key[i] = (char)tolower((unsigned char)key[i]);
    return wf_info_find(info, key);
}

static bool is_false(const char *text)
{
    return text && !strcmp(text, "false");
}

static int check_info(const struct wf_info *info)
{
    for (int i = 0; i < RULES; i++)
        if (requested_size(info, &rules[i]) < 0)
            return wf_error(MPI_ERR_ABI,
                            "%s is \"%.40s\", but there is no type of that "
                            "class and size; nothing was set",
                            rules[i].key, wf_info_find(info, rules[i].key));
    for (int i = 0; i < OPTIONAL; i++) {
        const char *text = support_of(info, optional[i]);

        if (text && !is_false(text) && strcmp(text, "true") != 0)
            return wf_error(MPI_ERR_INFO_VALUE,
                            "whether there is %s is said to be \"%.40s\", "
                            "which is neither true nor false",
                            wf_predefined(wf_type_of(optional[i]))->name, text);
    }
    return MPI_SUCCESS;
}

static int set_info(const struct wf_info *info)
{
    bool absent[OPTIONAL];
    int rc;

    if (fortran.info)
        return wf_error(MPI_ERR_ABI, "Fortran's types were set before; "
                                     "MPI_Abi_get_fortran_info tells how");
    rc = check_info(info);
    if (rc)
        return rc;
    fortran.info = wf_info_copy(info);
    if (!fortran.info)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an info object");
    for (int i = 0; i < OPTIONAL; i++)
        absent[i] = is_false(support_of(info, optional[i]));
    for (int i = 0; i < RULES; i++)
        if (requested_size(info, &rules[i]) > 0)
            resize_types(&rules[i], requested_size(info, &rules[i]));
    for (int i = 0; i < OPTIONAL; i++)
        if (absent[i])
            wf_type_remove(optional[i]);
    return MPI_SUCCESS;
}

int wf_mpi_abi_set_fortran_info(struct wf_instance *wf, struct wf_info *info)
{
    int rc;

    wf_mutex_lock(&fortran.lock);
    rc = set_info(info);
    wf_mutex_unlock(&fortran.lock);
    return rc;
}

int wf_mpi_abi_get_fortran_info(struct wf_instance *wf, MPI_Info *info)
{
    struct wf_info *copy = NULL;
    bool known;

    wf_mutex_lock(&fortran.lock);
    known = fortran.info != NULL;
    if (known)
        copy = wf_info_copy(fortran.info);
    wf_mutex_unlock(&fortran.lock);
    if (known && !copy)
        return wf_error(MPI_ERR_NO_MEM, "no memory for an info object");
    *info = copy ? (MPI_Info)copy : MPI_INFO_NULL;
    return MPI_SUCCESS;
}

/* ---- true and false --------------------------------------------------- */

#define LOGICAL(S, T, INDEX, M)                                                \
    WF_KERNEL(and_##S, T,                                                      \
              a != fortran.logicals[INDEX].false_value.M &&                    \
                      b != fortran.logicals[INDEX].false_value.M               \
                  ? fortran.logicals[INDEX].true_value.M                       \
                  : fortran.logicals[INDEX].false_value.M)                     \
    WF_KERNEL(or_##S, T,                                                       \
              a != fortran.logicals[INDEX].false_value.M ||                    \
                      b != fortran.logicals[INDEX].false_value.M               \
                  ? fortran.logicals[INDEX].true_value.M                       \
                  : fortran.logicals[INDEX].false_value.M)                     \
    WF_KERNEL(xor_##S, T,                                                      \
              (a != fortran.logicals[INDEX].false_value.M) !=                  \
                      (b != fortran.logicals[INDEX].false_value.M)             \
                  ? fortran.logicals[INDEX].true_value.M                       \
                  : fortran.logicals[INDEX].false_value.M)

LOGICAL(1, uint8_t, 0, u8)
LOGICAL(2, uint16_t, 1, u16)
LOGICAL(4, uint32_t, 2, u32)
LOGICAL(8, uint64_t, 3, u64)
#if WF_HAVE_I128
LOGICAL(16, wf_u128, 4, u128)
#endif

/* Returns the index of a size of LOGICAL, 0 to 4, or -1. */
static int index_of_size(int64_t size)
{
    for (int i = 0; i < LOGICAL_SIZES; i++)
        if (size == INT64_C(1) << i)
            return i;
    return -1;
}

static wf_op_kernel *kernel_of(uint32_t op, int64_t size)
{
    static wf_op_kernel *const kernels[LOGICAL_SIZES][3] = {
        {and_1, or_1, xor_1},
        {and_2, or_2, xor_2},
        {and_4, or_4, xor_4},
        {and_8, or_8, xor_8},
#if WF_HAVE_I128
        {and_16, or_16, xor_16},
#endif
    };
    int i = index_of_size(size);

    return i >= 0 && fortran.logicals[i].is_set ? kernels[i][op - WF_OP_LAND]
                                                : NULL;
}

static int report_bad_size(int size)
{
    return wf_error(MPI_ERR_ARG,
                    "logical_size is %d but must be 1, 2, 4, 8 or 16", size);
}

int wf_mpi_abi_set_fortran_booleans(struct wf_instance *wf, int logical_size,
                                    void *logical_true, void *logical_false)
{
    int i = index_of_size(logical_size), rc = MPI_SUCCESS;

    if (i < 0)
        return report_bad_size(logical_size);
    if (!logical_true || !logical_false)
        return wf_error(MPI_ERR_ARG, "logical_true or logical_false is NULL");
    wf_mutex_lock(&fortran.lock);
    if (fortran.logicals[i].is_set) {
        rc = wf_error(MPI_ERR_ABI,
                      "true and false of %d bytes were set before; "
                      "MPI_Abi_get_fortran_booleans tells them",
                      logical_size);
    } else {
        memcpy(fortran.logicals[i].true_value.bytes, logical_true,
               (size_t)logical_size);
        memcpy(fortran.logicals[i].false_value.bytes, logical_false,
               (size_t)logical_size);
        fortran.logicals[i].is_set = true;
        wf_op_find_fortran = kernel_of;
    }
    wf_mutex_unlock(&fortran.lock);
    return rc;
}

int wf_mpi_abi_get_fortran_booleans(struct wf_instance *wf, int logical_size,
                                    void *logical_true, void *logical_false,
                                    int *is_set)
{
    int i = index_of_size(logical_size);

    if (i < 0)
        return report_bad_size(logical_size);
    wf_mutex_lock(&fortran.lock);
    *is_set = fortran.logicals[i].is_set;
    if (*is_set && logical_true)
        memcpy(logical_true, fortran.logicals[i].true_value.bytes,
               (size_t)logical_size);
    if (*is_set && logical_false)
        memcpy(logical_false, fortran.logicals[i].false_value.bytes,
               (size_t)logical_size);
    wf_mutex_unlock(&fortran.lock);
    return MPI_SUCCESS;
}
