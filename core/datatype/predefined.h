/* Predefined datatypes have facts that are not part of struct wf_type.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_PREDEFINED_H
#define WF_PREDEFINED_H

#include "datatype/scalar.h"
#include "datatype/type.h"

/* C structures of the pair types, MPI-5.0 s6.9.4. */
typedef struct {
    float v;
    int i;
} wf_float_int;
typedef struct {
    double v;
    int i;
} wf_double_int;
typedef struct {
    long v;
    int i;
} wf_long_int;
typedef struct {
    int v, i;
} wf_2int;
typedef struct {
    short v;
    int i;
} wf_short_int;
typedef struct {
    long double v;
    int i;
} wf_long_double_int;
typedef struct {
    float v, i;
} wf_2real;
typedef struct {
    double v, i;
} wf_2double;
typedef struct {
    int32_t v, i;
} wf_2integer;
typedef struct {
    int64_t v, i;
} wf_2i64;
typedef struct {
    wf_f16 v, i;
} wf_2f16;
typedef struct {
    wf_f128 v, i;
} wf_2f128;

struct wf_predefined {
    const char *name; /* "MPI_INT" */
    uint8_t scalar;   /* enum wf_scalar */
    uint8_t group;    /* enum wf_op_group */
    uint8_t external; /* bytes in external32 */
    uint8_t align;
    /* pair types: low bytes of the ABI values of both parts, and the offset of
     * the second part; else 0 */
    uint8_t value, index, index_offset;
};

/* The ABI values of predefined types. */
enum { WF_TYPES_BEGIN = 0x200, WF_TYPES_END = 0x2f0 };

extern struct wf_predefined
    wf_predefined_facts[WF_TYPES_END - WF_TYPES_BEGIN] WF_HIDDEN;

/* Returns the facts about a predefined type; NULL for a derived one. */
static inline const struct wf_predefined *wf_predefined(const struct wf_type *t)
{
    return t->predefined ? &wf_predefined_facts[t->predefined - WF_TYPES_BEGIN]
                         : NULL;
}

/* Bytes of one element of a predefined type, indexed by its ABI value; else
 * 0. */
struct wf_type_sizes {
    uint8_t contig;  /* of a type without holes */
    uint8_t integer; /* of an integer of 1 to 8 bytes */
};
extern struct wf_type_sizes wf_type_sizes[WF_TYPES_END] WF_HIDDEN;

/* Returns the bytes of one element of a contiguous predefined type; 0 for any
 * other handle. */
static inline unsigned wf_type_contig_size(MPI_Datatype h)
{
    uintptr_t i = (uintptr_t)h;

    return wf_likely(i < WF_TYPES_END) ? wf_type_sizes[i].contig : 0;
}

/* The same of an integer, whose operations a processor has. */
static inline unsigned wf_type_integer_size(MPI_Datatype h)
{
    uintptr_t i = (uintptr_t)h;

    return wf_likely(i < WF_TYPES_END) ? wf_type_sizes[i].integer : 0;
}

/* Returns the type with this ABI value (MPI_INT is 0x209), or NULL. */
struct wf_type *wf_type_find_predefined(uintptr_t abi_value);

/* Returns whether the type is one that the Fortran compiler does not have, as a
 * Fortran layer has said. */
bool wf_type_is_removed(MPI_Datatype);

/* Gives a predefined type the size and the scalar of another one. A pair type
 * becomes two of them in a row. (predefined.c) */
void wf_type_set_like(MPI_Datatype, const struct wf_type *like, uint8_t scalar);

/* Removes a predefined type: its handle is invalid from now on.
 * (predefined.c) */
void wf_type_remove(MPI_Datatype);

struct wf_type *wf_type_of(MPI_Datatype handle);

MPI_Datatype wf_type_handle(struct wf_type *);

#endif
