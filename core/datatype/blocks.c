/* This file makes the constructor record and computes the blocks that it stands
 * for.
 *
 * OPTIMIZE  size
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "datatype/blocks.h"

#include <stdlib.h>

#include "datatype/derive.h"
#include "datatype/derived.h"

/* Returns whether displacements are given in elements of the older type. */
static bool are_in_elements(int combiner)
{
    return combiner == MPI_COMBINER_INDEXED ||
           combiner == MPI_COMBINER_INDEXED_BLOCK;
}

/* Returns the bytes of n entries as wide as those of the array; the pieces of a
 * record are aligned to 8. */
static size_t bytes_of(struct wf_ints array, int64_t n)
{
    return array.base ? ((size_t)n * array.width + 7) & ~(size_t)7 : 0;
}

/* Copies an array of n entries to *at, and moves *at behind the copy. */
static struct wf_ints copy_array(struct wf_ints array, int64_t n, char **at)
{
    struct wf_ints copy = {array.base ? *at : NULL, array.width};

    if (array.base && n > 0)
        memcpy(*at, array.base, (size_t)n * array.width);
    *at += bytes_of(array, n);
    return copy;
}

/* Makes a type; the record follows it in the same piece of memory. */
static struct wf_type *create_type(int combiner, int64_t nvalue, int64_t ntype,
                                   const struct wf_type_arrays *a)
{
    struct wf_type_private *p;
    struct wf_type *t;
    size_t head = sizeof *t + sizeof *p + (size_t)(nvalue + 1) * 8 +
                  (size_t)(ntype + 1) * sizeof *p->older;
    char *at;

    t = malloc(head + bytes_of(a->lengths, a->count) +
               bytes_of(a->places, a->count));
    if (!t)
        return NULL;
    memset(t, 0, head);
    p = (struct wf_type_private *)(t + 1);
    wf_object_init(&t->object, WF_KIND_TYPE);
    t->priv = p;
    p->combiner = combiner;
    p->ntype = ntype;
    p->nvalue = nvalue;
    p->handles = 1;
    p->value = (int64_t *)(p + 1);
    p->older = (struct wf_type **)(p->value + nvalue + 1);
    at = (char *)t + head;
    p->lengths = copy_array(a->lengths, a->count, &at);
    p->places = copy_array(a->places, a->count, &at);
    return t;
}

struct wf_type *wf_type_create(int combiner, int64_t nint, int64_t naddr,
                               int64_t ntype)
{
    static const struct wf_type_arrays none;
    struct wf_type *t = create_type(combiner, nint + naddr, ntype, &none);

    if (t) {
        t->priv->nint = nint;
        t->priv->naddr = naddr;
    }
    return t;
}

struct wf_type *wf_type_create_irregular(int combiner, int64_t nint,
                                         int64_t ntype,
                                         const struct wf_type_arrays *a)
{
    bool in_elements = are_in_elements(combiner);
    struct wf_type *t = create_type(combiner, nint, ntype, a);

    if (!t)
        return NULL;
    t->priv->value[0] = a->count;
    t->priv->nint =
        nint + (a->lengths.base ? a->count : 0) + (in_elements ? a->count : 0);
    t->priv->naddr = in_elements ? 0 : a->count;
    return t;
}

struct wf_type *wf_type_create_alike(const struct wf_type *t)
{
    const struct wf_type_private *p = t->priv;
    struct wf_type_arrays a = {0, p->lengths, p->places};
    struct wf_type *copy;

    if (p->places.base)
        a.count = p->value[0];
    copy = create_type(p->combiner, p->nvalue, p->ntype, &a);
    if (!copy)
        return NULL;
    memcpy(copy->priv->value, p->value, (size_t)p->nvalue * sizeof *p->value);
    copy->priv->nint = p->nint;
    copy->priv->naddr = p->naddr;
    return copy;
}

int64_t wf_type_value(const struct wf_type *t, int64_t i)
{
    const struct wf_type_private *p = t->priv;
    int64_t lengths = p->lengths.base ? p->value[0] : 0;

    WF_ASSERT(i >= 0 && i < p->nint + p->naddr);
    if (i < p->nvalue)
        return p->value[i];
    i -= p->nvalue;
    return i < lengths ? wf_int_at(p->lengths, (size_t)i)
                       : wf_int_at(p->places, (size_t)(i - lengths));
}

void wf_type_set_older(struct wf_type *t, int64_t i, struct wf_type *older)
{
    wf_type_get(older);
    t->priv->older[i] = older;
}

bool wf_type_blocks(const struct wf_type *t, struct wf_type_blocks *all)
{
    const struct wf_type_private *p = t->priv;
    const int64_t *v = p->value;

    *all = (struct wf_type_blocks){.count = 1,
                                   .n = 1,
                                   .scale = 0,
                                   .lengths = p->lengths,
                                   .places = p->places,
                                   .types = p->ntype ? p->older : &p->body};
    switch (p->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        all->n = v[0];
        return true;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        all->count = v[0];
        all->n = v[1];
        all->scale = v[2];
        return p->combiner == MPI_COMBINER_HVECTOR || v[0] < 2 ||
               !__builtin_mul_overflow(v[2], p->older[0]->extent, &all->scale);
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        all->n = v[1];
        break;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        break;
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        all->types = &p->body;
        return true;
    default: /* dup, resized, Fortran 90 kinds: one element */
        return true;
    }
    all->count = v[0];
    all->scale = are_in_elements(p->combiner) ? p->older[0]->extent : 1;
    all->types_differ = p->combiner == MPI_COMBINER_STRUCT;
    return true;
}

int64_t wf_type_block_count(const struct wf_type *t)
{
    struct wf_type_blocks all;

    wf_type_blocks(t, &all);
    return all.count;
}

bool wf_type_block(const struct wf_type *t, int64_t i, struct wf_type_block *b)
{
    struct wf_type_blocks all;

    return wf_type_blocks(t, &all) && wf_type_blocks_at(&all, i, b);
}

int wf_type_make_hvector(int64_t count, int64_t blocklength, int64_t stride,
                         struct wf_type *older, struct wf_type **out)
{
    struct wf_type *t = wf_type_create(MPI_COMBINER_HVECTOR, 2, 1, 1);

    if (!t)
        return wf_type_report_no_memory();
    t->priv->value[0] = count;
    t->priv->value[1] = blocklength;
    t->priv->value[2] = stride;
    wf_type_set_older(t, 0, older);
    return wf_type_derive(t, out);
}

int wf_type_make_struct(int64_t count, const int64_t *disps,
                        struct wf_type *const *older, struct wf_type **out)
{
    static const int64_t ones[] = {1, 1};
    struct wf_type *t;

    WF_ASSERT(count <= 2);
    t = wf_type_create_irregular(
        MPI_COMBINER_STRUCT, 1, count,
        &(struct wf_type_arrays){
            count, {ones, sizeof *ones}, {disps, sizeof *disps}});
    if (!t)
        return wf_type_report_no_memory();
    for (int64_t i = 0; i < count; i++)
        wf_type_set_older(t, i, older[i]);
    return wf_type_derive(t, out);
}
