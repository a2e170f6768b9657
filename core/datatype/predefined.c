/* This file has the table of predefined datatypes, and resolves handles of
 * datatypes.
 *
 * DESIGN  Both tables are indexed by the low byte of the ABI value, so that a
 * handle resolves with one comparison and one multiplication. They change only
 * where a Fortran layer says what its compiler does (fortran.c): names and
 * attributes that a program gives to a predefined type belong to the instance
 * (named.c).
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/predefined.h"

#include <limits.h>

#include "datatype/layout.h"

enum { FIRST = WF_TYPES_BEGIN, COUNT = WF_TYPES_END - FIRST };

#define ABI(name)   ((uint32_t)(uintptr_t)MPI_##name)
#define INDEX(name) (ABI(name) - FIRST)

/* The layouts of the pair types; only those with holes have segments. */
#define PAIR_BYTES(C) (sizeof(((C *)0)->v) + sizeof(((C *)0)->i))
#define PAIR_END(C)   (offsetof(C, i) + sizeof(((C *)0)->i))
#define TYPE(name, C, scalar, group, external)
#define PAIR(name, C, scalar, value, index)                                    \
    static const int64_t disps_##name[] = {0, offsetof(C, i)};                 \
    static const int64_t starts_##name[] = {0, sizeof(((C *)0)->v),            \
                                            PAIR_BYTES(C)};                    \
    static const struct wf_type_layout layout_##name = {                       \
        .kind =                                                                \
            PAIR_END(C) == PAIR_BYTES(C) ? WF_LAYOUT_BLOCK : WF_LAYOUT_SEGS,   \
        .size = PAIR_BYTES(C),                                                 \
        .segs = PAIR_END(C) == PAIR_BYTES(C) ? 1 : 2,                          \
        .count = PAIR_END(C) == PAIR_BYTES(C) ? 1 : 2,                         \
        .disps = (int64_t *)disps_##name,                                      \
        .starts = (int64_t *)starts_##name};
#include "datatype/predefined.def"
#undef TYPE
#undef PAIR

static struct wf_type types[COUNT] = {
#define TYPE(name, C, scalar, group, external)                                 \
    [INDEX(name)] = {.object = {WF_KIND_TYPE, 1},                              \
                     .flags = WF_TYPE_PREDEFINED | WF_TYPE_COMMITTED |         \
                              WF_TYPE_CONTIG,                                  \
                     .predefined = ABI(name),                                  \
                     .size = sizeof(C),                                        \
                     .extent = sizeof(C),                                      \
                     .true_extent = sizeof(C)},
#define PAIR(name, C, scalar, value, index)                                    \
    [INDEX(name)] = {.object = {WF_KIND_TYPE, 1},                              \
                     .flags = WF_TYPE_PREDEFINED | WF_TYPE_COMMITTED |         \
                              (sizeof(C) == PAIR_BYTES(C)                      \
                                   ? WF_TYPE_CONTIG                            \
                                   : WF_TYPE_SMALL_SEGMENTS),                  \
                     .predefined = ABI(name),                                  \
                     .size = PAIR_BYTES(C),                                    \
                     .extent = sizeof(C),                                      \
                     .true_extent = PAIR_END(C),                               \
                     .layout = (struct wf_type_layout *)&layout_##name},
#include "datatype/predefined.def"
#undef TYPE
#undef PAIR
};

struct wf_predefined wf_predefined_facts[COUNT] = {
#define TYPE(name_, C, scalar_, group_, external_)                             \
    [INDEX(name_)] = {.name = "MPI_" #name_,                                   \
                      .scalar = (scalar_),                                     \
                      .group = (group_),                                       \
                      .external = (external_),                                 \
                      .align = _Alignof(C)},
#define PAIR(name_, C, scalar_, value_, index_)                                \
    [INDEX(name_)] = {.name = "MPI_" #name_,                                   \
                      .scalar = (scalar_),                                     \
                      .group = WF_GROUP_PAIR,                                  \
                      .align = _Alignof(C),                                    \
                      .value = INDEX(value_),                                  \
                      .index = INDEX(index_),                                  \
                      .index_offset = offsetof(C, i)},
#include "datatype/predefined.def"
#undef TYPE
#undef PAIR
};

enum {
    INTEGERS = WF_GROUP_C_INTEGER | WF_GROUP_FORTRAN_INTEGER | WF_GROUP_MULTI
};
#define INTEGER_SIZE(size, group)                                              \
    ((group) & INTEGERS && (size) <= 8 ? (size) : 0)

struct wf_type_sizes wf_type_sizes[WF_TYPES_END] = {
#define TYPE(name, C, scalar, group, external)                                 \
    [ABI(name)] = {sizeof(C), INTEGER_SIZE(sizeof(C), group)},
#define PAIR(name, C, scalar, value, index)                                    \
    [ABI(name)] = {sizeof(C) == PAIR_BYTES(C) ? sizeof(C) : 0, 0},
#include "datatype/predefined.def"
#undef TYPE
#undef PAIR
};

struct wf_type *wf_type_find_predefined(uintptr_t abi_value)
{
    uintptr_t i = abi_value - FIRST;

    if (i >= COUNT || !types[i].flags)
        return NULL;
    return &types[i];
}

struct wf_type *wf_type_of(MPI_Datatype handle)
{
    uintptr_t i = (uintptr_t)handle - FIRST;

    if (wf_likely(i < COUNT))
        return types[i].flags ? &types[i] : NULL;
    return wf_is_object(handle, WF_KIND_TYPE) ? (struct wf_type *)handle : NULL;
}

MPI_Datatype wf_type_handle(struct wf_type *t)
{
    if (!t)
        return MPI_DATATYPE_NULL;
    if (t->predefined && !t->priv) /* types of f90.c have a record, and are
                                      their own handle */
        return (MPI_Datatype)(uintptr_t)t->predefined;
    return (MPI_Datatype)t;
}

bool wf_type_is_removed(MPI_Datatype handle)
{
    uintptr_t i = (uintptr_t)handle - FIRST;

    return i < COUNT && wf_predefined_facts[i].name && !types[i].flags;
}

void wf_type_set_like(MPI_Datatype type, const struct wf_type *like,
                    uint8_t scalar)
{
    uintptr_t abi = (uintptr_t)type;
    struct wf_type *t = &types[abi - FIRST];
    struct wf_predefined *p = &wf_predefined_facts[abi - FIRST];
    const struct wf_predefined *l = wf_predefined(like);
    int64_t size = p->value ? 2 * like->size : like->size;

    t->size = t->extent = t->true_extent = size;
    t->flags = WF_TYPE_PREDEFINED | WF_TYPE_COMMITTED | WF_TYPE_CONTIG;
    t->layout = NULL; /* a type without holes needs no layout */
    wf_type_sizes[abi].contig = (uint8_t)size;
    wf_type_sizes[abi].integer = (uint8_t)INTEGER_SIZE(size, p->group);
    p->scalar = scalar;
    p->align = l->align;
    if (p->value)
        p->index_offset = (uint8_t)like->size;
    else if (p->group != WF_GROUP_FORTRAN_INTEGER &&
             p->group != WF_GROUP_LOGICAL)
        p->external = l->external; /* external32 resizes integers, but no
                                      other types */
}

void wf_type_remove(MPI_Datatype type)
{
    types[(uintptr_t)type - FIRST].flags = 0;
    wf_type_sizes[(uintptr_t)type] = (struct wf_type_sizes){0};
}
