/* This file makes the constructor record and computes the blocks that it stands
 * for.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WF_DATATYPE_BLOCKS_H
#define WF_DATATYPE_BLOCKS_H

#include "object/handle.h"

struct wf_type;

/* A block is n elements of a type, the first at disp. */
struct wf_type_block {
    int64_t disp, n;
    struct wf_type *type;
};

/* All blocks of a type by one formula, whatever its constructor: block i is
 * lengths[i] elements of types[i], the first at places[i] * scale. Without
 * lengths all have n elements, without places they lie at i * scale, and where
 * the types do not differ all are of types[0]. */
struct wf_type_blocks {
    int64_t count, n, scale;
    struct wf_ints lengths, places;
    struct wf_type *const *types;
    bool types_differ;
};

/* false: the step of regular blocks does not fit 64 bits. */
bool wf_type_blocks(const struct wf_type *, struct wf_type_blocks *);

/* false: the displacement does not fit 64 bits. */
static inline bool wf_type_blocks_at(const struct wf_type_blocks *all,
                                     int64_t i, struct wf_type_block *b)
{
    size_t at = (size_t)i;

    b->n = all->lengths.base ? wf_int_at(all->lengths, at) : all->n;
    b->type = all->types[all->types_differ ? at : 0];
    if (all->places.base)
        i = wf_int_at(all->places, at);
    return !__builtin_mul_overflow(i, all->scale, &b->disp);
}

/* The same for whoever looks at one block. */
int64_t wf_type_block_count(const struct wf_type *);
bool wf_type_block(const struct wf_type *, int64_t i, struct wf_type_block *);

/* The arrays of a constructor: count lengths and displacements of blocks; base
 * is NULL without the array. */
struct wf_type_arrays {
    int64_t count;
    struct wf_ints lengths, places;
};

/* Makes a type with the constructor record of this combiner: room for nint
 * integers, naddr addresses and ntype older types, and the arrays, which are
 * copied and not counted in nint and naddr. Set the older types with
 * wf_type_set_older. NULL: out of memory. */
struct wf_type *wf_type_create(int combiner, int64_t nint, int64_t naddr,
                               int64_t ntype);
struct wf_type *wf_type_create_irregular(int combiner, int64_t nint,
                                         int64_t ntype,
                                         const struct wf_type_arrays *);
void wf_type_set_older(struct wf_type *, int64_t i, struct wf_type *older);
/* A type with the same constructor record, and no older types yet. */
struct wf_type *wf_type_create_alike(const struct wf_type *);

/* The only reader of a record's values: there are nint + naddr, in the order of
 * MPI_Type_get_contents, however they are kept. */
int64_t wf_type_value(const struct wf_type *, int64_t i);

/* Constructors for use inside the library. */
int wf_type_make_hvector(int64_t count, int64_t blocklength, int64_t stride,
                         struct wf_type *older, struct wf_type **out);
/* A struct of one or two blocks of one element. */
int wf_type_make_struct(int64_t count, const int64_t *disps,
                        struct wf_type *const *older, struct wf_type **out);

#endif
