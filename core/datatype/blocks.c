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

struct wf_type *wf_type_create(int combiner, int64_t nint, int64_t naddr,
                               int64_t ntype)
{
    struct wf_type_private *p;
    struct wf_type *t;
    int64_t nvalue;

    if (__builtin_add_overflow(nint, naddr, &nvalue) || nvalue < 0)
        return NULL;
    t = calloc(1, sizeof *t + sizeof *p);
    if (!t)
        return NULL;
    p = (struct wf_type_private *)(t + 1);
    wf_object_init(&t->object, WF_KIND_TYPE);
    t->priv = p;
    p->combiner = combiner;
    p->nint = nint;
    p->naddr = naddr;
    p->ntype = ntype;
    p->handles = 1;
    p->value = calloc((size_t)nvalue + 1, sizeof *p->value);
    p->older = calloc((size_t)ntype + 1, sizeof *p->older);
    if (!p->value || !p->older) {
        free(p->value);
        free(p->older);
        free(t);
        return NULL;
    }
    return t;
}

void wf_type_set_older(struct wf_type *t, int64_t i, struct wf_type *older)
{
    wf_type_get(older);
    t->priv->older[i] = older;
}

int64_t wf_type_block_count(const struct wf_type *t)
{
    const struct wf_type_private *p = t->priv;

    switch (p->combiner) {
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return p->value[0];
    default:
        return 1;
    }
}

/* Converts a displacement in elements of the older type to bytes. */
static bool elements_to_bytes(const struct wf_type *older, int64_t elements,
                              int64_t *bytes)
{
    return !__builtin_mul_overflow(elements, older->extent, bytes);
}

bool wf_type_block(const struct wf_type *t, int64_t i, struct wf_type_block *b)
{
    const struct wf_type_private *p = t->priv;
    const int64_t *v = p->value;

    b->type = p->ntype ? p->older[0] : NULL;
    b->disp = 0;
    b->n = 1;
    switch (p->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        b->n = v[0];
        return true;
    case MPI_COMBINER_VECTOR:
        b->n = v[1];
        return !__builtin_mul_overflow(i, v[2], &b->disp) &&
               elements_to_bytes(b->type, b->disp, &b->disp);
    case MPI_COMBINER_HVECTOR:
        b->n = v[1];
        return !__builtin_mul_overflow(i, v[2], &b->disp);
    case MPI_COMBINER_INDEXED:
        b->n = v[1 + i];
        return elements_to_bytes(b->type, v[1 + v[0] + i], &b->disp);
    case MPI_COMBINER_HINDEXED:
        b->n = v[1 + i];
        b->disp = v[1 + v[0] + i];
        return true;
    case MPI_COMBINER_INDEXED_BLOCK:
        b->n = v[1];
        return elements_to_bytes(b->type, v[2 + i], &b->disp);
    case MPI_COMBINER_HINDEXED_BLOCK:
        b->n = v[1];
        b->disp = v[2 + i];
        return true;
    case MPI_COMBINER_STRUCT:
        b->n = v[1 + i];
        b->disp = v[1 + v[0] + i];
        b->type = p->older[i];
        return true;
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        b->type = p->body;
        return true;
    default: /* dup, resized, Fortran 90 kinds: one element */
        return true;
    }
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
    struct wf_type *t =
        wf_type_create(MPI_COMBINER_STRUCT, 1 + count, count, count);

    if (!t)
        return wf_type_report_no_memory();
    t->priv->value[0] = count;
    for (int64_t i = 0; i < count; i++) {
        t->priv->value[1 + i] = 1;
        t->priv->value[1 + count + i] = disps[i];
        wf_type_set_older(t, i, older[i]);
    }
    return wf_type_derive(t, out);
}
